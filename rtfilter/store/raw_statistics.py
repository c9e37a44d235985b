"""A look at a footer's raw statistics before pyarrow reads them: it ends the process on a bound that is shorter than its type.

Parquet footers are structs of thrift's compact protocol: per field a byte with the distance to the last field's number and the
kind, then the value; numbers are varints, strings have a length ahead. Going through one in Python takes tens of microseconds per
column chunk, so files of the writers that nearly every file is from are spared it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Writers that are known to store bounds in full length.
SPARED_WRITERS = ("parquet-mr version", "parquet-cpp-arrow version", "DuckDB version")
# More column chunks than that are not looked at, and the file counts as not understood.
MOST_CHUNKS = 50_000

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
# Field numbers of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, Statistics.
_ROW_GROUPS, _COLUMNS, _META_DATA, _STATISTICS, _BOUNDS = 4, 1, 3, 12, frozenset({1, 2, 5, 6})


def needs_a_look(created_by: str | None) -> bool:
    """Whether a file of this writer may hold bounds of the wrong length."""
    return created_by is None or not created_by.startswith(SPARED_WRITERS)


def stored_width(column: Any) -> int | None:
    """Bytes that a bound of this column (pyarrow's ColumnSchema) has; None when that varies."""
    length: int | None = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(column.physical_type)
    return length


def bounds_have_widths(footer: bytes, widths: Mapping[int, int]) -> bool:
    """Whether every bound of these leaf columns has its width in bytes, in every row group.

    Raises:
        IndexError: the footer ends too early.
        ValueError: it holds something that thrift does not know, or too many column chunks.
    """
    reader = _Reader(footer)
    chunks = 0
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
                        return False
    return True


def _chunk_fits(reader: _Reader, width: int | None) -> bool:
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
                fits &= bound not in _BOUNDS or (bound_kind == _BINARY and reader.at - begin == (1 if width < 128 else 2) + width)
    return fits


class _Reader:
    """A place in a text of the compact protocol, which goes on with what is read or skipped."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and kind of each field of a struct; the caller reads or skips its value before it goes on."""
        number = 0
        while (head := self.byte()) != _STOP:
            delta = head >> 4
            if delta:
                number += delta
            else:
                raw = self.varint()
                number = raw >> 1 ^ -(raw & 1)
            yield number, head & 0x0F

    def elements(self) -> Iterator[int]:
        """The kind of each element of a list; the caller reads or skips it before it goes on."""
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        for _ in range(count):
            yield head & 0x0F

    def skip(self, kind: int) -> None:
        if kind in (_TRUE, _FALSE):
            return
        if kind == _BYTE:
            self.at += 1
        elif kind < _DOUBLE:
            self.varint()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            length = self.varint()
            self.at += length
        elif kind in (_LIST, _SET):
            for element in self.elements():
                # A truth value alone in a list takes a byte.
                self.skip(_BYTE if element in (_TRUE, _FALSE) else element)
        elif kind == _STRUCT:
            for _, field in self.fields():
                self.skip(field)
        else:
            raise ValueError(f"a footer has no values of kind {kind}")
        if self.at > len(self.data):
            raise IndexError("the footer ends within a value")
