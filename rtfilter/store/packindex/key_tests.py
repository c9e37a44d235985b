"""Filled filters as tests of an indexed column."""

from __future__ import annotations

import numpy as np

from rtfilter.store.filters import EmptyFilter, KeyFilter, RangeFilter
from rtfilter.store.sketches.asked import LongKeys, LongRanges, NoValue, ValueTest


def test_of_filter(keys: KeyFilter) -> ValueTest:
    """The test that a filled filter makes of its column."""
    if isinstance(keys, EmptyFilter):
        return ValueTest(NoValue())
    if isinstance(keys, RangeFilter):
        return ValueTest(LongRanges(np.array([keys.low], dtype=np.int64), np.array([keys.high], dtype=np.int64)))
    # Sets are sorted; of equal neighbours one is enough.
    return ValueTest(LongKeys(np.unique(keys.keys)))
