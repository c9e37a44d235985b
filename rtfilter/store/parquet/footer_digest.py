"""What identifies a table file and its packs: the digest of its footer, and where each row group starts."""

from __future__ import annotations

import hashlib
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

DIGEST_BYTES = 16
END_BYTES = 8
_MAGIC = b"PAR1"
LARGEST_FOOTER_BYTES = 256 << 20


class SignedFooterError(ValueError):
    """A footer that ends in a signature."""


def read_tail(file: BinaryIO, size_bytes: int, most_bytes: int = LARGEST_FOOTER_BYTES) -> bytes:
    """A Parquet file's footer with its length and the magic word.

    Raises:
        ValueError: it has none, or none that can be read without a key.
        OSError: the file can't be read.
    """
    if size_bytes < END_BYTES:
        raise ValueError("too short for a Parquet file")
    file.seek(size_bytes - END_BYTES)
    end = file.read(END_BYTES)
    footer_bytes = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or footer_bytes + END_BYTES > min(size_bytes, most_bytes):
        raise ValueError("not a Parquet file with a plain footer")
    file.seek(size_bytes - END_BYTES - footer_bytes)
    tail = file.read(footer_bytes + END_BYTES)
    if len(tail) != footer_bytes + END_BYTES:
        raise ValueError("the file was cut off while it was read")
    return tail


def footer_digest(tail: bytes) -> bytes:
    """The first 16 bytes of the SHA-256 of a file's tail (footer, length, magic word)."""
    return hashlib.sha256(tail).digest()[:DIGEST_BYTES]


def parsed_footer(tail: bytes) -> Any:
    """pyarrow's metadata of a tail.

    Raises:
        SignedFooterError: its columns may be encrypted; pyarrow aborts the process on such a column.
        pa.ArrowException: it can't be understood.
    """
    metadata = pq.read_metadata(pa.BufferReader(tail))
    if metadata.serialized_size != len(tail) - END_BYTES:
        raise SignedFooterError("the footer is signed (columns may be encrypted), or damaged")
    return metadata


def pack_starts(metadata: Any) -> list[int]:
    """Where each row group starts, as parquet-java counts: at the dictionary page, if one is before the data, else the data.

    Raises:
        ValueError: row groups can't be told apart by it everywhere: two start at one byte, or some, but not all, say that their
            dictionary is at byte 0, by which parquet-java looks for them where it is asked for offsets.
    """
    firsts = [metadata.row_group(i).column(0) for i in range(metadata.num_row_groups)]
    if 0 < sum(first.dictionary_page_offset == 0 for first in firsts) < len(firsts):
        raise ValueError("some row groups say that their dictionary is at byte 0")
    starts = [_start(first.dictionary_page_offset or 0, first.data_page_offset) for first in firsts]
    if len(set(starts)) != len(starts):
        raise ValueError("two row groups start at the same byte")
    return starts


def _start(dictionary: int, data: int) -> int:
    return dictionary if 0 < dictionary < data else data
