"""Offset indexes of Parquet files, found and written anew with the same length: for those that can't be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rtfilter.store.parquet.thrift import LIST, STRUCT, Reader

Page = tuple[int, int, int]
ROW_GROUPS, COLUMNS, INDEX_OFFSET, INDEX_LENGTH = 4, 1, 4, 5


def out_of_order(pages: list[Page]) -> list[Page]:
    return [pages[1], pages[0], *pages[2:]]


def overlapping(pages: list[Page]) -> list[Page]:
    return [(pages[0][0], pages[1][1] + pages[0][1], pages[0][2]), *pages[1:]]


def past_the_end(pages: list[Page]) -> list[Page]:
    offset, size, row = pages[-1]
    return [*pages[:-1], (offset + 1_000, size, row)]


def beginning_late(pages: list[Page]) -> list[Page]:
    return [(pages[0][0], pages[0][1], 1), *pages[1:]]


def rewrite(path: Path, change: Callable[[list[Page]], list[Page]]) -> int:
    """Changes every offset index of a file that has two pages or more and stays as long as it was; their number."""
    data = bytearray(path.read_bytes())
    changed = 0
    for at, length in _places(bytes(data)):
        pages, rest = _pages(bytes(data[at : at + length]))
        if len(pages) > 1:
            new = _encoded(change(pages)) + rest
            if len(new) == length:
                data[at : at + length] = new
                changed += 1
    path.write_bytes(data)
    return changed


def _places(data: bytes) -> list[tuple[int, int]]:
    length = int.from_bytes(data[-8:-4], "little")
    places: list[tuple[int, int]] = []
    reader = Reader(data[-8 - length : -8])
    for number, kind in reader.fields():
        if number != ROW_GROUPS:
            reader.skip(kind)
            continue
        for _ in reader.elements():
            for field, of in reader.fields():
                if (field, of) == (COLUMNS, LIST):
                    places += [_place(reader) for _ in reader.elements()]
                else:
                    reader.skip(of)
    return [place for place in places if place[0]]


def _place(reader: Reader) -> tuple[int, int]:
    offset = length = 0
    for number, kind in reader.fields():
        if number == INDEX_OFFSET:
            offset = _number(reader)
        elif number == INDEX_LENGTH:
            length = _number(reader)
        else:
            reader.skip(kind)
    return offset, length


def _pages(index: bytes) -> tuple[list[Page], bytes]:
    """The pages of an offset index, and the bytes behind their list."""
    reader = Reader(index)
    fields = reader.fields()
    assert next(fields) == (1, LIST)
    pages = []
    for kind in reader.elements():
        assert kind == STRUCT
        values = [_number(reader) for _ in reader.fields()]
        pages.append((values[0], values[1], values[2]))
    return pages, index[reader.at :]


def _number(reader: Reader) -> int:
    raw = reader.varint()
    return raw >> 1 ^ -(raw & 1)


def _encoded(pages: list[Page]) -> bytes:
    count = len(pages)
    head = bytes([0x19, count << 4 | STRUCT]) if count < 15 else bytes([0x19, 0xF0 | STRUCT]) + _varint(count)
    return head + b"".join(b"\x16" + _zigzag(o) + b"\x15" + _zigzag(s) + b"\x16" + _zigzag(r) + b"\x00" for o, s, r in pages)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
