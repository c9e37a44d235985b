"""What stands in place of an aggregate function where rows come from a star-tree: docs/protocol.md, "star".

Sums of whole numbers and decimals are the same in any order as long as no partial sum leaves its type, which the greatest absolute
value and the number of rows prove. With ANSI off whole numbers wrap around, and are the same modulo 2^64 in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.star_tree.facts import COUNT, TreeFacts
from planner.star_tree.fragment import AskedAggregate, Term
from planner.star_tree.question import Question, column_of
from planner.star_tree.reasons import TreeReason, TreeRefusedError
from planner.star_tree.stored_names import stored_name
from planner.star_tree.summands import DECIMAL, WHOLE, Summand

FLOATS = ("float", "double")
# A double holds whole numbers exactly up to here; Spark averages whole numbers as doubles.
_EXACT_DOUBLE = 2**53
_LONG = 2**63
# Spark averages decimals of up to so many digits as doubles (DecimalAggregates, checked on 4.3).
_AVERAGED_AS_DOUBLE = 11
# Of 2^31 values no sum wraps around, or has more than 18 digits. One above 2^53 Spark itself rounds in the order of its rows.
_NEVER_WRAPS = ("tinyint", "smallint", "int")
_FITS_IN_18 = 8
_THETA, _BITMAP = "theta_sketch_agg", "bitmap_construct_agg"
# Functions that give the same for rows that are there once or many times, in any order.
_BLIND_TO_REPEATS = ("min", "max", _THETA, _BITMAP)
_SKETCHED = {_THETA: ("int", "bigint", "float", "double", "string", "binary"), _BITMAP: WHOLE}
# What they give depends on the order of rows (checked on 4.3).
_IN_ORDER = ("hll_sketch_agg", "kll_sketch_agg_bigint", "kll_sketch_agg_float", "kll_sketch_agg_double")


@dataclass(frozen=True, slots=True)
class Recipe:
    """In place of one aggregate function: `form` for the bridge, the columns that it reads of the tree's rows, and those of the
    table whose values must be told apart for it."""

    form: Mapping[str, Any]
    stored: frozenset[str] = frozenset()
    told_apart: frozenset[str] = frozenset()


def recipe_of(aggregate: AskedAggregate, question: Question, facts: TreeFacts, *, floats: bool) -> Recipe:
    """What gives the same as the function does over the table's rows. Raises TreeRefusedError."""
    names = {column.id: column.name for column in question.relation.columns}
    asked = frozenset(names[each] for term in aggregate.args for each in term.refs if each in names)
    if aggregate.distinct or (aggregate.function in _BLIND_TO_REPEATS and asked <= set(facts.dimensions)):
        if lacking := sorted(asked - set(facts.dimensions)):
            reason = f"{aggregate.text} counts the values of {_listed(lacking)}, and a tree has those of dimensions only."
            raise TreeRefusedError(TreeReason.DISTINCT_MEASURE, reason, tuple(lacking))
        return Recipe({"kind": "keep"}, told_apart=asked)
    try:
        return _RECIPES[aggregate.function](_Case(aggregate, question, facts, asked, floats))
    except KeyError:
        if aggregate.function in _IN_ORDER:
            detail = f"{aggregate.text}: the bytes and the estimates of such a sketch depend on the order of rows."
            raise TreeRefusedError(TreeReason.FUNCTION_NOT_SERVED, detail) from None
        raise TreeRefusedError(
            TreeReason.FUNCTION_NOT_SERVED, f"{aggregate.text}: {aggregate.function} can't be made of stored aggregates."
        ) from None


@dataclass(frozen=True, slots=True)
class _Case:
    aggregate: AskedAggregate
    question: Question
    facts: TreeFacts
    asked: frozenset[str]
    floats: bool

    @property
    def is_of_others(self) -> bool:
        """Whether the arguments hold no column of the table but dimensions."""
        return self.asked <= set(self.facts.dimensions)

    def require(self, stored: str) -> str:
        """The name, where the tree has such a column. Raises TreeRefusedError."""
        if stored not in self.facts.stored:
            detail = f"{self.aggregate.text} needs {stored}, which the tree does not hold."
            raise TreeRefusedError(TreeReason.NOT_STORED, detail, measure=stored)
        return stored

    @property
    def type(self) -> str:
        return self.aggregate.args[0].type

    def column(self) -> str:
        """The one column of the table that is the argument. Raises TreeRefusedError."""
        column = column_of(self.question, self.aggregate.args[0])
        if column is None:
            detail = f"{self.aggregate.text} is of an expression that the tree does not hold."
            raise TreeRefusedError(TreeReason.NOT_STORED, detail, tuple(sorted(self.asked - set(self.facts.dimensions))))
        return column.name


def _count(case: _Case) -> Recipe:
    args = case.aggregate.args
    if not case.asked and all(each.op == "literal" and each.value is not None for each in args):
        return Recipe({"kind": "count", "value": {"stored": COUNT}}, frozenset((COUNT,)))
    if case.is_of_others:
        form = {"kind": "count", "value": {"stored": COUNT}, "non_null": [each.number for each in args]}
        _require_own(args, case)
        return Recipe(form, frozenset((COUNT,)), case.asked)
    if len(args) > 1:
        raise TreeRefusedError(TreeReason.FUNCTION_NOT_SERVED, f"{case.aggregate.text} counts several columns together.")
    stored = case.require(f"count({case.column()})")
    return Recipe({"kind": "count", "value": {"stored": stored}}, frozenset((stored,)))


def _sum(case: _Case) -> Recipe:
    summand = Summand(case.question, case.facts, case.aggregate.text)
    value = summand.of(case.aggregate.args[0])
    form: dict[str, Any] = {"kind": "sum", "value": value, "type": case.aggregate.type}
    if case.type in FLOATS:
        _require_floats(case)
    elif case.question.ansi and case.aggregate.type == "bigint":
        _require_room(case, summand.columns, _LONG)
        largest = summand.largest(case.aggregate.args[0])
        if largest is not None and largest * case.facts.rows >= _LONG:
            detail = f"{case.aggregate.text} may leave what a bigint holds, in another order of rows."
            raise TreeRefusedError(TreeReason.MAY_OVERFLOW, detail)
        # The sum of all may leave the type where rows are repeated; then Spark's own sum fails as well.
        form["exact"] = True
    return Recipe(form, frozenset(summand.stored), frozenset(summand.told_apart))


def _require_own(terms: tuple[Term, ...], case: _Case) -> None:
    """Raises TreeRefusedError where an expression comes from several nodes of the plan: the bridge can't use it again."""
    if any(each.number < 0 for each in terms):
        raise TreeRefusedError(
            TreeReason.FUNCTION_NOT_SERVED, f"{case.aggregate.text} is of an expression that is made in several steps."
        )


def _require_floats(case: _Case) -> None:
    if not case.floats:
        raise TreeRefusedError(
            TreeReason.FLOATS_OFF,
            f"{case.aggregate.text}: the last digits of a {case.type}'s sum depend on the order of rows; set "
            "rtfilter.startree.floats to allow that.",
        )


def _require_room(case: _Case, columns: set[str], below: int) -> None:
    """Raises TreeRefusedError unless sums of all rows that the tree covers surely stay below a bound."""
    for column in sorted(columns):
        largest = case.facts.largest.get(column)
        if largest is None or largest * case.facts.rows >= below:
            raise TreeRefusedError(
                TreeReason.MAY_OVERFLOW,
                f"{case.aggregate.text}: sums of {column} may leave what {'a bigint' if below == _LONG else 'a double'} holds "
                "exactly, and fail or round in another order of rows.",
            )


def _extreme(case: _Case) -> Recipe:
    if case.is_of_others:
        return Recipe({"kind": "keep"}, told_apart=case.asked)
    stored = case.require(f"{case.aggregate.function}({case.column()})")
    return Recipe({"kind": case.aggregate.function, "value": {"stored": stored}}, frozenset((stored,)))


def _sketch(case: _Case) -> Recipe:
    """A sketch that Spark merges to just the bytes that it makes of all rows. Raises TreeRefusedError."""
    function, (argument, *sizes) = case.aggregate.function, case.aggregate.args
    column = column_of(case.question, argument.args[0] if argument.op == "Cast" and argument.args else argument)
    size = next((int(each.value) for each in sizes if each.value is not None and each.value.isdigit()), None)
    is_held = column is not None and column.type in _SKETCHED[function] and (argument.is_column or function == _BITMAP)
    if column is None or not is_held or (function == _THETA) != (size is not None):
        detail = f"{case.aggregate.text} is of an expression that the tree does not hold."
        raise TreeRefusedError(TreeReason.NOT_STORED, detail, tuple(sorted(case.asked - set(case.facts.dimensions))))
    wanted, others = stored_name(function, column.name, size), stored_name(function, column.name, 0).removesuffix("0)")
    held = ", ".join(sorted(name for name in case.facts.stored if name.startswith(others)))
    if held and wanted not in case.facts.stored:
        detail = f"{case.aggregate.text} needs sketches of its own size, and the tree holds {held}."
        raise TreeRefusedError(TreeReason.NOT_STORED, detail, measure=wanted)
    stored = case.require(wanted)
    return Recipe({"kind": "sketch", "value": {"stored": stored}}, frozenset((stored,)))


def _average(case: _Case) -> Recipe:
    if case.is_of_others:
        raise TreeRefusedError(TreeReason.FUNCTION_NOT_SERVED, f"{case.aggregate.text} averages what is no measure of the table.")
    column = case.column()
    total, count = case.require(f"sum({column})"), case.require(f"count({column})")
    form: dict[str, Any] = {"kind": "average", "value": {"stored": total}, "count": {"stored": count}, "type": case.aggregate.type}
    digits = DECIMAL.fullmatch(case.type)
    if case.type in FLOATS:
        _require_floats(case)
        form["as"] = "double"
    elif digits is None or int(digits[1]) <= _AVERAGED_AS_DOUBLE:
        if case.facts.raw and not (case.type in _NEVER_WRAPS or (digits and int(digits[1]) <= _FITS_IN_18)):
            detail = f"{case.aggregate.text}: of files beside the tree nothing is known that proves its sum exact."
            raise TreeRefusedError(TreeReason.MAY_OVERFLOW, detail)
        _require_room(case, {column}, _EXACT_DOUBLE)
        form |= {"as": "double", "scale": 0 if digits is None else int(digits[2])}
    else:
        form |= {"as": "decimal", "sum_type": f"decimal({min(int(digits[1]) + 10, 38)},{digits[2]})"}
    return Recipe(form, frozenset((total, count)))


_RECIPES = {"count": _count, "sum": _sum, "min": _extreme, "max": _extreme, "avg": _average, _THETA: _sketch, _BITMAP: _sketch}


def _listed(names: list[str]) -> str:
    return ", ".join(names)
