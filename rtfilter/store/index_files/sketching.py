"""Sketches of the packs of one table file, or of a part of it: the work of one task, wherever it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.store.parquet.footer_digest import footer_digest, pack_starts, read_tail
from rtfilter.store.parquet.table_footer import table_footer, undecodable
from rtfilter.store.sketches.domain import PackValues, domain_of, pack_values, why_no_values
from rtfilter.store.sketches.kinds import MinMax, Sketch
from rtfilter.store.sketches.rows import sketch_row, sketch_schema

# Spark marks files whose dates or timestamps follow the old hybrid calendar.
_LEGACY_CALENDAR_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_CALENDAR_TYPES = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file as it was listed: Hadoop path text, size in bytes, time in ms, and the path that this machine opens.

    On a filesystem that Python can't open `local` is the Hadoop text once more.
    """

    path: str
    size_bytes: int
    mtime_ms: int
    local: str


@dataclass(frozen=True, slots=True)
class Portion:
    """The packs of a file that start at bytes from `begin` to below `end`: what one task reads. `numbers`: only these of them."""

    file: TableFile
    begin: int
    end: int
    numbers: frozenset[int] | None = None

    def holds(self, number: int, start: int) -> bool:
        """Whether the row group of this number, which starts at that byte, is in it."""
        return self.begin <= start < self.end and (self.numbers is None or number in self.numbers)


@dataclass(frozen=True, slots=True)
class PortionSketches:
    """What a task has found: the packs of its portion and a record batch per sketch, a row per pack.

    `problem`: why nothing is known of the file; then the rest is empty. `bytes_read`: footer and column chunks.
    `not_held`: the columns of which the sketches of some pack say nothing, each with the reason. `undecodable`: those of them at
    whose values pyarrow failed, which another reader may be able to read.
    """

    digest: bytes
    starts: tuple[int, ...]
    rows: tuple[int, ...]
    batches: tuple[Any, ...]
    bytes_read: int
    problem: str | None = None
    not_held: Mapping[str, str] = field(default_factory=dict)
    undecodable: frozenset[str] = frozenset()


def sketch_portion(portion: Portion, sketches: Sequence[Sketch], types: Mapping[str, str]) -> PortionSketches:
    """Reads the sketched columns of a portion, pack by pack. Nothing is raised: a file that can't be read is a problem."""
    file = portion.file
    try:
        with open(file.local, "rb") as opened:
            return sketch_opened(opened, lambda: _check_unchanged(opened.fileno(), file), portion, sketches, types)
    except Exception as error:  # pyarrow raises many kinds, and one bad file must not end the build
        return unreadable(f"{type(error).__name__}: {error}")


def unreadable(problem: str) -> PortionSketches:
    """What is found in a file of which nothing can be known."""
    return PortionSketches(b"", (), (), (), 0, problem)


def sketch_opened(
    opened: BinaryIO, check_unchanged: Callable[[], None], portion: Portion, sketches: Sequence[Sketch], types: Mapping[str, str]
) -> PortionSketches:
    """The same of a file that is open, wherever it is; `check_unchanged` raises when it is no longer the one that was listed.

    Raises:
        Exception: of many kinds, for a file that can't be read or understood.
    """
    check_unchanged()
    tail = read_tail(opened, portion.file.size_bytes)
    footer = table_footer(tail, types)
    found = _sketch_packs(_opened(opened, footer.metadata), footer.lost, portion, sketches, types)
    # Once more: a file overwritten in place while it was read has mixed packs.
    check_unchanged()
    return replace(found, digest=footer_digest(tail), bytes_read=len(tail) + found.bytes_read)


def _opened(file: BinaryIO, metadata: Any) -> Any:
    # As nanoseconds, which is pyarrow's way, INT96 before 1677 and after 2262 would come out as other times.
    return pq.ParquetFile(file, metadata=metadata, coerce_int96_timestamp_unit="us")


def _check_unchanged(descriptor: int, file: TableFile) -> None:
    status = os.fstat(descriptor)
    if (status.st_size, status.st_mtime_ns // 1_000_000) != (file.size_bytes, file.mtime_ms):
        raise ValueError("the file has changed since it was listed")


def _sketch_packs(
    parquet: Any, lost: Mapping[str, str], portion: Portion, sketches: Sequence[Sketch], types: Mapping[str, str]
) -> PortionSketches:
    """All but the digest and the bytes of the footer. `lost`: columns of the file that pyarrow can't decode, and why."""
    metadata = parquet.metadata
    starts = pack_starts(metadata)
    mine = [i for i, start in enumerate(starts) if portion.holds(i, start)]
    leaves = {column: lost.get(column) or _leaf_of(parquet, column, type_) for column, type_ in types.items()}
    not_held = {column: leaf for column, leaf in leaves.items() if isinstance(leaf, str)} if mine else {}
    rows_of: list[list[dict[str, Any]]] = [[] for _ in sketches]
    column_bytes = 0
    failed = dict(lost) if mine else {}
    counted = frozenset(sketch.column for sketch in sketches if not isinstance(sketch, MinMax))
    for pack in mine:
        values = _values_of_pack(parquet, pack, leaves, types, counted, failed)
        for rows, sketch in zip(rows_of, sketches, strict=True):
            rows.append(sketch_row(sketch, values[sketch.column]))
        group = metadata.row_group(pack)
        column_bytes += sum(group.column(leaf).total_compressed_size for leaf in leaves.values() if isinstance(leaf, int))
        for column, leaf in leaves.items():
            if isinstance(leaf, int) and values[column] is None:
                arrow_type = parquet.schema_arrow.field(column).type
                not_held[column] = failed.get(column) or why_no_values(arrow_type, types[column])
    if failed and failed.keys() >= types.keys():
        # Such a file is damaged, as a rule: it is no use to have it in the index.
        column, why = next(iter(failed.items()))
        raise ValueError(f"no column of it can be read, such as {column!r}: {why}")
    batches = tuple(
        pa.RecordBatch.from_pylist(rows, schema=sketch_schema(sketch, domain_of(types[sketch.column]) or ""))
        for rows, sketch in zip(rows_of, sketches, strict=True)
    )
    counts = tuple(metadata.row_group(pack).num_rows for pack in mine)
    own_starts = tuple(starts[pack] for pack in mine)
    return PortionSketches(b"", own_starts, counts, batches, column_bytes, not_held=not_held, undecodable=frozenset(failed))


def _leaf_of(parquet: Any, column: str, spark_type: str) -> int | str:
    """The number of a top-level column that Spark reads under this very name, or why there is no such."""
    schema = parquet.schema
    alike = [name for name in parquet.schema_arrow.names if name.lower() == column.lower()]
    if not alike:
        return "the file has no such column"
    if alike != [column]:
        return f"the file's name for it is not the only one in these letters: {', '.join(map(repr, alike))}"
    # A field of a group may have the same dotted path; only a top-level column's path is its name.
    leaves = [leaf for leaf in range(len(schema)) if schema.column(leaf).path == schema.column(leaf).name == column]
    if len(leaves) != 1:
        return "the file has a group or a list there"
    leaf = schema.column(leaves[0])
    if leaf.max_repetition_level > 0 or leaf.max_definition_level > 1:
        return "the file has a list there"
    if leaf.physical_type == "INT96" and not _is_plain_int96(parquet.metadata, spark_type):
        return "Spark may shift INT96 times of the program that wrote the file"
    keys = parquet.metadata.metadata or {}
    if spark_type in _CALENDAR_TYPES and any(key in keys for key in _LEGACY_CALENDAR_KEYS):
        return "the file has dates or times in the old calendar"
    return leaves[0]


def _is_plain_int96(metadata: Any, spark_type: str) -> bool:
    """Whether Spark reads INT96 as it is; those of other writers it may shift (spark.sql.parquet.int96TimestampConversion)."""
    return spark_type == "timestamp" and str(metadata.created_by).startswith("parquet-mr")


def _values_of_pack(
    parquet: Any,
    pack: int,
    leaves: Mapping[str, int | str],
    types: Mapping[str, str],
    counted: frozenset[str],
    failed: dict[str, str],
) -> dict[str, PackValues | None]:
    """The values of each column in one pack, distinct in the columns `counted`; a column is read at a time, to save memory.

    Why a column can't be decoded is added to `failed`.
    """
    found: dict[str, PackValues | None] = {}
    for column, leaf in leaves.items():
        if isinstance(leaf, str):
            found[column] = None
            continue
        try:
            table = parquet.read_row_group(pack, columns=[column], use_threads=False)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # by the system: Arrow's own have no number
                raise
            found[column], failed[column] = None, undecodable(error)
            continue
        # By name: a group's field with the same dotted path is read along.
        values = table.column(column)
        if parquet.schema.column(leaf).physical_type == "INT96":
            values = values.cast(pa.timestamp("us", tz="UTC"))
        found[column] = pack_values(values, types[column], distinct=column in counted)
    return found
