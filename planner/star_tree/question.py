"""What an aggregate asks of one of its tables: conditions, columns that are told apart, aggregate functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.star_tree.fragment import (
    AskedAggregate,
    Column,
    Expand,
    Filter,
    Fragment,
    Join,
    Node,
    Project,
    Relation,
    Term,
    relations,
)
from planner.star_tree.reasons import TreeReason, TreeRefusedError

# Joins that keep or drop a row of the table, or repeat it, by what its columns of the condition are: on which sides it may stand.
_SIDES = {
    "Inner": ("left", "right"),
    "Cross": ("left", "right"),
    "LeftOuter": ("left",),
    "LeftSemi": ("left",),
    "LeftAnti": ("left",),
    "RightOuter": ("right",),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What an aggregate asks of a table.

    Attributes:
        conditions: The parts of the filter right above the table, each with the columns in it.
        told_apart: Columns whose values must be told apart: the query groups, joins or filters by them somewhere above.
        aggregates: With arguments in terms of what tables put out.
    """

    relation: Relation
    conditions: tuple[Condition, ...]
    told_apart: frozenset[str]
    aggregates: tuple[AskedAggregate, ...]
    ansi: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a filter right above a table, and the table's columns in it."""

    columns: tuple[str, ...]
    test: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked at some place between aggregate and table, in terms of what comes out there."""

    told_apart: tuple[Term, ...]
    aggregates: tuple[AskedAggregate, ...]


def question_of(fragment: Fragment, relation: Relation) -> Question:
    """What the aggregate asks of this table. Raises TreeRefusedError."""
    conditions = [each.condition for each in fragment.aggregates if each.condition is not None]
    told_apart = (*fragment.grouping, *fragment.read, *conditions)
    _check_sure((*told_apart, *(term for each in fragment.aggregates for term in each.args)))
    return _below(fragment.child, relation, _Asked(told_apart, fragment.aggregates), fragment.ansi)


def _below(node: Node, relation: Relation, asked: _Asked, ansi: bool) -> Question:
    if isinstance(node, Relation):
        return _of_table(relation, (), asked, ansi)
    if isinstance(node, Project):
        _check_sure(node.outputs)
        aliases = {each.id: each.args[0] for each in node.outputs if each.op == "alias" and each.id is not None and each.args}
        return _below(node.child, relation, _through(aliases, asked), ansi)
    if isinstance(node, Expand):
        return _below(node.child, relation, _through(_grouping_sets(node), asked), ansi)
    if isinstance(node, Filter):
        _check_sure([each.term for each in node.conjuncts])
        if isinstance(node.child, Relation):
            names = {column.id: column.name for column in relation.columns}
            parts = [(each, _names(each.term.refs, names)) for each in node.conjuncts]
            return _of_table(relation, tuple(Condition(columns, each.test) for each, columns in parts), asked, ansi)
        return _below(
            node.child, relation, replace(asked, told_apart=(*asked.told_apart, *(each.term for each in node.conjuncts))), ansi
        )
    if isinstance(node, Join):
        return _through_join(node, relation, asked, ansi)
    raise TreeRefusedError(TreeReason.OPERATOR_BELOW, f"{node.name} lies between the aggregate and the table.")


def _through_join(join: Join, relation: Relation, asked: _Asked, ansi: bool) -> Question:
    side = "left" if any(each.number == relation.number for each in relations(join.left)) else "right"
    if side not in _SIDES.get(join.type, ()):
        raise TreeRefusedError(
            TreeReason.NOT_PRESERVED,
            f"the table is on the {side} side of a {join.type} join, which may put nulls in its rows' place.",
        )
    condition = () if join.condition is None else (join.condition,)
    _check_sure(condition)
    deeper = replace(asked, told_apart=(*asked.told_apart, *condition))
    return _below(join.left if side == "left" else join.right, relation, deeper, ansi)


def _of_table(relation: Relation, conditions: tuple[Condition, ...], asked: _Asked, ansi: bool) -> Question:
    names = {column.id: column.name for column in relation.columns}
    apart = frozenset(name for term in asked.told_apart for name in _names(term.refs, names))
    return Question(relation, conditions, apart, asked.aggregates, ansi)


def _names(refs: frozenset[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sorted(names[each] for each in refs if each in names))


def _grouping_sets(expand: Expand) -> dict[int, Term]:
    """What its columns are: those that are something else in another grouping set stand for all that they may be."""
    found = {}
    for number, terms in expand.columns:
        _check_sure(terms)
        if len(terms) == 1 and terms[0].id != number:
            found[number] = terms[0]
        elif len(terms) != 1:
            refs = frozenset(ref for term in terms for ref in term.refs)
            found[number] = Term("grouping set", terms[0].type if terms else "", -1, refs=refs)
    return found


def _through(aliases: Mapping[int, Term], asked: _Asked) -> _Asked:
    """The same in terms of what comes into a step that puts out these expressions."""
    aggregates = tuple(
        replace(
            each,
            args=tuple(resolved(term, aliases) for term in each.args),
            condition=None if each.condition is None else resolved(each.condition, aliases),
        )
        for each in asked.aggregates
    )
    return _Asked(tuple(resolved(term, aliases) for term in asked.told_apart), aggregates)


def resolved(term: Term, aliases: Mapping[int, Term]) -> Term:
    """An expression with the expressions of aliases in their places. What the bridge numbered is no longer what stands there."""
    if not term.refs & aliases.keys():
        return term
    if term.id is not None and term.is_column and term.id in aliases:
        return replace(aliases[term.id], number=-1)
    args = tuple(resolved(each, aliases) for each in term.args)
    refs = frozenset(ref for old in term.refs for ref in (aliases[old].refs if old in aliases else (old,)))
    return replace(term, args=args, refs=refs, number=-1)


def _check_sure(terms: Sequence[Term]) -> None:
    for term in terms:
        if term.unsure:
            raise TreeRefusedError(TreeReason.NOT_DETERMINISTIC, f"{term.name or term.op} may give another value at another time.")


def column_of(question: Question, term: Term) -> Column | None:
    """The table's column that an expression is; None where it is something else."""
    return next((each for each in question.relation.columns if term.is_column and each.id == term.id), None)
