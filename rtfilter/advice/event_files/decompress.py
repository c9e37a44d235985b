"""Event logs as a stream of lines, whatever they were compressed with. What a kill has cut off gives the lines before the cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa

from rtfilter.advice.event_files.log_files import codec_of

CHUNK_BYTES, ZSTD_CHUNK_BYTES = 1 << 20, 1 << 16
# Lines hold whole plans. One with more bytes is read over.
MOST_LINE_BYTES = 64 << 20
READABLE = ("zstd", "lz4")
# The blocks of lz4-java's LZ4BlockOutputStream, which is no frame of lz4's own: a mark, how the block is held and its level in one
# byte, bytes in the file, bytes unpacked, a checksum.
_LZ4_MARK = b"LZ4Block"
_LZ4_HEADER = len(_LZ4_MARK) + 13
_LZ4_RAW, _LZ4_PACKED = 0x10, 0x20
_LZ4_MOST_BLOCK_BYTES = 64 << 20


class CutOffError(Exception):
    """The rest of a file can't be unpacked; the text says why."""


def lines_of(file: Path) -> Iterator[bytes | CutOffError | None]:
    """The file's lines without their ends; None for one that is too long; an error in last place where the file ends too early.

    A last line without an end counts: a writer was killed in it, or has yet to end it.

    Raises:
        OSError: the file can't be read.
    """
    kept = bytearray()
    is_over = False
    try:
        for chunk in _chunks(file):
            begin = 0
            while (end := chunk.find(b"\n", begin)) >= 0:
                kept += chunk[begin:end]
                yield None if is_over or len(kept) > MOST_LINE_BYTES else bytes(kept)
                kept.clear()
                begin, is_over = end + 1, False
            if is_over or len(kept) + len(chunk) - begin > MOST_LINE_BYTES:
                kept.clear()
                is_over = True
            else:
                kept += chunk[begin:]
    except CutOffError as error:
        if kept or is_over:
            yield None if is_over else bytes(kept)
        yield error
        return
    if kept or is_over:
        yield None if is_over else bytes(kept)


def _chunks(file: Path) -> Iterator[bytes]:
    codec = codec_of(file)
    if codec is not None and codec not in READABLE:
        raise CutOffError(f"compressed with {codec}, which can't be read here; {' and '.join(READABLE)} can")
    with open(file, "rb") as source:
        if codec == "zstd":
            yield from _zstd_chunks(source)
        elif codec == "lz4":
            yield from _lz4_chunks(source)
        else:
            while chunk := source.read(CHUNK_BYTES):
                yield chunk


def _zstd_chunks(source: IO[bytes]) -> Iterator[bytes]:
    """At the end of a cut file the reader loses what it has unpacked in that call: that is read again, byte by byte."""
    given = 0
    try:
        with pa.CompressedInputStream(pa.PythonFile(source, mode="r"), "zstd") as stream:
            while chunk := stream.read(ZSTD_CHUNK_BYTES):
                given += len(chunk)
                yield chunk
            return
    except OSError:
        pass
    with open(source.name, "rb") as again, pa.CompressedInputStream(pa.PythonFile(again, mode="r"), "zstd") as stream:
        try:
            while given and (passed := stream.read(min(given, ZSTD_CHUNK_BYTES))):
                given -= len(passed)
            while byte := stream.read(1):
                yield byte
        except OSError as error:
            raise CutOffError("the end is missing, or broken") from error


def _lz4_chunks(source: IO[bytes]) -> Iterator[bytes]:
    codec = pa.Codec("lz4_raw")
    while header := source.read(_LZ4_HEADER):
        if len(header) < _LZ4_HEADER:
            raise CutOffError("the end is missing")
        if not header.startswith(_LZ4_MARK):
            raise CutOffError("a block does not begin as one of lz4 does")
        held = header[len(_LZ4_MARK)] & 0xF0
        packed, unpacked = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        if unpacked > _LZ4_MOST_BLOCK_BYTES or packed > _LZ4_MOST_BLOCK_BYTES or held not in (_LZ4_RAW, _LZ4_PACKED):
            raise CutOffError("a block has an impossible size")
        body = source.read(packed)
        if len(body) < packed:
            raise CutOffError("the end is missing")
        if unpacked:
            yield body if held == _LZ4_RAW else _unpacked(codec, body, unpacked)


def _unpacked(codec: pa.Codec, body: bytes, size: int) -> bytes:
    try:
        return bytes(codec.decompress(body, size, asbytes=True))
    except (OSError, ValueError) as error:
        raise CutOffError("a block can't be unpacked") from error
