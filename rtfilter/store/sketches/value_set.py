"""The distinct values of packs that have few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches.arrays import Bools, ByteStrings, Int64s
from rtfilter.store.sketches.bloom import may_hold
from rtfilter.store.sketches.column_tests import (
    ByteKeys,
    BytePart,
    BytePrefix,
    ByteRange,
    ByteSuffix,
    KeyBloom,
    LongKeys,
    Values,
    ranges_of,
)
from rtfilter.store.sketches.columns import string_column
from rtfilter.store.sketches.domain import BYTES, LONG, PackValues
from rtfilter.store.sketches.hashing import hash_longs, hash_strings

FIELDS = {LONG: [("values", pa.list_(pa.int64()))], BYTES: [("values", pa.list_(pa.binary()))]}


def build(values: PackValues, most: int) -> dict[str, Any]:
    """The row of one pack: its values, sorted, or null when there are more than `most`."""
    if values.distinct > most:
        return {"values": None}
    if values.longs is not None:
        return {"values": np.sort(values.longs)}
    assert values.strings is not None
    return {"values": sorted(values.strings)}


@dataclass(frozen=True, slots=True)
class ValueSets:
    """Values end to end: those of pack `i` are from `offsets[i]` to `offsets[i + 1]`; not `valid`: there were too many."""

    offsets: Int64s
    longs: Int64s | None
    strings: ByteStrings | None
    valid: Bools

    def might_hold(self, values: Values, at: Int64s) -> Bools:
        passing = self._passing(values)
        if passing is None:
            return np.ones(len(at), dtype=np.bool_)
        counts = self._counts(passing, at)
        some: Bools = counts > 0
        return some

    def holds_only(self, values: Values, at: Int64s) -> Bools:
        passing = self._passing(values)
        if passing is None:
            return np.zeros(len(at), dtype=np.bool_)
        every: Bools = self._counts(passing, at) == self.offsets[at + 1] - self.offsets[at]
        return every

    def _counts(self, passing: Bools, at: Int64s) -> Int64s:
        before = np.zeros(len(passing) + 1, dtype=np.int64)
        np.cumsum(passing, out=before[1:])
        counts: Int64s = before[self.offsets[at + 1]] - before[self.offsets[at]]
        return counts

    def _passing(self, values: Values) -> Bools | None:
        """For each stored value whether it passes; None where the test can't be asked value by value."""
        if self.longs is not None:
            return _passing_longs(self.longs, values)
        assert self.strings is not None
        return _passing_strings(self.strings, values)


def _passing_longs(stored: Int64s, values: Values) -> Bools | None:
    if isinstance(values, LongKeys):
        at = np.minimum(np.searchsorted(values.keys, stored, "left"), len(values.keys) - 1)
        equal: Bools = values.keys[at] == stored
        return equal
    if isinstance(values, KeyBloom):
        return may_hold(values.words, hash_longs(stored))
    ranges = ranges_of(values)
    if ranges is None:
        return None
    at = np.minimum(np.searchsorted(ranges.highs, stored, "left"), len(ranges.highs) - 1)
    inside: Bools = (ranges.lows[at] <= stored) & (stored <= ranges.highs[at])
    return inside


def _passing_strings(stored: ByteStrings, values: Values) -> Bools | None:
    if isinstance(values, ByteKeys):
        keys = set(values.keys)
        return np.fromiter((each in keys for each in stored), dtype=np.bool_, count=len(stored))
    if isinstance(values, KeyBloom):
        return may_hold(values.words, hash_strings(stored))
    if isinstance(values, BytePrefix):
        return np.fromiter((each.startswith(values.prefix) for each in stored), dtype=np.bool_, count=len(stored))
    if isinstance(values, ByteSuffix):
        return np.fromiter((each.endswith(values.suffix) for each in stored), dtype=np.bool_, count=len(stored))
    if isinstance(values, BytePart):
        return np.fromiter((values.part in each for each in stored), dtype=np.bool_, count=len(stored))
    if isinstance(values, ByteRange):
        low, high = values.low or b"", values.high
        inside = (low <= each and (high is None or each <= high) for each in stored)
        return np.fromiter(inside, dtype=np.bool_, count=len(stored))
    return None


def load(batches: Sequence[Any], domain: str) -> ValueSets:
    """Value sets out of record batches of a sketch file."""
    column = pa.Table.from_batches(batches)["values"].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    lengths = np.asarray(column.value_lengths().fill_null(0)).astype(np.int64)
    valid = np.asarray(column.is_valid())
    offsets = np.zeros(len(column) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    stored = column.flatten()
    if stored.null_count:
        raise ValueError("a value set holds a null")
    if domain == LONG:
        return ValueSets(offsets, np.asarray(stored).astype(np.int64, copy=False), None, valid)
    return ValueSets(offsets, None, string_column(stored)[0], valid)
