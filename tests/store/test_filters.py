"""The forms of a filled filter."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.store.filters import EmptyFilter, SetFilter, filter_of_keys, filter_of_range


def test_no_key_at_all_is_an_empty_filter_and_not_an_empty_set() -> None:
    assert filter_of_keys(np.array([], dtype=np.int64)) == EmptyFilter()
    with pytest.raises(ValueError, match="at least one key"):
        SetFilter(np.array([], dtype=np.int64))


def test_an_upside_down_range_is_refused() -> None:
    with pytest.raises(ValueError, match="low <= high"):
        filter_of_range(2, 1)


def test_unsorted_keys_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted"):
        SetFilter(np.array([2, 1], dtype=np.int64))


def test_keys_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match="int64"):
        SetFilter(np.array([1, 2], dtype=np.int32))


def test_sets_of_equal_keys_are_equal() -> None:
    one, same, more = (SetFilter(np.array(values, dtype=np.int64)) for values in ([1, 2], [1, 2], [1, 2, 3]))
    assert one == same and hash(one) == hash(same) and one != more and one != filter_of_range(1, 2)
