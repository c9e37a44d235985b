"""Named arrays in one file: any of them is read without the others, and none is believed that is not as it was written.

8 bytes `RTFARR01`, the header's length (8 bytes, little-endian), the header (JSON), the arrays one after the other. The header has
for each array its type, number of elements, first byte behind the header, and digest; a file is named by its header's digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

MAGIC = b"RTFARR01"
DIGEST_BYTES = 16
LARGEST_HEADER_BYTES = 64 << 20
_TYPES = frozenset({"|b1", "|u1", "<i4", "<i8", "<u4", "<u8"})


class DamagedFileError(ValueError):
    """A file that is not as it was written."""


@dataclass(frozen=True, slots=True)
class PackedArrays:
    """What goes into a file: its parts in order, and the digest of its header."""

    digest: str
    parts: tuple[bytes, ...]


def packed(facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> PackedArrays:
    """The file of these arrays; `facts` is any JSON that goes with them."""
    described: dict[str, list[Any]] = {}
    parts = []
    at = 0
    for name, array in arrays.items():
        assert array.dtype.str in _TYPES, f"{name} is an array of {array.dtype.str}"
        part = np.ascontiguousarray(array).tobytes()
        described[name] = [array.dtype.str, len(array), at, _digest(part)]
        parts.append(part)
        at += len(part)
    header = json.dumps({"facts": facts, "arrays": described}).encode()
    return PackedArrays(_digest(header), (MAGIC, len(header).to_bytes(8, "little"), header, *parts))


class ArrayFile:
    """An open file of arrays; whoever has opened it closes it."""

    def __init__(self, file: BinaryIO, digest: str) -> None:
        """`digest`: the one that its header must have. Raises DamagedFileError, OSError."""
        self._file = file
        begin = file.read(16)
        length = int.from_bytes(begin[8:], "little")
        if begin[:8] != MAGIC or not 0 < length <= LARGEST_HEADER_BYTES:
            raise DamagedFileError("it does not begin as such files do")
        header = file.read(length)
        if _digest(header) != digest:
            raise DamagedFileError("its header is not as it was written")
        content = json.loads(header)
        self.facts: dict[str, Any] = content["facts"]
        self._arrays: dict[str, list[Any]] = content["arrays"]
        self._begin = 16 + length

    def read(self, name: str) -> npt.NDArray[Any]:
        """An array by its name. Raises DamagedFileError, OSError."""
        try:
            type, count, at, digest = self._arrays[name]
        except KeyError:
            raise DamagedFileError(f"it has no array {name}") from None
        self._file.seek(self._begin + at)
        part = self._file.read(count * np.dtype(type).itemsize)
        if _digest(part) != digest:
            raise DamagedFileError(f"its array {name} is not as it was written")
        return np.frombuffer(part, dtype=type)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
