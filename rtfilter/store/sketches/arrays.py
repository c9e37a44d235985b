"""Arrays that all sketches work on: int64 values, and byte strings end to end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
UInt64s: TypeAlias = npt.NDArray[np.uint64]
UInt32s: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Bools: TypeAlias = npt.NDArray[np.bool_]
Prefixes: TypeAlias = npt.NDArray[np.bytes_]
# Places in arrays: a slice where they are next to each other, which costs no copy.
At: TypeAlias = Int64s | slice

LOWEST = -(2**63)
HIGHEST = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class ByteStrings:
    """Byte strings: string `i` is `blob[offsets[i]:offsets[i + 1]]`."""

    offsets: Int64s
    blob: Bytes

    def __post_init__(self) -> None:
        if len(self.offsets) < 1 or int(self.offsets[0]) < 0 or int(self.offsets[-1]) > len(self.blob):
            raise ValueError("offsets of byte strings need at least one entry, none outside the blob")
        if not bool(np.all(self.offsets[:-1] <= self.offsets[1:])):
            raise ValueError("offsets of byte strings must not fall")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> bytes:
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return (self[i] for i in range(len(self)))

    @property
    def lengths(self) -> Int64s:
        return np.diff(self.offsets)

    def take(self, at: Int64s) -> ByteStrings:
        """The strings at these positions."""
        lengths = self.lengths[at]
        offsets = np.zeros(len(at) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        within = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], lengths)
        return ByteStrings(offsets, self.blob[np.repeat(self.offsets[:-1][at], lengths) + within])

    def prefixes(self, width: int) -> Prefixes:
        """The first `width` bytes of each string, filled up with NUL: comparing them is comparing as unsigned bytes.

        Numpy drops NULs at the end, so "a" and "a\\0" are equal here: callers use this only where equal means "keep".
        """
        count = len(self)
        out = np.zeros((count, width), dtype=np.uint8)
        lengths = self.lengths
        for position in range(min(width, int(lengths.max()) if count else 0)):
            has = np.flatnonzero(lengths > position)
            out[has, position] = self.blob[self.offsets[has] + position]
        prefixes: Prefixes = out.reshape(count * width).view(f"S{width}")
        return prefixes


def byte_strings(values: Iterable[bytes]) -> ByteStrings:
    """Byte strings out of Python's."""
    items = list(values)
    offsets = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return ByteStrings(offsets, np.frombuffer(b"".join(items), dtype=np.uint8))


def little_endian(array: npt.NDArray[Any]) -> bytes:
    """The bytes of an array as files have them."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
