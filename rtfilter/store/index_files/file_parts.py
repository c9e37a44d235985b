"""Table files of which a task gets only the parts that it needs, read for it by Spark (HadoopFiles.scala, `parts`)."""

from __future__ import annotations

import errno
import io
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, cast

from rtfilter.store.index_files.sketching import Portion, PortionSketches, TableFile, sketch_opened, unreadable
from rtfilter.store.parquet.footer_digest import pack_starts
from rtfilter.store.parquet.table_footer import table_footer
from rtfilter.store.sketches.kinds import Sketch

# Some readers look a little beyond a column chunk: old writers left the dictionary page's header out of its size.
_BEYOND_CHUNK_BYTES = 100
# One record is one array of the JVM.
MOST_BYTES = 1 << 30

Range = tuple[int, int]


class PartsOfFile(io.RawIOBase):
    """A file that can be read at any place, and nothing else."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__()
        self._size, self._at = size_bytes, 0

    @abstractmethod
    def bytes_at(self, at: int, count: int) -> bytes:
        """`count` bytes from byte `at` on."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        content = self.bytes_at(self._at, max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


class SparseFile(PartsOfFile):
    """A file of which some ranges are here, each as offset and bytes; reading anything else is an error."""

    def __init__(self, size_bytes: int, parts: Sequence[tuple[int, bytes]]) -> None:
        super().__init__(size_bytes)
        self._parts = parts

    def bytes_at(self, at: int, count: int) -> bytes:
        for begin, content in self._parts:
            if begin <= at and at + count <= begin + len(content):
                return content[at - begin : at - begin + count]
        raise OSError(errno.EIO, f"bytes {at} to {at + count} of the file were not fetched")


def ranges_of(portion: Portion, tail: bytes, columns: Iterable[str]) -> list[Range]:
    """What a task has to read for a portion: the tail, and the chunks of these columns in its packs, as offsets and counts.

    Raises:
        ValueError: the footer can't be read without a key, or there is more than a record can hold.
        pa.ArrowException: it can't be understood.
    """
    names = frozenset(columns)
    metadata = table_footer(tail, names).metadata
    tail_at = portion.file.size_bytes - len(tail)
    ranges = [(tail_at, tail_at + len(tail))]
    for pack, start in enumerate(pack_starts(metadata)):
        if portion.begin <= start < portion.end:
            group = metadata.row_group(pack)
            chunks = (group.column(leaf) for leaf in range(group.num_columns))
            ranges += [_range_of(chunk, tail_at) for chunk in chunks if chunk.path_in_schema in names]
    merged = _merged(ranges)
    if sum(end - begin for begin, end in merged) > MOST_BYTES:
        raise ValueError(f"the columns of one part of the file have more than {MOST_BYTES} bytes")
    return [(begin, end - begin) for begin, end in merged]


def _range_of(chunk: Any, tail_at: int) -> Range:
    dictionary, data = chunk.dictionary_page_offset or 0, chunk.data_page_offset
    begin = dictionary if 0 < dictionary < data else data
    return begin, min(begin + chunk.total_compressed_size + _BEYOND_CHUNK_BYTES, tail_at)


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for begin, end in sorted(ranges):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def request_text(portion: Portion, ranges: Sequence[Range]) -> str:
    """The request for a portion, with all that the task must know of it."""
    file = portion.file
    return json.dumps(
        {
            "path": file.path,
            "size_bytes": file.size_bytes,
            "mtime_ms": file.mtime_ms,
            "begin": portion.begin,
            "end": portion.end,
            "ranges": ranges,
        }
    )


def sketch_record(record: bytes, sketches: Sequence[Sketch], types: Mapping[str, str]) -> PortionSketches:
    """What `sketch_portion` does, of the parts that Spark has read for it. Nothing is raised."""
    header_bytes = int.from_bytes(record[:4], "big")
    header = json.loads(record[4 : 4 + header_bytes])
    if "error" in header:
        return unreadable(str(header["error"]))
    parts, at = [], 4 + header_bytes
    for begin, count in header["ranges"]:
        parts.append((begin, record[at : at + count]))
        at += count
    file = TableFile(header["path"], header["size_bytes"], header["mtime_ms"], header["path"])
    after = (header["after"]["bytes"], header["after"]["mtime_ms"])

    def check_unchanged() -> None:
        if after != (file.size_bytes, file.mtime_ms):
            raise ValueError("the file has changed since it was listed")

    try:
        opened = cast(BinaryIO, SparseFile(file.size_bytes, parts))
        return sketch_opened(opened, check_unchanged, Portion(file, header["begin"], header["end"]), sketches, types)
    except Exception as error:  # pyarrow raises many kinds, and one bad file must not end the build
        return unreadable(f"{type(error).__name__}: {error}")
