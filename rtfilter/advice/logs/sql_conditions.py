"""Conditions of SQL, as sqlglot has them, made into predicates of one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from rtfilter.advice.logs.sql_literals import literals_of, pattern_of, range_of
from rtfilter.advice.workload.literals import Literals
from rtfilter.advice.workload.predicates import And, Leaf, Not, Operator, Or, Predicate, all_of, any_of, opposite

# Stands in an IN list for values of which only the number is told: IN ('#VALUES', 23).
ESTIMATED = "#VALUES"
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.SimilarTo)
_QUERIES = (exp.Query, exp.Subquery)

# The name of a column in the table that the condition is about.
Naming = Callable[[exp.Column], str]


def nodes_of(tree: Any, prune: tuple[type, ...] = ()) -> list[Any]:
    """All nodes of a tree, level by level, as sqlglot's own `walk` gives them, in a third of its time; what lies below nodes of the
    types to prune is left out."""
    found = [tree]
    for node in found:
        if prune and isinstance(node, prune):
            continue
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [each for each in value if isinstance(each, exp.Expr)]
    return found


def own_columns(tree: Any) -> list[Any]:
    """The columns that an expression names, those inside its subqueries left out."""
    return [node for node in nodes_of(tree, _QUERIES) if isinstance(node, exp.Column)]


def has_query(tree: Any) -> bool:
    return any(isinstance(node, _QUERIES) for node in nodes_of(tree))


def conjuncts(tree: Any) -> list[Any]:
    """The parts of a condition that must all hold."""
    tree = tree.unnest()
    return [part for child in tree.flatten() for part in conjuncts(child)] if isinstance(tree, exp.And) else [tree]


def predicate_of(tree: Any, name: Naming) -> Predicate | None:
    """A condition as a predicate; None when it names no column. All of its columns must be of one table."""
    tree = tree.unnest()
    match tree:
        case exp.And():
            parts = [predicate_of(child, name) for child in tree.flatten()]
            return all_of([part for part in parts if part is not None])
        case exp.Or():
            parts = [predicate_of(child, name) for child in tree.flatten()]
            known = [part for part in parts if part is not None]
            # A constant arm may let every row through.
            return any_of(known) if len(known) == len(parts) else _computed(tree, name, Operator.OTHER)
        case exp.Not():
            part = predicate_of(tree.this, name)
            return None if part is None else opposite(part)
    leaf = _leaf(tree, name)
    return Not(leaf) if leaf is not None and tree.args.get("negate") else leaf


def _leaf(tree: Any, name: Naming) -> Leaf | None:
    match tree:
        case exp.Column():
            # A boolean column by itself.
            return Leaf((name(tree),), Operator.EQUAL, literals=Literals(("true",)))
        case exp.EQ() | exp.NEQ() | exp.NullSafeEQ():
            column, other = _column_and_constant(tree)
            if column is not None and not isinstance(other, exp.Null):
                operator = Operator.NOT_EQUAL if isinstance(tree, exp.NEQ) else Operator.EQUAL
                return Leaf((name(column),), operator, literals=literals_of([other]))
            if column is not None:
                return Leaf((name(column),), Operator.IS_NULL if isinstance(tree, exp.NullSafeEQ) else Operator.OTHER)
        case exp.Is() if isinstance(tree.expression, exp.Null) and isinstance(tree.this.unnest(), exp.Column):
            return Leaf((name(tree.this.unnest()),), Operator.IS_NULL)
        case exp.In() if tree.args.get("expressions") and isinstance(tree.this.unnest(), exp.Column):
            if all(_is_constant(value) for value in tree.expressions):
                count = _number_of_values(tree.expressions)
                known = literals_of(tree.expressions) if ESTIMATED not in _texts(tree.expressions) else None
                return Leaf((name(tree.this.unnest()),), Operator.IN, count, known)
        case exp.Between() if isinstance(tree.this.unnest(), exp.Column):
            if _is_constant(tree.args["low"]) and _is_constant(tree.args["high"]):
                return Leaf((name(tree.this.unnest()),), Operator.RANGE, literals=range_of(tree))
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            column, other = _column_and_constant(tree)
            if column is not None:
                if isinstance(other, exp.Null):
                    return Leaf((name(column),), Operator.OTHER)
                return Leaf((name(column),), Operator.RANGE, literals=range_of(tree))
        case exp.Anonymous() if tree.name.upper() == "TEXT_MATCH" and tree.expressions:
            if isinstance(tree.expressions[0], exp.Column):
                return Leaf((name(tree.expressions[0]),), Operator.TEXT_MATCH)
    if isinstance(tree, _PATTERNS) and isinstance(tree.this.unnest(), exp.Column):
        return Leaf((name(tree.this.unnest()),), Operator.LIKE, literals=pattern_of(tree))
    return _computed(tree, name, Operator.FUNCTION)


def _computed(tree: Any, name: Naming, operator: Operator) -> Leaf | None:
    columns = tuple(dict.fromkeys(name(column) for column in own_columns(tree)))
    return Leaf(columns, operator) if columns else None


def _column_and_constant(tree: Any) -> tuple[Any, Any]:
    """Of a comparison between a column and a constant the two, the column first; else None and None."""
    left, right = tree.this.unnest(), tree.expression.unnest()
    if isinstance(right, exp.Column):
        left, right = right, left
    return (left, right) if isinstance(left, exp.Column) and _is_constant(right) else (None, None)


def _is_constant(tree: Any) -> bool:
    return isinstance(tree, exp.Literal) or not any(isinstance(node, (exp.Column, *_QUERIES)) for node in nodes_of(tree))


def _texts(values: list[Any]) -> list[str]:
    return [value.name for value in values if isinstance(value, exp.Literal) and value.is_string]


def _number_of_values(values: list[Any]) -> int:
    texts = _texts(values)
    numbers = [value.name for value in values if isinstance(value, exp.Literal) and not value.is_string]
    if len(values) == 2 and texts == [ESTIMATED] and len(numbers) == 1 and numbers[0].isdecimal():
        return max(1, int(numbers[0]))
    return len({value.sql("spark", copy=False) for value in values})


def rejects_null(predicate: Predicate) -> bool:
    """Whether a row with NULL in the predicate's columns never passes, so that an outer join's filled rows are dropped by it."""
    match predicate:
        case Leaf(operator=operator):
            return operator not in (Operator.IS_NULL, Operator.FUNCTION, Operator.OTHER, Operator.TEXT_MATCH)
        case And(children):
            return any(map(rejects_null, children))
        case Or(children):
            return all(map(rejects_null, children))
        case Not(child):
            return isinstance(child, Leaf) and rejects_null(child)
