"""Writes a segment: the files that a refresh has read, their packs, and a file for each sketch of each column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.log import FORMAT
from rtfilter.store.index_files.sketching import PortionSketches, TableFile
from rtfilter.store.index_files.snapshot import DataFile, Definition, Segment, domain_of_column
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.parquet.footer_digest import DIGEST_BYTES
from rtfilter.store.sketches.kinds import Bloom, Sketch, sketch_to_dict
from rtfilter.store.sketches.rows import sketch_schema

FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("mtime_ms", pa.int64()),
        ("footer_digest", pa.binary(DIGEST_BYTES)),
        ("first_pack", pa.int64()),
        ("packs", pa.int64()),
    ]
)
PACKS_SCHEMA = pa.schema([("start", pa.int64()), ("rows", pa.int64())])
# A reader loads row groups of sketch files one by one: large enough for speed, small enough to load few.
_ROW_GROUP_BYTES = 4 << 20


class DataWriter:
    """One Parquet file of an index or a star-tree; rows gather until they make a row group. `about`: for people.

    Raises OSError where it can't be written.
    """

    def __init__(self, storage: IndexStorage, schema: Any, about: dict[str, Any], compression: str) -> None:
        self._storage, self._scratch = storage, storage.scratch()
        texts = {f"rtfilter.{key}": str(value) for key, value in {"format": FORMAT, **about}.items()}
        self._writer = parquet_writer(self._scratch, schema.with_metadata(texts), compression)
        self._waiting: list[Any] = []
        self._waiting_bytes = 0
        self._rows = 0

    def add(self, batch: Any) -> None:
        # Large batches are cut, so that no row group is much above its size.
        rows = max(1, batch.num_rows * _ROW_GROUP_BYTES // max(1, batch.nbytes))
        for begin in range(0, batch.num_rows, rows):
            part = batch.slice(begin, rows)
            self._waiting.append(part)
            self._waiting_bytes += part.nbytes
            self._rows += part.num_rows
            if self._waiting_bytes >= _ROW_GROUP_BYTES:
                self._flush()

    def finish(self) -> DataFile:
        """Publishes the file."""
        self._flush()
        self._writer.close()
        size = os.path.getsize(self._scratch)
        return DataFile(self._storage.publish(self._scratch), size, self._rows)

    def abandon(self) -> None:
        """Removes what there is of it."""
        with suppress(OSError):
            self._writer.close()
            os.unlink(self._scratch)

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting, self._waiting_bytes = [], 0


def parquet_writer(where: Any, schema: Any, compression: str) -> Any:
    """Writes a file of an index, to a path or into memory."""
    return pq.ParquetWriter(
        where,
        schema,
        compression=compression,
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
        column_encoding={name: "DELTA_BINARY_PACKED" for name in _number_lists(schema)} or None,
        store_schema=False,
    )


def compression_of(sketch: Sketch) -> str:
    """How the file of a sketch is packed: the bits of a bloom are as good as random."""
    return "none" if isinstance(sketch, Bloom) else "zstd"


def _number_lists(schema: Any) -> list[str]:
    """The leaves of lists of numbers: sorted, so that what is stored is the steps between them."""
    return [
        f"{field.name}.list.element"
        for field in schema
        if pa.types.is_list(field.type) and pa.types.is_int64(field.type.value_type)
    ]


class SegmentWriter:
    """A segment in the making; used as a context, which removes what an error has left unfinished."""

    def __init__(self, storage: IndexStorage, definition: Definition) -> None:
        self._place = storage.place
        self._packs = 0
        self._writers: list[DataWriter] = []
        try:
            self._files = self._writer(storage, FILES_SCHEMA, {"content": "files"}, "zstd")
            self._pack_rows = self._writer(storage, PACKS_SCHEMA, {"content": "packs"}, "zstd")
            self._sketches = [
                self._writer(
                    storage,
                    sketch_schema(sketch, domain_of_column(definition, sketch.column)),
                    {"content": "sketches", "type": definition.types[sketch.column], **sketch_to_dict(sketch)},
                    compression_of(sketch),
                )
                for sketch in definition.sketches
            ]
        except OSError as error:
            raise IndexStorageError(f"the index can't be written to {storage.place}: {error}.") from error

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # Only on errors: after an interrupt or a kill the next vacuum removes it.
        if isinstance(error, Exception):
            self.discard()
        if isinstance(error, OSError):
            raise IndexStorageError(f"the index can't be written to {self._place}: {error}.") from error

    def _writer(self, storage: IndexStorage, schema: Any, about: dict[str, Any], compression: str) -> DataWriter:
        writer = DataWriter(storage, schema, about, compression)
        self._writers.append(writer)
        return writer

    def add_file(self, file: TableFile, stored_path: str, portions: Sequence[PortionSketches]) -> None:
        """Adds a file by the sketches of all its portions, in order; none of them has a problem."""
        packs = sum(len(each.starts) for each in portions)
        row = (stored_path, file.size_bytes, file.mtime_ms, portions[0].digest, self._packs, packs)
        self.add_batches(
            pa.RecordBatch.from_pydict({name: [value] for name, value in zip(FILES_SCHEMA.names, row, strict=True)}, FILES_SCHEMA),
            pa.RecordBatch.from_pydict(
                {
                    "start": [start for each in portions for start in each.starts],
                    "rows": [rows for each in portions for rows in each.rows],
                },
                PACKS_SCHEMA,
            ),
            [[each.batches[i] for each in portions] for i in range(len(self._sketches))],
        )

    def add_batches(self, files: Any, packs: Any, sketches: Sequence[Iterable[Any]]) -> None:
        """Adds rows as they are; `first_pack` of the files counts from the beginning of this segment."""
        self._packs += packs.num_rows
        self._files.add(files)
        self._pack_rows.add(packs)
        for writer, batches in zip(self._sketches, sketches, strict=True):
            for batch in batches:
                writer.add(batch)

    @property
    def packs(self) -> int:
        return self._packs

    def discard(self) -> None:
        """Removes what is not published."""
        for writer in self._writers:
            writer.abandon()

    def finish(self) -> Segment:
        """Publishes all files. Raises IndexStorageError."""
        finished = [writer.finish() for writer in self._writers]
        self._writers = []
        return Segment(finished[0], finished[1], tuple(finished[2:]))
