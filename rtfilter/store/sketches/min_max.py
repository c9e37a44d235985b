"""Lowest and highest value of each pack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.store.sketches.arrays import At, Bools, ByteStrings, Int64s, Prefixes
from rtfilter.store.sketches.column_tests import ByteKeys, BytePrefix, ByteRange, LongKeys, Values, ranges_of
from rtfilter.store.sketches.columns import binary_array, int64_column, string_column
from rtfilter.store.sketches.domain import BYTES, LONG, PackValues
from rtfilter.store.sketches.key_grid import key_between

# Longer strings are cut here: a cut lowest value is below the real one, for a cut highest one `high_exact` is false.
# Until 2026-11 it was 32.
BOUND_BYTES = 4096
# All strings that are compared at a time are cut to the same length, where many long ones would take more than that.
_MOST_TOGETHER_BYTES = 64 << 20
_SHORT_BYTES = 32

FIELDS = {
    LONG: [("low", pa.int64()), ("high", pa.int64())],
    BYTES: [("low", pa.binary()), ("high", pa.binary()), ("low_exact", pa.bool_()), ("high_exact", pa.bool_())],
}


def build(values: PackValues) -> dict[str, Any]:
    """The row of one pack; without a value the bounds are null."""
    if values.longs is not None:
        some = len(values.longs) > 0
        return {"low": int(values.longs.min()) if some else None, "high": int(values.longs.max()) if some else None}
    assert values.strings is not None
    if not len(values.strings):
        return {"low": None, "high": None, "low_exact": True, "high_exact": True}
    # Arrow compares binaries as unsigned bytes.
    low, high = (bound.as_py() for bound in pc.min_max(binary_array(values.strings)).values())
    cut_low, cut_high = low[:BOUND_BYTES], high[:BOUND_BYTES]
    return {"low": cut_low, "high": cut_high, "low_exact": cut_low == low, "high_exact": cut_high == high}


@dataclass(frozen=True, slots=True)
class LongBounds:
    """Bounds of whole numbers, one entry per pack; what stands at packs without a value counts for nothing."""

    lows: Int64s
    highs: Int64s
    valid: Bools

    def might_hold(self, values: Values, at: At) -> Bools:
        lows, highs = self.lows[at], self.highs[at]
        if isinstance(values, LongKeys):
            return key_between(values.keys, lows, highs)
        ranges = ranges_of(values)
        if ranges is None:
            return np.ones(len(lows), dtype=np.bool_)
        if len(ranges.lows) == 1:
            meets: Bools = highs >= ranges.lows[0]
            meets &= lows <= ranges.highs[0]
            return meets
        return _first_at_or_above(ranges.highs, ranges.lows, lows, highs)

    def holds_only(self, values: Values, at: At) -> Bools:
        lows, highs = self.lows[at], self.highs[at]
        if isinstance(values, LongKeys):
            first = np.searchsorted(values.keys, lows, "left")
            wanted = np.searchsorted(values.keys, highs, "right") - first
            # Every number between the bounds is a key. Unsigned: the span of int64 needs all 64 bits.
            span = highs.view(np.uint64) - lows.view(np.uint64)
            full: Bools = (wanted > 0) & (wanted.astype(np.uint64) - np.uint64(1) == span)
            return full
        ranges = ranges_of(values)
        if ranges is None:
            return np.zeros(len(lows), dtype=np.bool_)
        first = np.minimum(np.searchsorted(ranges.highs, lows, "left"), len(ranges.highs) - 1)
        inside: Bools = (ranges.lows[first] <= lows) & (ranges.highs[first] >= highs)
        return inside


def _first_at_or_above(ends: Int64s, begins: Int64s, lows: Int64s, highs: Int64s) -> Bools:
    """Whether the first range that ends at or above a pack's lowest value begins at or below its highest one."""
    first = np.searchsorted(ends, lows, "left")
    found = first < len(ends)
    meets: Bools = found & (begins[np.minimum(first, len(ends) - 1)] <= highs)
    return meets


@dataclass(frozen=True, slots=True)
class StringBounds:
    """Bounds of byte strings by their first bytes, filled up with NUL, one entry per pack.

    Cut strings keep their order, though not strictly: whatever compares equal here counts as inside.
    """

    lows: Prefixes
    highs: Prefixes
    exact: Bools
    valid: Bools

    @property
    def width(self) -> int:
        return int(self.lows.dtype.itemsize)

    def might_hold(self, values: Values, at: At) -> Bools:
        lows, highs = self.lows[at], self.highs[at]
        if isinstance(values, ByteKeys):
            width = min(self.width, _width_for_many(len(values.keys)))
            lows, highs = lows.astype(f"S{width}", copy=False), highs.astype(f"S{width}", copy=False)
            keys = values.keys.prefixes(width)
            first = np.searchsorted(keys, lows, "left")
            meets: Bools = (first < len(keys)) & (keys[np.minimum(first, len(keys) - 1)] <= highs)
            return meets
        meets = np.ones(len(lows), dtype=np.bool_)
        if isinstance(values, ByteRange):
            if values.low is not None:
                meets &= highs >= self._cut(values.low)
            if values.high is not None:
                meets &= lows <= self._cut(values.high)
        elif isinstance(values, BytePrefix):
            length = min(len(values.prefix), self.width)
            meets = (highs >= self._cut(values.prefix)) & (lows.astype(f"S{length}") <= _as_array(values.prefix, length))
        return meets

    def holds_only(self, values: Values, at: At) -> Bools:
        inside = np.array(self.exact[at])
        if not isinstance(values, ByteRange):
            return np.zeros_like(inside)
        if values.low is not None:
            inside &= self.lows[at] > self._cut(values.low)
        if values.high is not None:
            inside &= self.highs[at] < self._cut(values.high)
        return inside

    def _cut(self, text: bytes) -> Prefixes:
        return _as_array(text, self.width)


def _as_array(text: bytes, width: int) -> Prefixes:
    """The first bytes of a text in one entry of that width. Numpy before 2.0 compares bytes of two widths, which it takes a lone
    text for, as signed ones."""
    return np.array([text[:width]], dtype=f"S{width}")


def load(batches: Sequence[Any], domain: str) -> LongBounds | StringBounds:
    """Bounds out of record batches of a sketch file."""
    table = pa.Table.from_batches(batches)
    if domain == LONG:
        lows, has_low = int64_column(table["low"])
        highs, has_high = int64_column(table["high"])
        return LongBounds(lows, highs, has_low & has_high & (lows <= highs))
    low_strings, has_low = string_column(table["low"])
    high_strings, has_high = string_column(table["high"])
    longest = max(low_strings.lengths.max(initial=0), high_strings.lengths.max(initial=0))
    # One byte more than the longest, so that a bound differs from a key that only begins like it.
    width = int(min(BOUND_BYTES, longest + 1, _width_for_many(2 * len(low_strings))))
    high_exact = np.array(table["high_exact"].fill_null(False))
    exact = np.array(table["low_exact"].fill_null(False)) & high_exact
    lows_, highs_ = low_strings.prefixes(width), _raised(high_strings, width, ~high_exact)
    return StringBounds(lows_, highs_, exact, has_low & has_high & (lows_ <= highs_))


def _width_for_many(count: int) -> int:
    return max(_SHORT_BYTES, _MOST_TOGETHER_BYTES // max(1, count))


def _raised(highs: ByteStrings, width: int, cut: Bools) -> Prefixes:
    """The first `width` bytes of each string, those that were cut when they were stored filled up with the highest byte."""
    prefixes = highs.prefixes(width)
    lengths = highs.lengths
    single = prefixes.view(np.uint8).reshape(len(highs), width)
    for i in np.flatnonzero(cut & (lengths < width)).tolist():
        single[i, lengths[i] :] = 0xFF
    return prefixes
