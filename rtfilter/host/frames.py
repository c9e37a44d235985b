"""Frames of docs/protocol.md: two big-endian int32 lengths, a JSON object, a binary body."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rtfilter.errors import ProtocolError

PROTOCOL = 3
LARGEST_JSON_BYTES = 256 << 20
LARGEST_BODY_BYTES = 1 << 30
_HEADER = struct.Struct(">ii")


@dataclass(frozen=True)
class Frame:
    """One message: its JSON object and its binary body."""

    json: dict[str, Any]
    body: bytes = b""

    def int64(self, part: dict[str, int]) -> npt.NDArray[np.int64]:
        """The int64 array at a `{"at", "count"}` part of the body, without a copy."""
        return np.frombuffer(self.body, dtype="<i8", count=part["count"], offset=part["at"])

    def raw(self, part: dict[str, int]) -> bytes:
        return self.body[part["at"] : part["at"] + part["count"]]


@dataclass
class BodyWriter:
    """Collects arrays for a body and tells where each one lies; add wide ones first, so that all are aligned."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, array: npt.NDArray[Any]) -> dict[str, int]:
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        part = {"at": self.size, "count": len(array)}
        self.parts.append(data)
        self.size += len(data)
        return part

    def bytes(self) -> bytes:
        return b"".join(self.parts)


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next frame, or None at the end of input.

    Raises:
        ProtocolError: half a frame, lengths out of bounds, or JSON that is no object.
    """
    header = _read_exactly(stream, _HEADER.size, may_end=True)
    if header is None:
        return None
    json_bytes, body_bytes = _HEADER.unpack(header)
    if not 0 < json_bytes <= LARGEST_JSON_BYTES or not 0 <= body_bytes <= LARGEST_BODY_BYTES:
        raise ProtocolError(f"a frame of {json_bytes} and {body_bytes} bytes is out of bounds")
    text = _read_exactly(stream, json_bytes)
    body = _read_exactly(stream, body_bytes)
    try:
        message = json.loads(text or b"")
    except (ValueError, RecursionError) as e:
        raise ProtocolError(f"a frame's JSON can't be read: {e}") from e
    if not isinstance(message, dict):
        raise ProtocolError(f"a frame's JSON is no object but {type(message).__name__}")
    return Frame(message, body or b"")


def frame_bytes(message: dict[str, Any], body: bytes | Sequence[bytes] = b"") -> list[bytes]:
    """One frame in parts.

    Raises:
        TypeError, ValueError: the message is no JSON.
    """
    parts = [body] if isinstance(body, bytes) else list(body)
    # The bridge takes NaN for the end of the host.
    text = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return [_HEADER.pack(len(text), sum(map(len, parts))) + text, *parts]


def write_frame(stream: BinaryIO, message: dict[str, Any], body: bytes | Sequence[bytes] = b"") -> None:
    """Writes one frame and flushes."""
    write_parts(stream, frame_bytes(message, body))


def write_parts(stream: BinaryIO, parts: Sequence[bytes]) -> None:
    """Writes what `frame_bytes` made and flushes."""
    for part in parts:
        stream.write(part)
    stream.flush()


def _read_exactly(stream: BinaryIO, size: int, may_end: bool = False) -> bytes | None:
    data = stream.read(size)
    if len(data) == size:
        return data
    if may_end and not data:
        return None
    raise ProtocolError(f"the stream ended inside a frame ({len(data)} of {size} bytes)")
