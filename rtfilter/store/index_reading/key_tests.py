"""Filled filters as tests of an indexed column."""

from __future__ import annotations

import numpy as np

from rtfilter.store.bounds.filters import BytesRangeFilter, BytesSetFilter, EmptyFilter, KeyFilter, RangesFilter
from rtfilter.store.sketches.arrays import ByteStrings
from rtfilter.store.sketches.column_tests import ByteKeys, ByteRange, LongKeys, LongRanges, NoValue, Values, ValueTest


def test_of_filter(keys: KeyFilter) -> ValueTest:
    """The test that a filled filter makes of its column."""
    return ValueTest(_values(keys), nulls=keys.keep_nulls)


def _values(keys: KeyFilter) -> Values:
    if isinstance(keys, EmptyFilter):
        return NoValue()
    if isinstance(keys, RangesFilter):
        return LongRanges(keys.lows, keys.highs)
    if isinstance(keys, BytesRangeFilter):
        return ByteRange(keys.low, keys.high)
    if isinstance(keys, BytesSetFilter):
        return ByteKeys(ByteStrings(keys.offsets, keys.blob))
    # Sorted, but not always distinct.
    return LongKeys(keys.keys[np.concatenate(([True], keys.keys[1:] != keys.keys[:-1]))])
