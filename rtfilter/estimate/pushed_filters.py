"""PushedFilters of a scan's metadata as an expression that pyarrow evaluates.

Texts are not quoted there. What can't be read for sure is left out, so that more rows pass than passed in Spark, never fewer.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.advice.event_logs.plan_texts import split

_FORM = re.compile(r"[A-Z]\w+\(.*\)", re.DOTALL)
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": lambda column, value: column == value,
    "EqualNullSafe": lambda column, value: column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
}


class _UnknownError(Exception):
    """A part that can't be read for sure."""


def expression_of(text: str, schema: pa.Schema) -> tuple[pc.Expression | None, bool]:
    """The filters as one expression, None for none, and whether all of them are in it."""
    names = {name.lower(): name for name in schema.names}
    found: pc.Expression | None = None
    is_whole = True
    text = text.strip()
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    parts = split(inner, ", ") if inner else []
    if not all(map(_FORM.fullmatch, parts)):
        # A text with brackets or commas was cut: where it begins and ends nobody knows.
        return None, False
    for part in parts:
        try:
            each = _expression(part, names, schema)
        except (_UnknownError, ValueError, ArithmeticError, pa.ArrowException):
            is_whole = False
            continue
        found = each if found is None else found & each
    return found, is_whole


def _expression(text: str, names: Mapping[str, str], schema: pa.Schema) -> pc.Expression:
    name, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")"):
        raise _UnknownError(text)
    inner = rest[:-1]
    if name in ("And", "Or"):
        parts = split(inner, ",")
        if len(parts) != 2:
            raise _UnknownError(text)
        left, right = (_expression(part, names, schema) for part in parts)
        return left & right if name == "And" else left | right
    if name == "Not":
        return ~_expression(inner, names, schema)
    if name in ("IsNotNull", "IsNull"):
        field = pc.field(_column(inner, names))
        return field.is_valid() if name == "IsNotNull" else field.is_null()
    column, comma, value = inner.partition(",")
    if not comma:
        raise _UnknownError(text)
    column = _column(column, names)
    type_ = schema.field(column).type
    if name == "In":
        return pc.field(column).isin(pa.array(_values(value, type_), type_))
    if name == "StringStartsWith" and _is_text(type_):
        return pc.starts_with(pc.field(column), value)
    if name in _COMPARISONS:
        return _COMPARISONS[name](pc.field(column), pa.scalar(_value(value, type_), type_))
    raise _UnknownError(text)


def _column(name: str, names: Mapping[str, str]) -> str:
    found = names.get(name.strip().strip("`").lower())
    if found is None:
        raise _UnknownError(name)
    return found


def _values(text: str, type_: pa.DataType) -> list[Any]:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        raise _UnknownError(text)
    pieces = text[1:-1].split(",")
    if _is_text(type_):
        # A comma may stand inside a text as well: then it is two neighbours together.
        pieces += [f"{one},{two}" for one, two in pairwise(pieces)]
    return [_value(piece, type_) for piece in pieces]


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _value(text: str, type_: pa.DataType) -> Any:
    if _is_text(type_):
        return text
    if pa.types.is_integer(type_):
        return int(text)
    if pa.types.is_floating(type_):
        return float(text)
    if pa.types.is_decimal(type_):
        return decimal.Decimal(text)
    if pa.types.is_date32(type_):
        return datetime.date.fromisoformat(text)
    if pa.types.is_boolean(type_) and text in ("true", "false"):
        return text == "true"
    raise _UnknownError(text)
