"""Which types can be keys, and which casts keep every value."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.plan.types import comparable_with_key, is_key_type, keeps_values


@pytest.mark.parametrize(
    "type",
    [
        *("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "boolean", "float", "double"),
        *("string", "binary", "decimal(1,0)", "decimal(18,2)", "decimal(38,38)"),
    ],
)
def test_key_types(type: str) -> None:
    assert is_key_type(type) and keeps_values(type, type)


@pytest.mark.parametrize(
    "type", ["string collate UNICODE_CI", "void", "interval month", "array<int>", "decimal", "time(6)", "variant", ""]
)
def test_no_key_types(type: str) -> None:
    assert not is_key_type(type)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("tinyint", "bigint"), ("smallint", "int"), ("int", "bigint"), ("float", "double")),
        *(("tinyint", "decimal(3,0)"), ("int", "decimal(10,0)"), ("int", "decimal(12,2)"), ("bigint", "decimal(38,18)")),
        *(("decimal(7,2)", "decimal(7,2)"), ("decimal(7,2)", "decimal(9,2)"), ("decimal(7,2)", "decimal(9,4)")),
        ("decimal(18,0)", "decimal(38,20)"),
    ],
)
def test_casts_that_keep_every_value(source: str, target: str) -> None:
    assert keeps_values(source, target) and comparable_with_key(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(
            ("bigint", "int"),
            ("double", "float"),
            ("int", "float"),
            ("int", "double"),
            ("bigint", "double"),
            ("decimal(7,2)", "double"),
        ),
        *(("int", "decimal(9,0)"), ("int", "decimal(11,2)"), ("bigint", "decimal(18,0)")),
        *(
            ("decimal(7,2)", "decimal(7,3)"),
            ("decimal(7,2)", "decimal(6,1)"),
            ("decimal(9,4)", "decimal(9,2)"),
            ("decimal(9,0)", "int"),
        ),
        *(("date", "timestamp"), ("timestamp", "date"), ("timestamp", "timestamp_ntz"), ("timestamp_ntz", "timestamp")),
        *(("string", "int"), ("int", "string"), ("string", "binary"), ("binary", "string"), ("string", "date"), ("date", "string")),
        *(("boolean", "int"), ("int", "boolean"), ("date", "int"), ("string", "string collate UTF8_LCASE")),
    ],
)
def test_casts_that_may_not(source: str, target: str) -> None:
    assert not keeps_values(source, target)


def test_integral_types_share_one_domain_in_either_direction() -> None:
    assert comparable_with_key("bigint", "int") and not keeps_values("bigint", "int")
    assert not comparable_with_key("decimal(20,0)", "int")
    assert not comparable_with_key("double", "float")


@given(st.integers(1, 38), st.integers(0, 38), st.integers(1, 38), st.integers(0, 38))
def test_a_wider_decimal_holds_the_largest_and_the_finest_value(p: int, s: int, wider_p: int, wider_s: int) -> None:
    s, wider_s = min(s, p), min(wider_s, wider_p)
    # All digits nine: the largest value, and one that needs every digit behind the point.
    unscaled = Fraction(10**p - 1, 10**s) * 10**wider_s
    holds = unscaled.denominator == 1 and unscaled < 10**wider_p
    assert keeps_values(f"decimal({p},{s})", f"decimal({wider_p},{wider_s})") == holds
