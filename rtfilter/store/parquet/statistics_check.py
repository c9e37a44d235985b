"""A look at a footer's raw statistics before pyarrow reads them: it ends the process on a bound that is shorter than its type.

Going through a footer in Python takes tens of microseconds per column chunk, so files of the writers that nearly every file is from
are spared it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rtfilter.store.parquet.thrift import BINARY, Reader

# Writers that are known to store bounds in full length.
SPARED_WRITERS = ("parquet-mr version", "parquet-cpp-arrow version", "DuckDB version")
# More column chunks than that are not looked at, and the file counts as not understood.
MOST_CHUNKS = 50_000

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}

# Field numbers of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, Statistics.
_ROW_GROUPS, _COLUMNS, _META_DATA, _STATISTICS, _BOUNDS = 4, 1, 3, 12, frozenset({1, 2, 5, 6})


def needs_a_look(created_by: str | None) -> bool:
    """Whether a file of this writer may hold bounds of the wrong length."""
    return created_by is None or not created_by.startswith(SPARED_WRITERS)


def stored_width(column: Any) -> int | None:
    """Bytes that a bound of this column (pyarrow's ColumnSchema) has; None when that varies."""
    length: int | None = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(column.physical_type)
    return length


def leaves_of_other_widths(footer: bytes, widths: Mapping[int, int]) -> frozenset[int]:
    """Those of these leaf columns that have a bound of another width in bytes, in any row group.

    Raises:
        IndexError: the footer ends too early.
        ValueError: it holds something that thrift does not know, or too many column chunks.
    """
    reader = Reader(footer)
    chunks = 0
    found: set[int] = set()
    for number, kind in reader.fields():
        if number != _ROW_GROUPS:
            reader.skip(kind)
            continue
        for _ in reader.elements():
            for column_list, list_kind in reader.fields():
                if column_list != _COLUMNS:
                    reader.skip(list_kind)
                    continue
                for leaf, _ in enumerate(reader.elements()):
                    chunks += 1
                    if chunks > MOST_CHUNKS:
                        raise ValueError(f"more than {MOST_CHUNKS:,} column chunks by a writer that is not known")
                    if not _chunk_fits(reader, widths.get(leaf)):
                        found.add(leaf)
    return frozenset(found)


def _chunk_fits(reader: Reader, width: int | None) -> bool:
    fits = True
    for number, kind in reader.fields():
        if number != _META_DATA:
            reader.skip(kind)
            continue
        for part, part_kind in reader.fields():
            if part != _STATISTICS or width is None:
                reader.skip(part_kind)
                continue
            for bound, bound_kind in reader.fields():
                begin = reader.at
                reader.skip(bound_kind)
                # One byte says how long so short a string is.
                fits &= bound not in _BOUNDS or (bound_kind == BINARY and reader.at - begin == (1 if width < 128 else 2) + width)
    return fits
