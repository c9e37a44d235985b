"""One form for the rows of Spark and DuckDB, so that equal results hash equally and unequal ones are told apart."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from rtfilter.bench.engines.execution import Row

FLOAT_DIGITS = 10
"""Significant digits of a float that are compared: sums of floats differ in the last digits with the order of the rows."""
RELATIVE_TOLERANCE = 1e-9
MOST_SEARCHED_ROWS = 2_000
"""Up to so many rows are searched for each other one by one, which takes the square of it, where sorting paired the wrong ones."""


def result_sha256(rows: Sequence[Row]) -> str:
    """A digest of the rows that does not depend on their order, nor on an engine's choice of numeric type."""
    lines = sorted(_row_text(row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def same_result(rows: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether two results hold the same rows, in any order.

    Equal digests say yes at once. Otherwise rows are paired in order and compared value by value: a float may differ by
    `RELATIVE_TOLERANCE`, and by half a unit in the last place of a decimal that it is held against (one engine's
    average of decimals is a decimal of six places, the other's a float).
    """
    if len(rows) != len(expected):
        return False
    if result_sha256(rows) == result_sha256(expected):
        return True
    pairs = zip(sorted(rows, key=_sort_key), sorted(expected, key=_sort_key), strict=True)
    if all(_same_row(a, b) for a, b in pairs):
        return True
    # Small numbers that count as equal within half a unit may have sorted differently on both sides.
    return len(rows) <= MOST_SEARCHED_ROWS and holds_rows(expected, rows)


def holds_rows(pool: Sequence[Row], rows: Sequence[Row]) -> bool:
    """Whether each of `rows` has a row of its own in `pool` that counts as the same by the rules of `same_result`."""
    by_texts: dict[tuple[str, ...], list[Row]] = {}
    for row in pool:
        by_texts.setdefault(_texts(row), []).append(row)
    for row in rows:
        alike = by_texts.get(_texts(row), [])
        found = next((place for place, other in enumerate(alike) if _same_row(row, other)), None)
        if found is None:
            return False
        alike.pop(found)
    return True


def _texts(row: Row) -> tuple[str, ...]:
    """What two rows that count as the same have in common to the letter: all values but numbers, and how many there are."""
    return tuple("n" if isinstance(v, (int, float, Decimal)) and not isinstance(v, bool) else _value_text(v) for v in row)


def _row_text(row: Row) -> str:
    return json.dumps([_value_text(value) for value in row], ensure_ascii=False)


def _value_text(value: object) -> str:
    """A type letter and a text; all numbers share one letter, since engines differ in which numeric type a sum has."""
    match value:
        case None:
            return "null"
        case bool():
            return f"b:{value}"
        case int():
            return f"n:{value}"
        case Decimal():
            return f"n:{_plain(value)}"
        case float():
            return f"n:{_float_text(value)}"
        case datetime():
            return f"t:{value.isoformat(sep=' ', timespec='microseconds')}"
        case date():
            return f"d:{value.isoformat()}"
        case timedelta():
            return f"i:{value / timedelta(microseconds=1):.0f}"
        case bytes() | bytearray():
            return f"x:{bytes(value).hex()}"
        case list() | tuple():
            return f"l:{_row_text(tuple(value))}"
        case dict():
            return "m:" + json.dumps(sorted((_value_text(key), _value_text(item)) for key, item in value.items()))
        case _:
            return f"s:{value}"


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    return _plain(Decimal(f"{value:.{FLOAT_DIGITS}g}"))


def _plain(number: Decimal) -> str:
    """No exponent, no trailing zeros, no negative zero."""
    if not number.is_finite():
        return str(number).lower()
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _sort_key(row: Row) -> list[str]:
    # Coarser than the comparison, so that values which count as equal stand at the same place on both sides.
    return [f"{float(value):.5g}" if isinstance(value, (float, Decimal)) else _value_text(value) for value in row]


def _same_row(a: Row, b: Row) -> bool:
    return len(a) == len(b) and all(map(_same_value, a, b))


def _same_value(a: object, b: object) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)) and _close(a, b)
    return _value_text(a) == _value_text(b)


def _close(a: int | float | Decimal, b: int | float | Decimal) -> bool:
    half_units = [0.5 * 10.0 ** int(v.as_tuple().exponent) for v in (a, b) if isinstance(v, Decimal) and v.is_finite()]
    x, y = float(a), float(b)
    return (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=RELATIVE_TOLERANCE, abs_tol=max([*half_units, 1e-12]))
