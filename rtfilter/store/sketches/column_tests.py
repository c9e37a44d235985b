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


@dataclass(frozen=True, slots=True)
class ByteSuffix:
    """Byte strings that end with `suffix` (one byte or more)."""

    suffix: bytes


@dataclass(frozen=True, slots=True)
class BytePart:
    """Byte strings in which `part` (one byte or more) stands somewhere."""

    part: bytes


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
    NoValue
    | AnyValue
    | LongRanges
    | LongKeys
    | ByteKeys
    | ByteRange
    | BytePrefix
    | ByteSuffix
    | BytePart
    | KeyBloom
    | KeyCMap
    | KeyHistogram
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


def intersection(one: ValueTest, other: ValueTest) -> ValueTest | None:
    """The test that a row passes if it passes both; None where it has no form of its own."""
    values = _common(one.values, other.values)
    return None if values is None else ValueTest(values, one.nulls and other.nulls, one.exact and other.exact)


def _common(one: Values, other: Values) -> Values | None:
    if isinstance(one, NoValue) or isinstance(other, NoValue):
        return NoValue()
    if isinstance(one, AnyValue) or isinstance(other, AnyValue):
        return other if isinstance(one, AnyValue) else one
    if isinstance(other, LongKeys | ByteKeys) and not isinstance(one, LongKeys | ByteKeys):
        one, other = other, one
    if isinstance(one, LongKeys) and isinstance(other, LongKeys | LongRanges):
        lows, highs = (other.keys, other.keys) if isinstance(other, LongKeys) else (other.lows, other.highs)
        at = np.minimum(np.searchsorted(highs, one.keys, "left"), len(highs) - 1)
        return long_keys(one.keys[(lows[at] <= one.keys) & (one.keys <= highs[at])].tolist())
    if isinstance(one, LongRanges) and isinstance(other, LongRanges):
        return _common_ranges(one, other)
    if isinstance(one, ByteKeys) and isinstance(other, ByteKeys):
        return byte_keys(set(one.keys) & set(other.keys))
    if isinstance(one, ByteKeys):
        passes = [_passes(key, other) for key in one.keys]
        return None if None in passes else byte_keys(key for key, passed in zip(one.keys, passes, strict=True) if passed)
    if isinstance(one, ByteRange) and isinstance(other, ByteRange):
        low = max(one.low or b"", other.low or b"")
        highs_set = [high for high in (one.high, other.high) if high is not None]
        high = min(highs_set) if highs_set else None
        return NoValue() if high is not None and low > high else ByteRange(low, high)
    return None


def _common_ranges(one: LongRanges, other: LongRanges) -> LongRanges | NoValue:
    """Both sorted and disjoint: two pointers."""
    found, i, j = [], 0, 0
    while i < len(one.lows) and j < len(other.lows):
        found.append((max(int(one.lows[i]), int(other.lows[j])), min(int(one.highs[i]), int(other.highs[j]))))
        if one.highs[i] < other.highs[j]:
            i += 1
        else:
            j += 1
    return long_ranges(found)


def _passes(key: bytes, values: Values) -> bool | None:
    """Whether one string passes a test; None where that can't be told."""
    if isinstance(values, ByteRange):
        return (values.low is None or values.low <= key) and (values.high is None or key <= values.high)
    if isinstance(values, BytePrefix):
        return key.startswith(values.prefix)
    if isinstance(values, ByteSuffix):
        return key.endswith(values.suffix)
    return values.part in key if isinstance(values, BytePart) else None


def enumerated(values: Values) -> Values:
    """Ranges of few whole numbers as keys; everything else as it is."""
    if not isinstance(values, LongRanges) or len(values.lows) > MOST_ENUMERATED:
        return values
    total = sum(high - low + 1 for low, high in zip(values.lows.tolist(), values.highs.tolist(), strict=True))
    if total > MOST_ENUMERATED:
        return values
    spans = zip(values.lows.tolist(), values.highs.tolist(), strict=True)
    return LongKeys(np.array([value for low, high in spans for value in range(low, high + 1)], dtype=np.int64))


def key_count(values: Values) -> int:
    """How many keys or ranges there are to be asked about, one at least."""
    if isinstance(values, LongRanges):
        return len(values.lows)
    return max(1, len(values.keys)) if isinstance(values, LongKeys | ByteKeys) else 1


def ranges_of(values: Values) -> LongRanges | None:
    """Ranges that hold all of these whole numbers; None where there is nothing to say."""
    if isinstance(values, LongRanges):
        return values
    if isinstance(values, KeyHistogram):
        at = np.flatnonzero(values.buckets).tolist()
        found = long_ranges((values.low + i * values.width, values.low + (i + 1) * values.width - 1) for i in at)
        return found if isinstance(found, LongRanges) else None
    return None
