"""A tree's files: the table files that it is of, its rows, its nodes, and the values of its dimensions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.errors import IndexStorageError
from rtfilter.star_tree.conditions import Dimension
from rtfilter.star_tree.groups import BuiltTree, Groups
from rtfilter.star_tree.node_check import checked_nodes
from rtfilter.star_tree.row_types import rows_schema
from rtfilter.star_tree.tree import Nodes
from rtfilter.star_tree.tree_table import ROW, STARS
from rtfilter.store.index_files.data_files import open_data_file
from rtfilter.store.index_files.log import FORMAT
from rtfilter.store.index_files.segments import FILES_SCHEMA, DataWriter
from rtfilter.store.index_files.snapshot import DataFile
from rtfilter.store.index_files.storage import IndexFiles, IndexStorage
from rtfilter.store.index_files.tree_measures import SKETCH_FUNCTIONS, measure_parts
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment
from rtfilter.store.sketches.domain import LONG, domain_of

NODES_SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("code", pa.int32()),
        ("is_star", pa.bool_()),
        ("row_from", pa.int64()),
        ("row_to", pa.int64()),
        ("child_from", pa.int64()),
        ("child_to", pa.int64()),
        ("own_row", pa.int64()),
    ]
)
VALUES_SCHEMA = pa.schema([("dimension", pa.int32()), ("long", pa.int64()), ("bytes", pa.binary())])
# As the packs of a well written table are to a query: what a query reads at least.
ROW_GROUP_ROWS = 4_096
PAGE_ROWS = 512
PAGE_BYTES = 8 << 10
FILE_ROWS = 1 << 22
# Rows that are in memory at once; of whole row groups.
WRITTEN_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class CoveredFile:
    """A table file whose rows are in a segment, as it was then. `path` as `stored_path` has it."""

    path: str
    size_bytes: int
    mtime_ms: int
    digest: bytes
    packs: int


@dataclass(frozen=True, slots=True)
class OpenedTree:
    """What the walk through a segment's tree needs.

    Attributes:
        sizes: How many codes each dimension has.
        rows_files: The files with the rows, in the order in which these are numbered.
    """

    nodes: Nodes
    sizes: tuple[int, ...]
    dimensions: tuple[Dimension, ...]
    rows_files: tuple[DataFile, ...]

    @property
    def row_counts(self) -> tuple[int, ...]:
        """The rows of each of the rows files."""
        return tuple(file.rows for file in self.rows_files)


def write_segment(
    storage: IndexStorage, definition: TreeDefinition, built: BuiltTree, base: Groups, files: Sequence[CoveredFile]
) -> TreeSegment:
    """Publishes a tree's files; nobody sees them before a log entry names them.

    Raises:
        IndexStorageError: they can't be written.
    """
    listed = [(file.path, file.size_bytes, file.mtime_ms, file.digest, 0, file.packs) for file in files]
    columns = zip(*listed, strict=True) if listed else [()] * len(FILES_SCHEMA)
    file_rows = pa.RecordBatch.from_arrays(
        [pa.array(list(column), field.type) for column, field in zip(columns, FILES_SCHEMA, strict=True)], schema=FILES_SCHEMA
    )
    return TreeSegment(
        _written(storage, "files", file_rows),
        tuple(_written_rows(storage, definition, built.tables())),
        _written(storage, "nodes", pa.RecordBatch.from_arrays(_node_arrays(built.nodes), schema=NODES_SCHEMA)),
        _written(storage, "values", _values(built.dimensions)),
        base.table_rows,
        base.largest,
        built.nullable,
    )


def _written(storage: IndexStorage, content: str, batch: Any) -> DataFile:
    with _told(storage):
        writer = DataWriter(storage, batch.schema, {"content": content}, "zstd")
        try:
            writer.add(batch)
            return writer.finish()
        except Exception:
            writer.abandon()
            raise


def _node_arrays(nodes: Nodes) -> list[Any]:
    return [pa.array(getattr(nodes, field.name), field.type) for field in NODES_SCHEMA]


def _values(dimensions: Sequence[Dimension]) -> Any:
    numbers, longs, texts = [], [], []
    for number, dimension in enumerate(dimensions):
        count, is_long = len(dimension.keys), domain_of(dimension.type) == LONG
        keys = pa.array(dimension.keys, pa.int64() if is_long else pa.binary())
        keys = pa.concat_arrays([keys, pa.nulls(int(dimension.has_null), keys.type)])
        numbers.append(np.full(count + dimension.has_null, number, np.int32))
        longs.append(keys if is_long else pa.nulls(len(keys), pa.int64()))
        texts.append(pa.nulls(len(keys), pa.binary()) if is_long else keys)
    columns = [pa.array(np.concatenate(numbers)), pa.concat_arrays(longs), pa.concat_arrays(texts)]
    return pa.RecordBatch.from_arrays(columns, schema=VALUES_SCHEMA)


def _written_rows(storage: IndexStorage, definition: TreeDefinition, tables: Iterable[Any]) -> Iterator[DataFile]:
    """Publishes the files with the rows."""
    size = min(WRITTEN_ROWS, FILE_ROWS)
    cut = _cut(tables, size)
    for first in cut:
        yield _write_rows(storage, definition, chain([first], islice(cut, FILE_ROWS // size - 1)))


def _cut(tables: Iterable[Any], size: int) -> Iterator[Any]:
    """The rows of tables in tables of so many, the last one perhaps fewer."""
    waiting: list[Any] = []
    for table in filter(len, tables):
        waiting.append(table)
        if sum(map(len, waiting)) < size:
            continue
        # Pages are cut where chunks are.
        whole = pa.concat_tables(waiting).combine_chunks() if len(waiting) > 1 else table
        most = len(whole) // size * size
        yield from (whole.slice(at, size) for at in range(0, most, size))
        waiting = [whole.slice(most)] if most < len(whole) else []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks() if len(waiting) > 1 else waiting[0]


def _write_rows(storage: IndexStorage, definition: TreeDefinition, tables: Iterable[Any]) -> DataFile:
    with _told(storage):
        scratch = storage.scratch()
        try:
            rows = _write_parquet(scratch, definition, tables)
            size = os.path.getsize(scratch)
            return DataFile(storage.publish(scratch), size, rows)
        except Exception:
            with suppress(OSError):
                os.unlink(scratch)
            raise


def rows_bytes(definition: TreeDefinition, rows: Any) -> int:
    """How large a file with these rows would be."""
    where = pa.BufferOutputStream()
    _write_parquet(where, definition, [rows])
    return int(where.getvalue().size)


def _write_parquet(where: Any, definition: TreeDefinition, tables: Iterable[Any]) -> int:
    """Gives the number of rows."""
    rows, begun = 0, None
    try:
        for table in tables:
            plain = table.cast(rows_schema(definition, table.column_names))
            begun = begun or _parquet_writer(where, plain.schema)
            begun.write_table(plain, row_group_size=ROW_GROUP_ROWS)
            rows += len(plain)
    finally:
        if begun is not None:
            begun.close()
    return rows


def _parquet_writer(where: Any, schema: Any) -> Any:
    sketches = {name for name in schema.names if measure_parts(name)[0] in SKETCH_FUNCTIONS}
    # Spark takes dates and times of its own files as they are, and those of others as a session says.
    about = {"rtfilter.format": str(FORMAT), "rtfilter.content": "rows", "org.apache.spark.version": "4.0.0"}
    return pq.ParquetWriter(
        where,
        schema.with_metadata(about),
        compression="zstd",
        use_dictionary=[name for name in schema.names if name in (STARS, "count") or _is_dimension(name)],
        column_encoding={ROW: "DELTA_BINARY_PACKED"},
        # Of sketches there is no least one.
        write_statistics=[name for name in schema.names if name not in sketches] if sketches else True,
        write_page_index=True,
        write_page_checksum=True,
        write_batch_size=PAGE_ROWS,
        data_page_size=PAGE_BYTES,
        store_schema=False,
    )


def _is_dimension(name: str) -> bool:
    return name.startswith("d") and name[1:].isdecimal()


@contextmanager
def _told(storage: IndexStorage) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexStorageError(f"the star-tree can't be written to {storage.place}: {error}.") from error


def open_segment(storage: IndexFiles, definition: TreeDefinition, segment: TreeSegment) -> OpenedTree:
    """The nodes and values of a segment, checked; its rows are not read.

    Raises:
        IndexStorageError: a file is missing or damaged; the text names it.
    """
    with _damage_told(segment.values):
        table = open_data_file(storage, segment.values, VALUES_SCHEMA).read_all()
        dimensions = tuple(_dimensions(table, definition))
    with _damage_told(segment.nodes):
        table = open_data_file(storage, segment.nodes, NODES_SCHEMA).read_all()
        if any(column.null_count for column in table.columns):
            raise ValueError("something of a node is missing")
        nodes = Nodes(**{name: table.column(name).to_numpy() for name in NODES_SCHEMA.names})
        sizes = tuple(dimension.size for dimension in dimensions)
        checked_nodes(nodes, sizes, segment.tree_rows)
    return OpenedTree(nodes, sizes, dimensions, segment.rows)


def covered_files(storage: IndexFiles, segment: TreeSegment) -> tuple[CoveredFile, ...]:
    """The table files that a segment is of. Raises IndexStorageError."""
    with _damage_told(segment.files):
        table = open_data_file(storage, segment.files, FILES_SCHEMA).read_all()
        if any(column.null_count for column in table.columns):
            raise ValueError("something of a file is missing")
        names = ("path", "size_bytes", "mtime_ms", "footer_digest", "packs")
        found = tuple(map(CoveredFile, *(table.column(name).to_pylist() for name in names)))
        if len({file.path for file in found}) != len(found):
            raise ValueError("a file is there twice")
    return found


@contextmanager
def _damage_told(file: DataFile) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError, TypeError, UnicodeDecodeError) as error:
        raise IndexStorageError(f"{file.name} of the star-tree is damaged: {error}.") from error


def _dimensions(table: Any, definition: TreeDefinition) -> Iterator[Dimension]:
    """Raises ValueError: values are missing, not in order, or of another kind than the dimension's."""
    columns: Mapping[str, Any] = {name: table.column(name).combine_chunks() for name in VALUES_SCHEMA.names}
    numbers = columns["dimension"].to_numpy(zero_copy_only=False)
    count = len(definition.dimensions)
    if columns["dimension"].null_count or (len(numbers) and (numbers.min() < 0 or numbers.max() >= count)):
        raise ValueError("there are values of no dimension")
    if bool((numbers[1:] < numbers[:-1]).any()):
        raise ValueError("values are not in the order of dimensions")
    for number, name in enumerate(definition.dimensions):
        begin, end = np.searchsorted(numbers, [number, number + 1]).tolist()
        is_long = domain_of(definition.types[name]) == LONG
        keys, other = (columns[each].slice(begin, end - begin) for each in (("long", "bytes") if is_long else ("bytes", "long")))
        nulls = keys.null_count
        if other.null_count != len(other) or nulls > 1 or (nulls and keys[len(keys) - 1].is_valid):
            raise ValueError(f"the values of dimension {number} are not as the format says")
        known = keys.slice(0, len(keys) - nulls)
        found = known.to_numpy(zero_copy_only=False) if is_long else tuple(known.to_pylist())
        if not _rises(found):
            raise ValueError(f"the values of dimension {number} are not in order")
        yield Dimension(name, definition.types[name], found, bool(nulls))


def _rises(keys: Any) -> bool:
    """Whether each key is greater than the one before."""
    if isinstance(keys, np.ndarray):
        return bool((keys[1:] > keys[:-1]).all())
    return all(low < high for low, high in pairwise(keys))
