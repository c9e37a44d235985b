"""1,024 bits over the span of each pack's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches.arrays import Bools, Bytes, Int64s, UInt64s
from rtfilter.store.sketches.column_tests import KeyHistogram, LongKeys, Values, ranges_of
from rtfilter.store.sketches.columns import int64_column
from rtfilter.store.sketches.domain import BYTES, LONG, PackValues

BUCKETS = 1024
BITS_BYTES = BUCKETS // 8
# So many keys of a pack are looked at before the next ones are: mostly one of the first has its bucket set.
_KEYS_AT_ONCE = 4096

FIELDS = {LONG: [("low", pa.int64()), ("high", pa.int64()), ("bits", pa.binary(BITS_BYTES))], BYTES: []}


def build(values: PackValues) -> dict[str, Any]:
    """The row of one pack: bit `i` (least significant first) stands for the values from low + i * width on."""
    assert values.longs is not None
    if not len(values.longs):
        return {"low": None, "high": None, "bits": None}
    low, high = values.longs.min(), values.longs.max()
    buckets = np.zeros(BUCKETS, dtype=np.uint8)
    buckets[_distance(values.longs, low) // np.uint64(bucket_width(int(low), int(high)))] = 1
    return {"low": int(low), "high": int(high), "bits": np.packbits(buckets, bitorder="little").tobytes()}


def key_histogram(keys: Int64s) -> KeyHistogram:
    """The histogram of a build side's keys (one or more)."""
    row = build(PackValues(len(keys), 0, keys, None))
    bits = np.unpackbits(np.frombuffer(row["bits"], dtype=np.uint8), bitorder="little").astype(np.bool_)
    return KeyHistogram(row["low"], bucket_width(row["low"], row["high"]), bits)


def bucket_width(low: int, high: int) -> int:
    """Values per bucket: 1 as long as the span has fewer than 1,025 values."""
    return (high - low) // BUCKETS + 1


def _distance(values: Int64s, low: Any) -> UInt64s:
    """How far values are above a lower one; the span of int64 needs all 64 bits."""
    distance: UInt64s = values.view(np.uint64) - np.asarray(low, dtype=np.int64).view(np.uint64)
    return distance


@dataclass(frozen=True, slots=True)
class Histograms:
    """One histogram per pack: a row of 128 bytes each."""

    lows: Int64s
    highs: Int64s
    bits: Bytes
    valid: Bools

    def might_hold(self, values: Values, at: Int64s) -> Bools:
        if isinstance(values, LongKeys):
            return self._each(at, values.keys, values.keys)
        if isinstance(values, KeyHistogram):
            return self._meets(values, at)
        ranges = ranges_of(values)
        if ranges is None:
            return np.ones(len(at), dtype=np.bool_)
        return self._each(at, ranges.lows, ranges.highs)

    def holds_only(self, values: Values, at: Int64s) -> Bools:
        """A histogram does not know what its buckets hold: never sure."""
        return np.zeros(len(at), dtype=np.bool_)

    def _each(self, at: Int64s, begins: Int64s, ends: Int64s) -> Bools:
        """Whether a range of (begins, ends) meets a set bucket, pack by pack."""
        found = np.zeros(len(at), dtype=np.bool_)
        firsts = np.searchsorted(ends, self.lows[at], "left")
        lasts = np.searchsorted(begins, self.highs[at], "right")
        for i in np.flatnonzero(firsts < lasts).tolist():
            pack, parts = at[i], range(firsts[i], lasts[i], _KEYS_AT_ONCE)
            found[i] = any(
                self._hits(pack, np.maximum(begins[near], self.lows[pack]), np.minimum(ends[near], self.highs[pack]))
                for near in (slice(first, min(first + _KEYS_AT_ONCE, lasts[i])) for first in parts)
            )
        return found

    def _hits(self, pack: int, begins: Int64s, ends: Int64s) -> bool:
        """Whether a bucket of these ranges, which lie within the pack's bounds, is set."""
        width = np.uint64(bucket_width(int(self.lows[pack]), int(self.highs[pack])))
        first = (_distance(begins, self.lows[pack]) // width).astype(np.int64)
        last = (_distance(ends, self.lows[pack]) // width).astype(np.int64)
        set_before = np.zeros(BUCKETS + 1, dtype=np.int64)
        np.cumsum(np.unpackbits(self.bits[pack], bitorder="little"), out=set_before[1:])
        return bool((set_before[last + 1] > set_before[first]).any())

    def _meets(self, keys: KeyHistogram, at: Int64s) -> Bools:
        """Two histograms: those that lie alike are ANDed bit by bit, the others are compared by the ranges of their buckets."""
        spans = _distance(self.highs[at], np.int64(0)) - _distance(self.lows[at], np.int64(0))
        widths = spans // np.uint64(BUCKETS) + np.uint64(1)
        alike = (self.lows[at] == keys.low) & (widths == np.uint64(keys.width))
        mask = np.packbits(keys.buckets, bitorder="little")
        found: Bools = np.asarray((self.bits[at] & mask).any(axis=1))
        ranges = ranges_of(keys)
        if ranges is None:
            return np.zeros(len(at), dtype=np.bool_)
        found[~alike] = self._each(at[~alike], ranges.lows, ranges.highs)
        return found


def load(batches: Sequence[Any], domain: str) -> Histograms:
    """Histograms out of record batches of a sketch file."""
    if domain != LONG:
        raise ValueError("a histogram of byte strings")
    table = pa.Table.from_batches(batches)
    lows, has_low = int64_column(table["low"])
    highs, has_high = int64_column(table["high"])
    empty = b"\0" * BITS_BYTES
    column = table["bits"].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    if column.type != pa.binary(BITS_BYTES):
        raise ValueError(f"histograms of type {column.type}")
    rows = b"".join(empty if each is None else each for each in column.to_pylist())
    bits = np.frombuffer(rows, dtype=np.uint8).reshape(-1, BITS_BYTES)
    return Histograms(lows, highs, bits, has_low & has_high & np.asarray(column.is_valid()) & (lows <= highs))
