"""Opens the Parquet files of an index: checked against the log, read by row groups, kept within a bound of memory.

They are read, not mapped: a file that is cut off while it is mapped ends the process that looks at it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_use import INDEX_UNREACHABLE, IndexProblemError
from rtfilter.store.packindex.footer import parsed_footer, read_tail
from rtfilter.store.packindex.snapshot import DataFile
from rtfilter.store.packindex.storage import IndexFiles, open_ordinary
from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.kinds import Sketch
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_schema

# Our own footers have a few columns and a row group per 4 MiB.
_LARGEST_FOOTER_BYTES = 64 << 20
_MOST_COLUMNS = 32
DEFAULT_CACHE_BYTES = 128 << 20


class LoadedBatches:
    """Row groups of sketch files that were used lately; thread-safe."""

    def __init__(self, limit_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[SketchRows, int]] = OrderedDict()
        self.used_bytes = 0

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


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of an index whose footer agrees with the log. `ends`: for each row group the row behind its last one.

    `source`: the file itself, for what is kept of it. By its name alone one index could pass for another.
    """

    name: str
    source: Hashable
    parquet: Any
    ends: Int64s

    def read(self, group: int) -> Any:
        """A row group as a table.

        Raises:
            IndexStorageError: it is damaged, or can't be read just now.
        """
        try:
            return self.parquet.read_row_group(group, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _error_of(self.name, "is damaged", error) from error

    def read_all(self) -> Any:
        groups = [self.read(group) for group in range(len(self.ends))]
        return pa.concat_tables(groups) if groups else self.parquet.schema_arrow.empty_table()


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
            tail = read_tail(opened, size)
        if len(tail) > _LARGEST_FOOTER_BYTES:
            raise ValueError(f"a footer of {len(tail)} bytes")
        metadata = parsed_footer(tail)
        if metadata.num_columns > _MOST_COLUMNS or metadata.num_rows != file.rows:
            raise ValueError(f"{metadata.num_columns} columns and {metadata.num_rows} rows, the log says {file.rows}")
        parquet = pq.ParquetFile(path, metadata=metadata, page_checksum_verification=True)
        found = parquet.schema_arrow.remove_metadata()
        if found.names != schema.names or [_plain(each.type) for each in found] != [_plain(each.type) for each in schema]:
            raise ValueError("its columns are not those of the format")
        counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if any(count < 0 for count in counts) or sum(counts) != file.rows:
            raise ValueError("its row groups do not add up")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _error_of(path, "can't be used", error) from error
    source = (path, status.st_dev, status.st_ino, size, status.st_mtime_ns)
    return OpenedFile(file.name, source, parquet, np.cumsum(np.array(counts, dtype=np.int64)))


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
                table = self._opened.read(group)
            try:
                found = load_rows(self._sketch, self._domain, table.combine_chunks().to_batches())
            except (pa.ArrowException, KeyError, ValueError, IndexError) as error:
                raise IndexStorageError(f"{self._opened.name} of the index is damaged: {error}.") from error
            # Of rows and nulls, 16 bytes a pack, only four flags are kept.
            self._loaded.put(key, found, table.nbytes - 12 * table.num_rows)
        return found


def open_sketch_file(storage: IndexFiles, file: DataFile, sketch: Sketch, domain: str, loaded: LoadedBatches) -> SketchFile:
    """Opens the file of one sketch. Raises IndexStorageError."""
    return SketchFile(open_data_file(storage, file, sketch_schema(sketch, domain)), sketch, domain, loaded)


def concatenated(tables: Sequence[Any], schema: Any) -> Any:
    """Tables end to end; an empty one for none."""
    return pa.concat_tables(tables) if tables else schema.empty_table()
