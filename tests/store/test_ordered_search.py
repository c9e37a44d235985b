"""Intervals and ranges, against the plain definition."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from rtfilter.store.bounds.ordered_search import in_order, meets_a_range
from rtfilter.store.parquet.arrays import Levels

# Few different numbers in each level, so that bounds and keys agree in some of them; the ends of uint64 are among them.
levels = st.sampled_from([0, 1, 2, 3, 2**63, 2**64 - 1])


Pair: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


def values(depth: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[levels] * depth)


def as_levels(rows: list[tuple[int, ...]]) -> Levels:
    return tuple(np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True))


@given(st.data(), st.integers(1, 4))
def test_an_interval_is_met_exactly_where_a_range_overlaps_it(data: st.DataObject, depth: int) -> None:
    ends = sorted(data.draw(st.sets(values(depth), min_size=2, max_size=12)))
    ends = ends[: len(ends) // 2 * 2]
    ranges = list(zip(ends[::2], ends[1::2], strict=True))
    pairs = data.draw(st.lists(st.tuples(values(depth), values(depth)), min_size=1, max_size=12))
    intervals = sorted((min(pair), max(pair)) for pair in pairs)
    expected = [any(low <= end and start <= high for start, end in ranges) for low, high in intervals]
    assert met(intervals, ranges) == expected
    event(f"some missed: {not all(expected)}")


@given(st.data(), st.integers(1, 4))
def test_a_key_is_a_range_that_ends_where_it_begins_and_may_come_twice(data: st.DataObject, depth: int) -> None:
    keys = sorted(data.draw(st.lists(values(depth), min_size=1, max_size=12)))
    pairs = data.draw(st.lists(st.tuples(values(depth), values(depth)), min_size=1, max_size=12))
    intervals = sorted((min(pair), max(pair)) for pair in pairs)
    assert met(intervals, [(key, key) for key in keys]) == [any(low <= key <= high for key in keys) for low, high in intervals]


def met(intervals: list[Pair], ranges: list[Pair]) -> list[bool]:
    found: list[bool] = meets_a_range(
        as_levels([low for low, _ in intervals]),
        as_levels([high for _, high in intervals]),
        as_levels([low for low, _ in ranges]),
        as_levels([high for _, high in ranges]),
    ).tolist()
    return found


def test_the_ends_of_int64() -> None:
    ends = (np.array([-(2**63), 0, 2**63 - 1], dtype=np.int64),)
    inner = (np.array([1 - 2**63, -1], dtype=np.int64),), (np.array([-2, 2**63 - 2], dtype=np.int64),)
    assert meets_a_range(ends, ends, *inner).tolist() == [False, True, False]
    assert meets_a_range(ends, ends, ends, ends).tolist() == [True, True, True]


def test_no_intervals_meet_nothing() -> None:
    nothing = np.zeros(0, dtype=np.uint64)
    key = as_levels([(1, 2)])
    assert meets_a_range((nothing, nothing), (nothing, nothing), key, key).tolist() == []


@given(st.data(), st.integers(1, 3))
def test_order_goes_by_the_first_level_then_the_next(data: st.DataObject, depth: int) -> None:
    rows = data.draw(st.lists(values(depth), min_size=1, max_size=12))
    assert [rows[i] for i in in_order(as_levels(rows)).tolist()] == sorted(rows)
