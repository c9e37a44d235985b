"""The forms of a filled filter: which values a probe key may have.

Values are whole numbers (int64: also dates, timestamps, booleans, short decimals, sortable doubles) or byte strings in the order of
unsigned bytes (also long decimals), both as docs/protocol.md defines them. `keep_nulls`: a null passes too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rtfilter.store.parquet.byte_words import (
    SHORT_WORDS,
    Words,
    are_sorted,
    tied_neighbours,
    widened,
    words_for_many,
    words_of_slices,
)


@dataclass(frozen=True, slots=True)
class EmptyFilter:
    """No key at all: a filled filter that every pack with rows fails, but for nulls if those are kept."""

    keep_nulls: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RangesFilter:
    """Whole numbers of one of these ranges, both ends included: int64, sorted, apart from each other, at least one."""

    lows: npt.NDArray[np.int64]
    highs: npt.NDArray[np.int64]
    keep_nulls: bool = False

    def __post_init__(self) -> None:
        _check_numbers("ranges", self.lows)
        _check_numbers("ranges", self.highs)
        if len(self.lows) != len(self.highs) or bool(np.any(self.lows > self.highs)):
            raise ValueError("a range filter needs a high for each low, and low <= high; no key at all is EmptyFilter")
        if not bool(np.all(self.highs[:-1] < self.lows[1:])):
            raise ValueError("the ranges of a filter must be sorted and must not overlap")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RangesFilter)
            and self.keep_nulls == other.keep_nulls
            and np.array_equal(self.lows, other.lows)
            and np.array_equal(self.highs, other.highs)
        )

    def __hash__(self) -> int:
        return hash((self.lows.tobytes(), self.highs.tobytes(), self.keep_nulls))


@dataclass(frozen=True, slots=True, eq=False)
class SetFilter:
    """Exactly these whole numbers: int64, sorted, at least one. Sets of equal keys are equal."""

    keys: npt.NDArray[np.int64]
    keep_nulls: bool = False

    def __post_init__(self) -> None:
        _check_numbers("a set", self.keys)
        if not bool(np.all(self.keys[:-1] <= self.keys[1:])):
            raise ValueError("the keys of a set filter must be sorted")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetFilter) and self.keep_nulls == other.keep_nulls and np.array_equal(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash((self.keys.tobytes(), self.keep_nulls))


@dataclass(frozen=True, slots=True, eq=False)
class BytesSetFilter:
    """Exactly these byte strings, sorted as unsigned bytes, at least one: n + 1 offsets (int64) into a blob (uint8)."""

    offsets: npt.NDArray[np.int64]
    blob: npt.NDArray[np.uint8]
    keep_nulls: bool = False
    _words: Words = field(init=False, repr=False)

    def __post_init__(self) -> None:
        offsets = self.offsets
        if offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) < 2:
            raise ValueError("a set of byte strings needs int64 offsets, one more than strings; no key at all is EmptyFilter")
        if self.blob.dtype != np.uint8 or self.blob.ndim != 1:
            raise ValueError(
                f"the blob of a set of byte strings must be a row of uint8, not {self.blob.ndim}-dimensional {self.blob.dtype}"
            )
        if offsets[0] < 0 or offsets[-1] > len(self.blob) or bool(np.any(offsets[:-1] > offsets[1:])):
            raise ValueError(f"the offsets of a set of byte strings must rise and stay within the blob's {len(self.blob)} bytes")
        # Frozen for everybody else: the words are made once, here, for the check and for most verdicts.
        object.__setattr__(self, "_words", words_of_slices(offsets, self.blob))
        if not are_sorted(self._words) or any(self[i] > self[i + 1] for i in tied_neighbours(self._words).tolist()):
            raise ValueError("the keys of a set filter must be sorted (as unsigned bytes)")

    def __getitem__(self, i: int) -> bytes:
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()

    @property
    def most_words(self) -> int:
        """Words that each key may take."""
        return words_for_many(len(self.offsets) - 1)

    def words(self, count: int) -> Words:
        """The keys in `count` words."""
        return widened(self._words, count) if count <= SHORT_WORDS else words_of_slices(self.offsets, self.blob, count)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BytesSetFilter)
            and self.keep_nulls == other.keep_nulls
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.blob, other.blob)
        )

    def __hash__(self) -> int:
        return hash((self.offsets.tobytes(), self.blob.tobytes(), self.keep_nulls))


@dataclass(frozen=True, slots=True)
class BytesRangeFilter:
    """Byte strings from `low` to `high`, both included."""

    low: bytes
    high: bytes
    keep_nulls: bool = False

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"a range filter needs low <= high, not {self.low!r} and {self.high!r}; no key at all is EmptyFilter")


NumberFilter: TypeAlias = RangesFilter | SetFilter
BytesFilter: TypeAlias = BytesSetFilter | BytesRangeFilter
KeyFilter: TypeAlias = EmptyFilter | NumberFilter | BytesFilter


def filter_of_keys(keys: npt.NDArray[np.int64], keep_nulls: bool = False) -> EmptyFilter | SetFilter:
    """The filter of exactly these sorted keys."""
    return SetFilter(keys, keep_nulls) if len(keys) else EmptyFilter(keep_nulls)


def filter_of_range(low: int, high: int, keep_nulls: bool = False) -> RangesFilter:
    """The filter of the one range from `low` to `high`, both included."""
    return RangesFilter(np.array([low], dtype=np.int64), np.array([high], dtype=np.int64), keep_nulls)


def _check_numbers(what: str, numbers: npt.NDArray[np.int64]) -> None:
    if numbers.dtype != np.int64 or numbers.ndim != 1 or len(numbers) == 0:
        raise ValueError(f"a filter of {what} needs rows of int64 with at least one key; no key at all is EmptyFilter")
