"""The constants of SQL, as sqlglot has them, made into literals; None for what is not plainly one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from rtfilter.advice.workload.literals import BETWEEN, LIKE, Literal, Literals, number

_FORMS = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DAYS = {"DAY": 1, "DAYS": 1, "WEEK": 7, "WEEKS": 7}
# So many values of one IN list are looked at; of a longer one nothing is known.
MOST_VALUES = 10_000


class _UnknownError(Exception):
    """An expression that is more than a literal."""


def literals_of(values: Sequence[Any]) -> Literals | None:
    """What a column is compared with, value by value."""
    if len(values) > MOST_VALUES:
        return None
    try:
        found = dict.fromkeys(_literal(value.unnest()) for value in values)
    except _UnknownError:
        return None
    return Literals(tuple(sorted(found, key=repr)))


def range_of(tree: Any) -> Literals | None:
    """What <, <=, >, >= or BETWEEN compare a column with, as if the column stood on the left."""
    try:
        if isinstance(tree, exp.Between):
            return Literals((_literal(tree.args["low"].unnest()), _literal(tree.args["high"].unnest())), BETWEEN)
        left, right = tree.this.unnest(), tree.expression.unnest()
        form = _FORMS[type(tree)]
        if isinstance(right, exp.Column):
            return Literals((_literal(left),), _TURNED[form])
        return Literals((_literal(right),), form)
    except _UnknownError:
        return None


def pattern_of(tree: Any) -> Literals | None:
    """The pattern of a LIKE whose escape character is Spark's own."""
    is_plain = type(tree) is exp.Like and not isinstance(tree.parent, exp.Escape) and not tree.args.get("negate")
    pattern = tree.expression
    return Literals((pattern.name,), LIKE) if is_plain and isinstance(pattern, exp.Literal) and pattern.is_string else None


def _literal(tree: Any) -> Literal:
    match tree:
        case exp.Null():
            return None
        case exp.Boolean():
            return "true" if tree.this else "false"
        case exp.Literal() if tree.is_string:
            return str(tree.name)
        case exp.Literal():
            return _number(tree.name)
        case exp.Neg():
            value = _literal(tree.this.unnest())
            if isinstance(value, int | Decimal):
                return -value
        case exp.Cast() | exp.TsOrDsToDate():
            # What a text is to a column, its type says: a date written as a text is a date to a column of dates.
            return _literal(tree.this.unnest())
        case exp.Add() | exp.Sub() if isinstance(tree.expression, exp.Interval):
            return _moved(_literal(tree.this.unnest()), tree.expression, -1 if isinstance(tree, exp.Sub) else 1)
        case exp.Add() | exp.Sub():
            one, other = _literal(tree.this.unnest()), _literal(tree.expression.unnest())
            if isinstance(one, int) and isinstance(other, int):
                return one - other if isinstance(tree, exp.Sub) else one + other
    raise _UnknownError


def _number(text: str) -> Literal:
    found = number(text)
    if found is None:
        raise _UnknownError
    return found


def _moved(day: Literal, interval: Any, sign: int) -> Literal:
    """A date some days later or earlier."""
    days = _DAYS.get(interval.unit.name.upper()) if interval.unit is not None else None
    if not isinstance(day, str) or days is None or interval.this is None:
        raise _UnknownError
    try:
        return (date.fromisoformat(day) + timedelta(days=sign * days * int(interval.this.name))).isoformat()
    except (ValueError, OverflowError) as error:
        raise _UnknownError from error
