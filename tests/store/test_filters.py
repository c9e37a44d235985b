"""The forms of a filled filter."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.store.bounds.filters import (
    BytesRangeFilter,
    BytesSetFilter,
    EmptyFilter,
    RangesFilter,
    SetFilter,
    filter_of_keys,
    filter_of_range,
)


def test_no_key_at_all_is_an_empty_filter_and_not_an_empty_set() -> None:
    assert filter_of_keys(np.array([], dtype=np.int64)) == EmptyFilter()
    with pytest.raises(ValueError, match="at least one key"):
        SetFilter(np.array([], dtype=np.int64))


def test_an_upside_down_range_is_refused() -> None:
    with pytest.raises(ValueError, match="low <= high"):
        filter_of_range(2, 1)


def test_ranges_that_overlap_or_are_out_of_order_are_refused() -> None:
    for lows, highs in (([0, 5], [5, 9]), ([5, 0], [9, 2]), ([0, 5], [9, 6])):
        with pytest.raises(ValueError, match="overlap"):
            RangesFilter(np.array(lows, dtype=np.int64), np.array(highs, dtype=np.int64))
    with pytest.raises(ValueError, match="a high for each low"):
        RangesFilter(np.array([0, 5], dtype=np.int64), np.array([1], dtype=np.int64))
    with pytest.raises(ValueError, match="at least one key"):
        RangesFilter(np.array([], dtype=np.int64), np.array([], dtype=np.int64))


def strings_of(*strings: bytes, keep_nulls: bool = False) -> BytesSetFilter:
    offsets = np.cumsum([0, *(len(each) for each in strings)]).astype(np.int64)
    return BytesSetFilter(offsets, np.frombuffer(b"".join(strings), dtype=np.uint8), keep_nulls)


def test_byte_strings_are_sorted_as_unsigned_bytes() -> None:
    strings_of(b"", b"a", b"a\0", b"z", "é".encode(), b"\xff")
    for unsorted in ((b"b", b"a"), ("é".encode(), b"z"), (b"12345678b", b"12345678a")):
        with pytest.raises(ValueError, match="sorted"):
            strings_of(*unsorted)


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([0], "one more than strings"), ([0, 9], "3 bytes"), ([-1, 2], "3 bytes"), ([0, 3, 1], "3 bytes")],
)
def test_offsets_that_do_not_fit_the_blob_are_refused(offsets: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BytesSetFilter(np.array(offsets, dtype=np.int64), np.frombuffer(b"abc", dtype=np.uint8))


def test_arrays_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="uint8"):
        BytesSetFilter(np.array([0, 1], dtype=np.int64), np.array([1], dtype=np.int64))
    with pytest.raises(ValueError, match="int64"):
        BytesSetFilter(np.array([0, 1], dtype=np.int32), np.array([1], dtype=np.uint8))


def test_an_upside_down_range_of_byte_strings_is_refused() -> None:
    BytesRangeFilter(b"a", b"a")
    with pytest.raises(ValueError, match="low <= high"):
        BytesRangeFilter("é".encode(), b"z")


def test_filters_that_keep_nulls_are_others() -> None:
    one = np.array([1], dtype=np.int64)
    assert SetFilter(one) != SetFilter(one, keep_nulls=True) and EmptyFilter() != EmptyFilter(keep_nulls=True)
    assert filter_of_range(1, 2) != filter_of_range(1, 2, keep_nulls=True)
    assert strings_of(b"a") == strings_of(b"a") != strings_of(b"a", keep_nulls=True)
    assert len({filter_of_range(1, 2), filter_of_range(1, 2), strings_of(b"a"), strings_of(b"a")}) == 2


def test_unsorted_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted"):
        SetFilter(np.array([2, 1], dtype=np.int64))


def test_keys_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="int64"):
        SetFilter(np.array([1, 2], dtype=np.int32))


def test_sets_of_equal_keys_are_equal() -> None:
    one, same, more = (SetFilter(np.array(values, dtype=np.int64)) for values in ([1, 2], [1, 2], [1, 2, 3]))
    assert one == same and hash(one) == hash(same) and one != more and one != filter_of_range(1, 2)
