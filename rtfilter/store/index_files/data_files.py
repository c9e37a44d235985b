"""Opens the Parquet files of an index: checked against the log, read by row groups, kept within a bound of memory.

They are read, not mapped: a file that is cut off while it is mapped ends the process that looks at it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.file_parts import SparseFile
from rtfilter.store.index_files.index_problems import INDEX_TOO_LARGE, INDEX_UNREACHABLE, IndexProblemError, problem_of
from rtfilter.store.index_files.snapshot import DataFile
from rtfilter.store.index_files.storage import IndexFiles, open_ordinary
from rtfilter.store.parquet.footer_digest import parsed_footer, read_tail
from rtfilter.store.parquet.page_sizes import unpacked_bytes
from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.kinds import Sketch
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_schema

# Our own footers have a few columns and a row group per 4 MiB: some 100 bytes for each column of each.
_LARGEST_FOOTER_BYTES = 2 << 20
_MOST_COLUMNS = 32
# Of one row group, packed and unpacked: one row of ours may have 16 MiB.
MOST_GROUP_BYTES = 32 << 20
DEFAULT_CACHE_BYTES = 128 << 20
# Files of an index that are kept open: a process may have a thousand.
MOST_FILES_OPEN = 256
# What a footer takes in memory, by its size.
_FOOTER_MEMORY = 10
_MOST_FOOTERS_BYTES = 32 << 20


class LoadedBatches:
    """Row groups of sketch files that were used lately; thread-safe."""

    def __init__(self, limit_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[SketchRows, int]] = OrderedDict()
        self._files: OrderedDict[Hashable, SketchFile] = OrderedDict()
        self._footers_bytes = 0
        self.used_bytes = 0

    def file(self, key: Hashable) -> SketchFile | None:
        """A file that was opened lately."""
        with self._lock:
            found = self._files.get(key)
            if found is not None:
                self._files.move_to_end(key)
            return found

    def put_file(self, key: Hashable, file: SketchFile) -> None:
        """Keeps a file open, and lets those go that were used longest ago."""
        with self._lock:
            before = self._files.pop(key, None)
            self._footers_bytes += file.footer_bytes - (0 if before is None else before.footer_bytes)
            self._files[key] = file
            while len(self._files) > MOST_FILES_OPEN or (
                self._footers_bytes * _FOOTER_MEMORY > _MOST_FOOTERS_BYTES and len(self._files) > 1
            ):
                self._footers_bytes -= self._files.popitem(last=False)[1].footer_bytes

    def get(self, key: Hashable) -> SketchRows | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, rows: SketchRows, size_bytes: int) -> None:
        with self._lock:
            if key in self._kept or size_bytes > self._limit_bytes:
                return
            self._kept[key] = (rows, size_bytes)
            self.used_bytes += size_bytes
            while self.used_bytes > self._limit_bytes:
                self.used_bytes -= self._kept.popitem(last=False)[1][1]


class _OpenFile:
    """A descriptor that is closed when nobody has it any more: queries may be at a file that is not kept open."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of an index whose footer agrees with the log. `ends`: for each row group the row behind its last one.

    `source`: the file itself, for what is kept of it. By its name alone one index could pass for another.
    """

    name: str
    source: Hashable
    file: _OpenFile
    size_bytes: int
    footer_bytes: int
    metadata: Any
    schema: Any
    ends: Int64s

    def read(self, group: int) -> Any:
        """A row group as a table. Nothing is unpacked that takes more memory than an index's row group may.

        Raises:
            IndexStorageError: it is damaged, too large, or can't be read just now.
        """
        try:
            chunks = _chunks(self.metadata.row_group(group))
            # Next to each other, in one piece, as Arrow asks for them.
            begin, end = min(at for at, _ in chunks), max(at + count for at, count in chunks)
            _check_size(self.name, max(end - begin, sum(count for _, count in chunks)))
            content = os.pread(self.file.descriptor, end - begin, begin)
            _check_size(self.name, sum(unpacked_bytes(content[at - begin : at - begin + count]) for at, count in chunks))
            source = SparseFile(self.size_bytes, [(begin, content)])
            here = pq.ParquetFile(source, metadata=self.metadata, page_checksum_verification=True)
            return here.read_row_group(group, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _error_of(self.name, "is damaged", error) from error

    def read_groups(self) -> Iterator[Any]:
        """All row groups, one after the other. Raises as `read`."""
        return map(self.read, range(len(self.ends)))

    def read_all(self) -> Any:
        return concatenated(list(self.read_groups()), self.schema)


def _chunks(group: Any) -> list[tuple[int, int]]:
    """Where the columns of a row group are in their file, as offsets and counts. Raises ValueError."""
    columns = [group.column(i) for i in range(group.num_columns)]
    if any(column.dictionary_page_offset for column in columns):
        raise ValueError("it has dictionaries, and no file of an index has")
    chunks = [(column.data_page_offset, column.total_compressed_size) for column in columns]
    if any(begin < 0 or count < 0 for begin, count in chunks):
        raise ValueError("a column is at a place below 0")
    return chunks


def _check_size(name: str, size_bytes: int) -> None:
    if size_bytes > MOST_GROUP_BYTES:
        raise IndexProblemError(
            INDEX_TOO_LARGE,
            f"a row group of {name} would take {size_bytes >> 20} MiB of memory, where one may take {MOST_GROUP_BYTES >> 20}.",
        )


def open_data_file(storage: IndexFiles, file: DataFile, schema: Any) -> OpenedFile:
    """Opens a file of an index.

    Raises:
        IndexStorageError: it is missing, not as the log and docs/index-format.md say, or can't be opened just now.
    """
    path = storage.local_file(file.name)
    try:
        with open_ordinary(path) as opened:
            status = os.fstat(opened.fileno())
            size = status.st_size
            if size != file.bytes:
                raise ValueError(f"it has {size} bytes, the log says {file.bytes}")
            tail = read_tail(opened, size, _LARGEST_FOOTER_BYTES)
            open_file = _OpenFile(os.dup(opened.fileno()))
        metadata = parsed_footer(tail)
        if metadata.num_columns > _MOST_COLUMNS or metadata.num_rows != file.rows:
            raise ValueError(f"{metadata.num_columns} columns and {metadata.num_rows} rows, the log says {file.rows}")
        found = metadata.schema.to_arrow_schema().remove_metadata()
        if found.names != schema.names or [_plain(each.type) for each in found] != [_plain(each.type) for each in schema]:
            raise ValueError("its columns are not those of the format")
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if any(count < 0 for count in counts) or sum(counts) != file.rows:
            raise ValueError("its row groups do not add up")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _error_of(path, "can't be used", error) from error
    source = (path, status.st_dev, status.st_ino, size, status.st_mtime_ns)
    ends = np.cumsum(np.array(counts, dtype=np.int64))
    return OpenedFile(file.name, source, open_file, size, len(tail), metadata, found, ends)


def _error_of(path: str, what: str, error: Exception) -> IndexStorageError:
    """What an error says of a file. Where the system did not give it, that says nothing of what is in it, and may pass."""
    # Arrow's OSErrors of what is in a file have no number.
    if isinstance(error, OSError) and error.errno is not None:
        return IndexProblemError(INDEX_UNREACHABLE, f"can't read {path} of the index: {error.strerror}.")
    return IndexStorageError(f"{path} of the index {what}: {error}.")


def _plain(type_: Any) -> str:
    """A type without the names of list elements, which writers choose differently."""
    return f"list<{type_.value_type}>" if pa.types.is_list(type_) else str(type_)


class SketchFile:
    """A sketch file, read by row groups as they are asked for."""

    def __init__(self, opened: OpenedFile, sketch: Sketch, domain: str, loaded: LoadedBatches) -> None:
        self._opened, self._sketch, self._domain, self._loaded = opened, sketch, domain, loaded
        # Queries share the index, and pyarrow's readers are not made for two threads at once.
        self._lock = threading.Lock()
        self._damaged: dict[int, IndexStorageError] = {}

    @property
    def footer_bytes(self) -> int:
        return self._opened.footer_bytes

    @property
    def ends(self) -> Int64s:
        return self._opened.ends

    def rows(self, group: int) -> SketchRows:
        """The sketches of one row group.

        Raises:
            IndexStorageError: it is damaged.
        """
        key = (self._opened.source, self._sketch, group)
        found = self._loaded.get(key)
        if found is None:
            with self._lock:
                table = self._read(group)
            try:
                found = load_rows(self._sketch, self._domain, table.combine_chunks().to_batches())
            except (pa.ArrowException, KeyError, ValueError, IndexError) as error:
                raise IndexStorageError(f"{self._opened.name} of the index is damaged: {error}.") from error
            # Of rows and nulls, 16 bytes a pack, only four flags are kept.
            self._loaded.put(key, found, table.nbytes - 12 * table.num_rows)
        return found

    def _read(self, group: int) -> Any:
        """A row group. One that is damaged is not read again: that may take as long as reading it."""
        if group in self._damaged:
            raise self._damaged[group]
        try:
            return self._opened.read(group)
        except IndexStorageError as error:
            if problem_of(error).reason != INDEX_UNREACHABLE:
                self._damaged[group] = error
            raise


def open_sketch_file(storage: IndexFiles, file: DataFile, sketch: Sketch, domain: str, loaded: LoadedBatches) -> SketchFile:
    """Opens the file of one sketch. Raises IndexStorageError."""
    return SketchFile(open_data_file(storage, file, sketch_schema(sketch, domain)), sketch, domain, loaded)


def concatenated(tables: Sequence[Any], schema: Any) -> Any:
    """Tables end to end; an empty one for none."""
    return pa.concat_tables(tables) if tables else schema.empty_table()
