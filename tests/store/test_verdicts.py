"""Verdicts over packs: a reject must be certain, everything unknown is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from rtfilter.store.bounds.filters import (
    BytesRangeFilter,
    BytesSetFilter,
    EmptyFilter,
    KeyFilter,
    RangesFilter,
    SetFilter,
    filter_of_keys,
    filter_of_range,
)
from rtfilter.store.bounds.verdicts import PackBounds, might_match, pack_bounds
from rtfilter.store.parquet.byte_words import words_needed, words_of_strings
from rtfilter.store.parquet.key_values import NAN_KEY

LEAST, GREATEST = -(2**63), 2**63 - 1


def packs(*bounds: tuple[int, int] | str, nulls: list[bool] | None = None, hidden: int | None = None) -> PackBounds:
    """Packs from (low, high), "unknown" or "all null"."""
    pairs = [(0, 0) if isinstance(each, str) else each for each in bounds]
    return pack_bounds(
        (np.array([low for low, _ in pairs], dtype=np.int64),),
        (np.array([high for _, high in pairs], dtype=np.int64),),
        np.array([not isinstance(each, str) for each in bounds], dtype=np.bool_),
        np.array([each == "all null" for each in bounds], dtype=np.bool_),
        None if nulls is None else np.array(nulls, dtype=np.bool_),
        hidden,
    )


def byte_packs(*bounds: tuple[bytes, bytes] | str, nulls: list[bool] | None = None) -> PackBounds:
    """Packs from (low, high), "unknown" or "all null"."""
    pairs = [(b"", b"") if isinstance(each, str) else each for each in bounds]
    words = words_needed(max(len(bound) for pair in pairs for bound in pair))
    return pack_bounds(
        words_of_strings([low for low, _ in pairs], words),
        words_of_strings([high for _, high in pairs], words),
        np.array([not isinstance(each, str) for each in bounds], dtype=np.bool_),
        np.array([each == "all null" for each in bounds], dtype=np.bool_),
        None if nulls is None else np.array(nulls, dtype=np.bool_),
    )


def ranges_of(*ranges: tuple[int, int]) -> RangesFilter:
    lows, highs = zip(*ranges, strict=True)
    return RangesFilter(np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64))


def set_of(*values: int) -> SetFilter:
    return SetFilter(np.array(sorted(values), dtype=np.int64))


def strings_of(*strings: bytes, keep_nulls: bool = False) -> BytesSetFilter:
    ordered = sorted(set(strings))
    offsets = np.cumsum([0, *(len(each) for each in ordered)]).astype(np.int64)
    return BytesSetFilter(offsets, np.frombuffer(b"".join(ordered), dtype=np.uint8), keep_nulls)


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


class TestRanges:
    def test_a_pack_in_a_gap_is_rejected(self) -> None:
        gaps = ranges_of((0, 9), (30, 39))
        assert kept(packs((10, 29), (9, 12), (28, 30), (40, 50), (0, 50), (-5, -1)), gaps) == [
            False,
            True,
            True,
            False,
            True,
            False,
        ]

    def test_the_ends_of_int64(self) -> None:
        ends = ranges_of((LEAST, LEAST), (GREATEST, GREATEST))
        assert kept(packs((LEAST, LEAST), (GREATEST, GREATEST), (LEAST + 1, GREATEST - 1)), ends) == [True, True, False]


class TestByteStrings:
    def test_a_set_keeps_a_pack_when_a_key_lies_in_it(self) -> None:
        bounds = byte_packs((b"a", b"c"), (b"d", b"f"), (b"g", b"i"), "unknown", "all null")
        assert kept(bounds, strings_of(b"b", b"f", b"fa")) == [True, True, False, True, False]

    def test_bytes_above_127_come_last(self) -> None:
        bounds = byte_packs((b"a", b"z"), (b"{", b"\xff"))
        assert kept(bounds, strings_of("é".encode())) == [False, True]
        assert kept(bounds, BytesRangeFilter("é".encode(), b"\xff\xff")) == [False, True]

    def test_zero_bytes_at_the_end_lose_no_pack(self) -> None:
        assert kept(byte_packs((b"a\0", b"a\0\0")), strings_of(b"a\0")) == [True]
        assert kept(byte_packs((b"a\0", b"a\0")), BytesRangeFilter(b"a\0", b"b")) == [True]
        assert kept(byte_packs((b"a", b"a")), strings_of(b"a\0\x01")) == [False]

    def test_the_empty_string_is_a_key_like_any_other(self) -> None:
        assert kept(byte_packs((b"", b"a"), (b"a", b"b")), strings_of(b"")) == [True, False]

    def test_a_common_beginning_does_not_hide_the_difference(self) -> None:
        start = b"AAAAAAAABAAAAAAA"
        bounds = byte_packs((start + b"B", start + b"D"), (start + b"E", start + b"G"))
        assert kept(bounds, strings_of(start + b"C")) == [True, False]
        assert kept(bounds, strings_of(start + b"A", start + b"Da", start + b"H")) == [False, False]

    @pytest.mark.parametrize("alike", [63, 64, 65, 1000, 4095])
    def test_strings_alike_in_many_bytes_are_told_apart(self, alike: int) -> None:
        start = b"x" * alike
        bounds = byte_packs((start + b"b", start + b"c"), (start + b"e", start + b"e"))
        assert kept(bounds, strings_of(start + b"a", start + b"d")) == [False, False]
        assert kept(bounds, strings_of(start + b"c", start + b"d")) == [True, False]
        assert kept(bounds, BytesRangeFilter(start + b"d", start + b"e")) == [False, True]

    def test_what_differs_after_4096_bytes_is_kept(self) -> None:
        start = b"x" * 4096
        assert kept(byte_packs((start + b"b", start + b"c")), strings_of(start + b"a")) == [True]
        assert kept(byte_packs((start + b"b", start + b"c")), strings_of(start[:-1] + b"a")) == [False]

    def test_so_many_long_keys_that_they_are_cut_keep_what_is_alike_before_the_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("rtfilter.store.parquet.byte_words.MOST_TOGETHER_BYTES", 3 * 8 * 10)  # 80 bytes for each of three keys
        start = b"x" * 76
        bounds = byte_packs((start + b"1234b", start + b"1234c"), (start + b"2", start + b"2"))
        assert kept(bounds, strings_of(start + b"1234a", start + b"3", start + b"4")) == [True, False]

    def test_keys_out_of_order_behind_64_bytes_are_refused(self) -> None:
        with pytest.raises(ValueError, match="sorted"):
            BytesSetFilter(np.array([0, 65, 130]), np.frombuffer(b"x" * 64 + b"b" + b"x" * 64 + b"a", dtype=np.uint8))

    def test_a_range_keeps_what_it_meets(self) -> None:
        bounds = byte_packs((b"a", b"c"), (b"d", b"f"), (b"g", b"i"), "unknown", "all null")
        assert kept(bounds, BytesRangeFilter(b"c", b"d")) == [True, True, False, True, False]
        assert kept(bounds, BytesRangeFilter(b"ca", b"cz")) == [False, False, False, True, False]


class TestNulls:
    @pytest.mark.parametrize(
        "keys",
        [EmptyFilter(keep_nulls=True), filter_of_range(99, 99, keep_nulls=True), filter_of_keys(np.array([99]), keep_nulls=True)],
        ids=lambda keys: type(keys).__name__,
    )
    def test_packs_that_may_hold_a_null_are_kept_on_demand(self, keys: KeyFilter) -> None:
        bounds = packs((0, 9), (0, 9), "all null", "unknown", nulls=[True, False, True, True])
        assert kept(bounds, keys) == [True, False, True, True]

    def test_byte_strings_too(self) -> None:
        bounds = byte_packs((b"a", b"c"), (b"a", b"c"), "all null", nulls=[True, False, True])
        assert kept(bounds, strings_of(b"x", keep_nulls=True)) == [True, False, True]
        assert kept(bounds, BytesRangeFilter(b"x", b"y", keep_nulls=True)) == [True, False, True]

    def test_nulls_are_no_reason_to_keep_a_pack_otherwise(self) -> None:
        assert kept(packs((0, 9), nulls=[True]), set_of(99)) == [False]

    def test_where_nothing_is_said_of_nulls_there_may_be_one(self) -> None:
        assert kept(packs((0, 9)), EmptyFilter(keep_nulls=True)) == [True]


class TestHiddenValues:
    def test_a_filter_with_the_hidden_value_keeps_every_pack_that_has_values(self) -> None:
        bounds = packs((0, 9), (10, 19), "all null", "unknown", hidden=NAN_KEY)
        for keys in (set_of(5, NAN_KEY), filter_of_range(5, GREATEST), ranges_of((5, 6), (NAN_KEY, NAN_KEY))):
            assert kept(bounds, keys) == [True, True, False, True]

    def test_other_filters_do_not_mind(self) -> None:
        bounds = packs((0, 9), (10, 19), hidden=NAN_KEY)
        for keys in (set_of(5), filter_of_range(5, 6), ranges_of((5, 6), (NAN_KEY + 1, GREATEST))):
            assert kept(bounds, keys) == [True, False]


class TestDomains:
    def test_a_filter_of_the_other_domain_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="BytesSetFilter can't be held against bounds that are whole numbers"):
            might_match(packs((0, 9)), strings_of(b"a"))
        with pytest.raises(ValueError, match="byte strings"):
            might_match(byte_packs((b"a", b"c")), set_of(1))

    def test_packs_without_bounds_have_no_domain(self) -> None:
        assert kept(packs("unknown", "all null"), strings_of(b"a")) == [True, False]


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
    assert byte_packs((b"a", b"b")).value_span is None


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


byte_strings = st.one_of(st.binary(max_size=3), st.text("ab\x00ÿ", max_size=40).map(str.encode))


@given(
    st.lists(st.lists(st.one_of(st.none(), byte_strings), max_size=5), min_size=1, max_size=10), st.sets(byte_strings, max_size=6)
)
def test_no_pack_that_holds_a_byte_string_of_the_filter_is_rejected(contents: list[list[bytes | None]], keys: set[bytes]) -> None:
    values = [[value for value in pack if value is not None] for pack in contents]
    nulls = [None in pack for pack in contents]
    bounds = byte_packs(*((min(pack), max(pack)) if pack else "all null" for pack in values), nulls=nulls)
    for keep_nulls in (False, True):
        forms: list[KeyFilter] = [EmptyFilter(keep_nulls)]
        if keys:
            forms = [strings_of(*keys, keep_nulls=keep_nulls), BytesRangeFilter(min(keys), max(keys), keep_nulls)]
        for form in forms:
            keep = kept(bounds, form)
            for pack, has_null, keeps in zip(values, nulls, keep, strict=True):
                assert keeps or (not (keys & set(pack)) and not (keep_nulls and has_null))
            event(f"rejects: {not all(keep)}")
