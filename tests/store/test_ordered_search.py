"""Keys between bounds, against the plain definition."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from rtfilter.store.arrays import Levels
from rtfilter.store.ordered_search import at_least, at_most, key_between, range_between

# Few different numbers in each level, so that bounds and keys agree in some of them; the ends of uint64 are among them.
levels = st.sampled_from([0, 1, 2, 3, 2**63, 2**64 - 1])


def values(depth: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[levels] * depth)


def as_levels(rows: list[tuple[int, ...]]) -> Levels:
    return tuple(np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True))


@given(st.data(), st.integers(1, 4))
def test_a_key_is_found_exactly_where_one_lies_between_the_bounds(data: st.DataObject, depth: int) -> None:
    keys = sorted(data.draw(st.lists(values(depth), min_size=1, max_size=12)))
    pairs = [
        (min(pair), max(pair)) for pair in data.draw(st.lists(st.tuples(values(depth), values(depth)), min_size=1, max_size=12))
    ]
    expected = [any(low <= key <= high for key in keys) for low, high in pairs]
    found = key_between(as_levels(keys), as_levels([low for low, _ in pairs]), as_levels([high for _, high in pairs]))
    assert found.tolist() == expected
    event(f"some missed: {not all(expected)}")


@given(st.data(), st.integers(1, 4))
def test_comparisons_with_one_value(data: st.DataObject, depth: int) -> None:
    rows = data.draw(st.lists(values(depth), min_size=1, max_size=12))
    limit = data.draw(values(depth))
    assert at_most(as_levels(rows), as_levels([limit])).tolist() == [row <= limit for row in rows]
    assert at_least(as_levels(rows), as_levels([limit])).tolist() == [row >= limit for row in rows]


numbers = st.one_of(st.integers(-20, 20), st.sampled_from([-(2**63), 2**63 - 1]))


@given(st.sets(numbers, min_size=2, max_size=12), st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_ranges_are_met_exactly_where_one_overlaps_the_bounds(ends: set[int], pairs: list[tuple[int, int]]) -> None:
    ordered = sorted(ends)[: len(ends) // 2 * 2]
    ranges = list(zip(ordered[::2], ordered[1::2], strict=True))
    bounds = [(min(pair), max(pair)) for pair in pairs]
    found = range_between(
        *(np.array(column, dtype=np.int64) for column in (*zip(*ranges, strict=True), *zip(*bounds, strict=True)))
    )
    assert found.tolist() == [any(low <= end and start <= high for start, end in ranges) for low, high in bounds]


def test_no_bounds_have_no_keys() -> None:
    nothing = np.zeros(0, dtype=np.uint64)
    assert key_between(as_levels([(1, 2)]), (nothing, nothing), (nothing, nothing)).tolist() == []
