"""PushedFilters as an expression: what passes, and what is left out because it can't be read for sure."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pytest

from rtfilter.estimate.pushed_filters import expression_of

TABLE = pa.table(
    {
        "n": pa.array([1, 2, 3, None], pa.int64()),
        "kind": ["a", "b", "a,b", None],
        "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00"), None, decimal.Decimal("9.99")]),
        "Day": pa.array([datetime.date(2000, 1, day) for day in (1, 2, 3, 4)]),
        "flag": [True, False, None, True],
    }
)


@pytest.mark.parametrize(
    ("text", "rows", "is_whole"),
    [
        ("[]", [0, 1, 2, 3], True),
        ("[IsNotNull(n), EqualTo(n,2)]", [1], True),
        ("[GreaterThanOrEqual(n,2), LessThan(n,3)]", [1], True),
        ("[In(n, [1,3])]", [0, 2], True),
        ("[Or(EqualTo(n,1),EqualTo(kind,b))]", [0, 1], True),
        ("[Not(EqualTo(n,1))]", [1, 2], True),
        ("[And(IsNotNull(n),Or(LessThan(n,2),GreaterThan(n,2)))]", [0, 2], True),
        ("[EqualTo(kind,a,b)]", [2], True),
        ("[StringStartsWith(kind,a)]", [0, 2], True),
        ("[GreaterThan(price,1.99)]", [1, 3], True),
        ("[EqualTo(day,2000-01-03)]", [2], True),
        ("[EqualTo(flag,true)]", [0, 3], True),
        ("[IsNull(kind)]", [3], True),
        # Two texts or one with a comma: both pass.
        ("[In(kind, [a,b])]", [0, 1, 2], True),
        # Left out: more rows pass.
        ("[EqualTo(kind,a), b), EqualTo(n,2)]", [0, 1, 2, 3], False),
        ("[EqualTo(gone,1), EqualTo(n,2)]", [1], False),
        ("[EqualTo(n,none), EqualTo(n,2)]", [1], False),
        ("[Or(EqualTo(n,1),StringContains(kind,b))]", [0, 1, 2, 3], False),
        ("[EqualTo(n", [0, 1, 2, 3], False),
        ("[EqualTo(kind,a), b)]", [0, 1, 2, 3], False),
    ],
)
def test_what_passes(text: str, rows: list[int], is_whole: bool) -> None:
    expression, whole = expression_of(text, TABLE.schema)
    numbered = TABLE.append_column("row", pa.array(range(4)))
    passed = numbered if expression is None else numbered.filter(expression)
    assert (passed["row"].to_pylist(), whole) == (rows, is_whole)
