"""Verdicts over packs: a reject must be certain, everything unknown is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from rtfilter.store.filters import EmptyFilter, KeyFilter, SetFilter, filter_of_range
from rtfilter.store.verdicts import PackBounds, might_match, pack_bounds

LEAST, GREATEST = -(2**63), 2**63 - 1


def packs(*bounds: tuple[int, int] | str) -> PackBounds:
    """Packs from (low, high), "unknown" or "all null"."""
    pairs = [(0, 0) if isinstance(each, str) else each for each in bounds]
    return pack_bounds(
        (np.array([low for low, _ in pairs], dtype=np.int64),),
        (np.array([high for _, high in pairs], dtype=np.int64),),
        np.array([not isinstance(each, str) for each in bounds], dtype=np.bool_),
        np.array([each == "all null" for each in bounds], dtype=np.bool_),
    )


def set_of(*values: int) -> SetFilter:
    return SetFilter(np.array(sorted(values), dtype=np.int64))


def kept(bounds: PackBounds, keys: KeyFilter) -> list[bool]:
    mask: list[bool] = might_match(bounds, keys).tolist()
    return mask


class TestRange:
    def test_a_pack_is_kept_when_the_two_ranges_meet(self) -> None:
        bounds = packs((0, 9), (10, 19), (20, 29), (30, 39))
        assert kept(bounds, filter_of_range(12, 20)) == [False, True, True, False]

    def test_touching_at_one_value_is_meeting(self) -> None:
        assert kept(packs((0, 9), (20, 29)), filter_of_range(9, 20)) == [True, True]

    def test_a_range_within_a_pack_and_one_around_it(self) -> None:
        assert kept(packs((0, 9)), filter_of_range(4, 5)) == [True]
        assert kept(packs((4, 5)), filter_of_range(0, 9)) == [True]

    def test_the_ends_of_int64(self) -> None:
        bounds = packs((LEAST, LEAST), (GREATEST, GREATEST), (0, 0), (LEAST, GREATEST))
        assert kept(bounds, filter_of_range(LEAST, LEAST)) == [True, False, False, True]
        assert kept(bounds, filter_of_range(GREATEST, GREATEST)) == [False, True, False, True]
        assert kept(bounds, filter_of_range(LEAST, GREATEST)) == [True] * 4


class TestSet:
    def test_a_pack_is_kept_when_a_key_lies_in_it(self) -> None:
        assert kept(packs((0, 9), (10, 19), (20, 29), (30, 39)), set_of(5, 30)) == [True, False, False, True]

    def test_keys_on_both_sides_of_a_pack_do_not_keep_it(self) -> None:
        assert kept(packs((10, 19)), set_of(9, 20)) == [False]

    def test_a_key_on_the_edge_keeps_it(self) -> None:
        assert kept(packs((10, 19)), set_of(10)) == [True]
        assert kept(packs((10, 19)), set_of(19)) == [True]

    def test_the_ends_of_int64(self) -> None:
        bounds = packs((LEAST, LEAST), (GREATEST, GREATEST), (0, 0), (LEAST, GREATEST))
        assert kept(bounds, set_of(LEAST)) == [True, False, False, True]
        assert kept(bounds, set_of(GREATEST)) == [False, True, False, True]
        assert kept(bounds, set_of(LEAST, GREATEST)) == [True, True, False, True]


class TestEmpty:
    def test_it_rejects_everything_known(self) -> None:
        assert kept(packs((0, 9), "all null"), EmptyFilter()) == [False, False]

    def test_it_keeps_what_is_not_known(self) -> None:
        assert kept(packs((0, 9), "unknown"), EmptyFilter()) == [False, True]

    def test_the_mask_is_not_the_packs_own_array(self) -> None:
        bounds = packs("unknown")
        might_match(bounds, EmptyFilter())[:] = False
        assert bounds.unknown.tolist() == [True]


EVERY_FILTER = [EmptyFilter(), filter_of_range(0, 0), filter_of_range(LEAST, GREATEST), set_of(0), set_of(LEAST, 0, GREATEST)]


@pytest.mark.parametrize("keys", EVERY_FILTER, ids=lambda keys: type(keys).__name__)
def test_all_null_packs_are_rejected_and_unknown_ones_kept_by_every_filter(keys: KeyFilter) -> None:
    assert kept(packs("all null", "unknown"), keys) == [False, True]


@pytest.mark.parametrize("keys", EVERY_FILTER, ids=lambda keys: type(keys).__name__)
def test_no_packs_give_no_verdicts(keys: KeyFilter) -> None:
    assert kept(packs(), keys) == []


def test_the_value_span_is_over_packs_with_bounds() -> None:
    assert packs((10, 19), "unknown", (30, 39), "all null").value_span == 30
    assert packs("unknown").value_span is None
    assert packs((LEAST, GREATEST)).value_span == 2**64


small = st.integers(-40, 40)
wide = st.one_of(small, st.integers(LEAST, GREATEST), st.sampled_from([LEAST, GREATEST]))
pack_values = st.lists(st.one_of(st.none(), wide), max_size=6)


@given(st.lists(pack_values, min_size=1, max_size=12), st.sets(wide, max_size=8))
def test_no_pack_that_holds_a_key_is_rejected(contents: list[list[int | None]], key_values: set[int]) -> None:
    values = [[value for value in pack if value is not None] for pack in contents]
    bounds = packs(*((min(pack), max(pack)) if pack else "all null" for pack in values))
    holding = [any(value in key_values for value in pack) for pack in values]
    forms: list[KeyFilter] = [EmptyFilter()]
    if key_values:
        forms = [set_of(*key_values), filter_of_range(min(key_values), max(key_values))]
    for keys in forms:
        keep = kept(bounds, keys)
        assert all(keep[i] for i, holds in enumerate(holding) if holds)
        event(f"rejects: {not all(keep)}")


@given(st.lists(st.tuples(small, small), min_size=1, max_size=12), st.sets(small, min_size=1, max_size=8))
def test_a_set_rejects_exactly_the_packs_whose_bounds_hold_no_key(pairs: list[tuple[int, int]], key_values: set[int]) -> None:
    bounds = [(min(pair), max(pair)) for pair in pairs]
    expected = [any(low <= key <= high for key in key_values) for low, high in bounds]
    assert kept(packs(*bounds), set_of(*key_values)) == expected
    assume(not all(expected))
    assert kept(packs(*bounds), set_of(*key_values)).count(False) > 0


@given(st.lists(st.tuples(small, small), min_size=1, max_size=12), st.sets(small, min_size=1, max_size=8))
def test_a_set_never_keeps_more_than_its_range(pairs: list[tuple[int, int]], key_values: set[int]) -> None:
    bounds = packs(*((min(pair), max(pair)) for pair in pairs))
    by_set = kept(bounds, set_of(*key_values))
    by_range = kept(bounds, filter_of_range(min(key_values), max(key_values)))
    assert all(by_range[i] for i, keep in enumerate(by_set) if keep)
