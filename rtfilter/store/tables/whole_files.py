"""Files of which, to save memory, only bounds around all their packs are held: each counts as one pack that starts nowhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rtfilter.store.bounds.table_bounds import Part, bounds_of_files
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.footer_cache.kept_batch import KeptColumn, KeptFiles, packed_batch, read_columns, read_files
from rtfilter.store.footer_cache.kept_list import Recalled
from rtfilter.store.parquet.array_file import ArrayFile
from rtfilter.store.parquet.arrays import Int64s
from rtfilter.store.parquet.column_bounds import ColumnBounds
from rtfilter.store.parquet.pack_statistics import FileColumn, FileStats

# No pack starts there.
WHOLE_START = -1


def whole_files(files: Sequence[tuple[int, FileIdentity, FileStats]]) -> Recalled:
    """Files of a list, by their numbers in it, with the bounds of their columns around all their packs."""
    found = {file: stats for _, file, stats in files}
    batch = packed_batch("", found, {})
    opened = ArrayFile(io.BytesIO(b"".join(batch.parts)), batch.digest)
    numbers = {file: i for i, file, _ in files}
    listed = np.array([numbers[file] for file in found], dtype=np.int64)
    columns = read_columns(opened, opened.facts["columns"])
    return as_whole_files(Recalled(listed, np.arange(len(listed), dtype=np.int64), read_files(opened), columns))


def as_whole_files(found: Recalled) -> Recalled:
    """The same files, each as one pack."""
    columns = {name: [_whole_column(column, found.batch) for column in columns] for name, columns in found.columns.items()}
    ones = np.ones_like(found.batch.counts)
    starts: Int64s = np.full(len(ones), WHOLE_START, dtype=np.int64)
    batch = replace(found.batch, counts=ones, starts=starts, rows=_sums(found.batch.rows, found.batch.counts.astype(np.int64)))
    return replace(found, batch=batch, columns=columns, is_whole=True)


def _whole_column(column: KeptColumn, batch: KeptFiles) -> KeptColumn:
    counts = batch.counts[column.files]
    return KeptColumn(column.files, tuple(_whole(each, counts) for each in column.matching))


def _whole(column: FileColumn, counts: np.ndarray) -> FileColumn:
    bounds = column.bounds
    if bounds is None:
        return column
    packs = Part(counts, bounds.lows, bounds.highs, bounds.has_bounds, bounds.all_null, ~bounds.no_null)
    files = bounds_of_files(packs)
    return replace(
        column,
        bounds=ColumnBounds(
            bounds.stored, files.lows, files.highs, files.has_bounds, files.all_null, ~files.nulls, bounds.is_believed
        ),
    )


def _sums(values: Int64s, counts: Int64s) -> Int64s:
    """The sum of each run of so many values."""
    running = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum(values, out=running[1:])
    ends = np.cumsum(counts)
    sums: Int64s = running[ends] - running[ends - counts]
    return sums
