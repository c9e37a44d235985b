"""What a filter or predicate asks of one column: which values let a row through, and whether a null does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rtfilter.store.sketches.arrays import HIGHEST, LOWEST, Bools, Bytes, ByteStrings, Int64s, UInt32s, UInt64s, byte_strings
from rtfilter.store.sketches.hashing import hash_longs, hash_strings

# A range of so few values may be asked value by value.
MOST_ENUMERATED = 256


@dataclass(frozen=True, slots=True)
class NoValue:
    """No value at all; with nulls let through this is IS NULL."""


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Every value: IS NOT NULL."""


@dataclass(frozen=True, slots=True, eq=False)
class LongRanges:
    """Whole numbers within one of these ranges: both ends included, sorted, disjoint, at least one."""

    lows: Int64s
    highs: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class LongKeys:
    """Exactly these whole numbers: sorted, distinct, at least one."""

    keys: Int64s
    _hashes: list[UInt64s] = field(default_factory=list)

    def hashes(self) -> UInt64s:
        if not self._hashes:
            self._hashes.append(hash_longs(self.keys))
        return self._hashes[0]


@dataclass(frozen=True, slots=True, eq=False)
class ByteKeys:
    """Exactly these byte strings: sorted as unsigned bytes, distinct, at least one."""

    keys: ByteStrings
    _hashes: list[UInt64s] = field(default_factory=list)

    def hashes(self) -> UInt64s:
        if not self._hashes:
            self._hashes.append(hash_strings(self.keys))
        return self._hashes[0]


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Byte strings from `low` to `high`, both included; None is no bound."""

    low: bytes | None
    high: bytes | None


@dataclass(frozen=True, slots=True)
class BytePrefix:
    """Byte strings that begin with `prefix` (one byte or more)."""

    prefix: bytes


@dataclass(frozen=True, slots=True, eq=False)
class KeyBloom:
    """Keys known by a split-block bloom filter only (8 words a block)."""

    words: UInt32s


@dataclass(frozen=True, slots=True, eq=False)
class KeyCMap:
    """Keys known by a character map only: common prefix, lengths behind it (bit 63: 63 or more), bytes seen at 64 places."""

    prefix: bytes
    lengths: int
    seen: Bytes


@dataclass(frozen=True, slots=True, eq=False)
class KeyHistogram:
    """Keys known by a histogram only: bucket `i` begins at low + i * width."""

    low: int
    width: int
    buckets: Bools


Values: TypeAlias = (
    NoValue | AnyValue | LongRanges | LongKeys | ByteKeys | ByteRange | BytePrefix | KeyBloom | KeyCMap | KeyHistogram
)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A test of one column. `exact`: `values` are those that pass, not more; only then a pack can be accepted as a whole."""

    values: Values
    nulls: bool = False
    exact: bool = True


def long_keys(values: Iterable[int]) -> LongKeys | NoValue:
    """The test for these whole numbers; those outside int64 equal nothing."""
    keys = sorted({value for value in values if LOWEST <= value <= HIGHEST})
    return LongKeys(np.array(keys, dtype=np.int64)) if keys else NoValue()


def byte_keys(values: Iterable[bytes]) -> ByteKeys | NoValue:
    """The test for these byte strings."""
    keys = sorted(set(values))
    return ByteKeys(byte_strings(keys)) if keys else NoValue()


def long_ranges(ranges: Iterable[tuple[int, int]]) -> LongRanges | NoValue:
    """The test for these ranges, joined where they meet; empty ones (low above high) are dropped."""
    joined: list[list[int]] = []
    for low, high in sorted((max(low, LOWEST), min(high, HIGHEST)) for low, high in ranges if low <= high):
        if low > high:
            continue
        if joined and low <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    if not joined:
        return NoValue()
    ends = np.array(joined, dtype=np.int64)
    return LongRanges(np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))


def enumerated(values: Values) -> Values:
    """Ranges of few whole numbers as keys; everything else as it is."""
    if not isinstance(values, LongRanges) or len(values.lows) > MOST_ENUMERATED:
        return values
    total = sum(high - low + 1 for low, high in zip(values.lows.tolist(), values.highs.tolist(), strict=True))
    if total > MOST_ENUMERATED:
        return values
    spans = zip(values.lows.tolist(), values.highs.tolist(), strict=True)
    return LongKeys(np.array([value for low, high in spans for value in range(low, high + 1)], dtype=np.int64))


def ranges_of(values: Values) -> LongRanges | None:
    """Ranges that hold all of these whole numbers; None where there is nothing to say."""
    if isinstance(values, LongRanges):
        return values
    if isinstance(values, KeyHistogram):
        at = np.flatnonzero(values.buckets).tolist()
        found = long_ranges((values.low + i * values.width, values.low + (i + 1) * values.width - 1) for i in at)
        return found if isinstance(found, LongRanges) else None
    return None
