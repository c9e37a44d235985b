"""Spark's types by their catalog strings: which can be keys, and which casts keep every value."""

from __future__ import annotations

import functools
import re

# Integral types by width in bytes: a cast to the same or a wider one keeps every value and the order.
INTEGRAL_WIDTH = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
# Decimal digits that an integral type needs.
INTEGRAL_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# `string` is the binary collation; others are written `string collate X`, and equality there is not equality of bytes.
PLAIN_KEY_TYPES = frozenset(
    {*INTEGRAL_WIDTH, "date", "timestamp", "timestamp_ntz", "boolean", "float", "double", "string", "binary"}
)

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@functools.lru_cache(maxsize=256)
def decimal_of(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for another type."""
    found = _DECIMAL.fullmatch(type_)
    return None if found is None else (int(found[1]), int(found[2]))


def is_integral(type_: str) -> bool:
    return type_ in INTEGRAL_WIDTH


def is_whole_number(type_: str) -> bool:
    """Whether values are whole numbers of a fixed number of bits; of dates their days are."""
    return type_ in INTEGRAL_WIDTH or type_ == "date"


def whole_number_bounds(type_: str) -> tuple[int, int]:
    """The least and the greatest value of a type of whole numbers."""
    bits = 8 * INTEGRAL_WIDTH.get(type_, 4)
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def is_key_type(type_: str) -> bool:
    """Whether values of a type have a place in one of the key domains of docs/protocol.md."""
    return type_ in PLAIN_KEY_TYPES or decimal_of(type_) is not None


def is_collated(type_: str) -> bool:
    """Whether it is a string of another collation than the binary one."""
    return type_.startswith("string collate ")


def keeps_values(source: str, target: str) -> bool:
    """Whether a cast maps different values of `source` to different ones of `target`, in the same order, and can't fail.

    Dates and timestamps depend on the session's time zone, texts on their spelling, integers turned to floats on their size:
    none of these counts.
    """
    if source == target:
        return True
    if source in INTEGRAL_WIDTH and target in INTEGRAL_WIDTH:
        return INTEGRAL_WIDTH[source] <= INTEGRAL_WIDTH[target]
    if source == "float":
        return target == "double"
    to_decimal = decimal_of(target)
    if to_decimal is None:
        return False
    from_decimal = (INTEGRAL_DIGITS[source], 0) if source in INTEGRAL_DIGITS else decimal_of(source)
    if from_decimal is None:
        return False
    (precision, scale), (wider_precision, wider_scale) = from_decimal, to_decimal
    return wider_scale >= scale and wider_precision - wider_scale >= precision - scale


def comparable_with_key(column: str, key: str) -> bool:
    """Whether the bridge can turn values of a key of type `key` into the domain of a column of type `column`.

    A column that is widened to the key can only equal values that it can hold itself. Integral types share one domain.
    """
    return keeps_values(column, key) or (is_integral(column) and is_integral(key))
