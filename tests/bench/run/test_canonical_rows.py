"""Results of Spark and DuckDB are the same when they mean the same."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from rtfilter.bench.run.canonical_rows import result_sha256, same_result


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")]),
        ([(Decimal("12.50"),)], [(Decimal("12.5"),)]),
        ([(Decimal("100"),)], [(100,)]),
        ([(Decimal("1E+2"),)], [(100,)]),
        ([(0.1 + 0.2,)], [(0.3,)]),
        ([(5.0,)], [(5,)]),
        ([(-0.0,)], [(0.0,)]),
        ([(float("nan"),)], [(float("nan"),)]),
        ([(bytearray(b"\x01"),)], [(b"\x01",)]),
        ([([1, 2],)], [((1, 2),)]),
        ([({"b": 1, "a": 2},)], [({"a": 2, "b": 1},)]),
        ([], []),
    ],
)
def test_equal_results_have_equal_digests(one: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> None:
    assert result_sha256(one) == result_sha256(other)
    assert same_result(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1,)], [(2,)]),
        ([(1,)], [(1,), (1,)]),
        ([(None,)], [(0,)]),
        ([(None,)], [("null",)]),
        ([("1",)], [(1,)]),
        ([(True,)], [(1,)]),
        ([(Decimal("123456789012345.01"),)], [(Decimal("123456789012345.02"),)]),
        ([(2**60,)], [(2**60 + 1,)]),
        ([(1.0001,)], [(1.0002,)]),
        ([(float("nan"),)], [(1.0,)]),
        ([(float("inf"),)], [(1e308,)]),
        ([(datetime.date(2020, 1, 1),)], [(datetime.datetime(2020, 1, 1),)]),
        ([(1, 2)], [(12,)]),
        ([("a", "b")], [("b", "a")]),
        ([], [(None,)]),
    ],
)
def test_different_results_are_told_apart(one: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> None:
    assert result_sha256(one) != result_sha256(other)
    assert not same_result(one, other)


def test_an_average_of_decimals_agrees_with_its_float() -> None:
    spark, duckdb = [("A", Decimal("25.522006")), ("B", Decimal("1.5"))], [("B", 1.5), ("A", 25.522005853257337)]
    assert same_result(spark, duckdb)
    assert not same_result(spark, [("B", 1.5), ("A", 25.5221)])


def test_small_decimals_that_sort_differently_from_their_floats_agree() -> None:
    decimals = [(Decimal("0.001235"), "a"), (Decimal("0.001235"), "b")]
    assert same_result(decimals, [(0.0012349, "a"), (0.0012346, "b")])
    assert not same_result(decimals, [(0.0012349, "a"), (0.0012346, "a")])
    assert not same_result([(1,), (2,)], [(1,), (1,)])


def test_floats_at_a_rounding_boundary_agree() -> None:
    below, above = 1.0000000004999999, 1.0000000005000001
    assert result_sha256([(below,)]) != result_sha256([(above,)])
    assert same_result([(below, 1)], [(above, 1)])
