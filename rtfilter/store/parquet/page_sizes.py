"""How much the pages of a column chunk unpack to, by their own headers, before anything is unpacked.

A few bytes can stand for gigabytes: a codec may pack zeros by the ten thousand, and a dictionary names one long value any number
of times.
"""

from __future__ import annotations

from dataclasses import dataclass

from rtfilter.store.parquet.thrift import STRUCT, Reader

# A header is some tens of bytes; statistics, which an index has none of, may make it longer.
_HEADER_BYTES = 4096
# An index's pages have about a megabyte.
MOST_PAGES = 1_000
# PLAIN, RLE, DELTA_BINARY_PACKED: what stands for a value is as long as the value, or the value has 8 bytes.
_ENCODINGS = frozenset({0, 3, 5})
_VALUE_BYTES = 8
# Numbers of the fields that say how many values there are, and in which encoding, for the two forms of a data page.
_DATA_PAGE, _DATA_PAGE_V2 = 5, 8
_ENCODING_FIELD = {_DATA_PAGE: 2, _DATA_PAGE_V2: 4}


@dataclass(slots=True)
class _Page:
    unpacked: int = -1
    packed: int = -1
    values: int = -1
    encoding: int = -1


def unpacked_bytes(chunk: bytes) -> int:
    """The memory that the values of a column chunk take at most.

    Raises:
        ValueError: there is something else in it than data pages in the encodings of an index.
    """
    at = pages = total = 0
    while at < len(chunk):
        reader = Reader(chunk[at : at + _HEADER_BYTES])
        try:
            page = _page(reader)
        except (IndexError, RecursionError) as error:
            raise ValueError("a page's header can't be read") from error
        pages += 1
        if page.encoding not in _ENCODINGS or min(page.unpacked, page.packed, page.values) < 0:
            raise ValueError("a page is none of an index's")
        if pages > MOST_PAGES:
            raise ValueError(f"more than {MOST_PAGES} pages in one column of a row group")
        total += page.unpacked + page.values * _VALUE_BYTES
        at += reader.at + page.packed
    return total


def _page(reader: Reader) -> _Page:
    page = _Page()
    for number, kind in reader.fields():
        if number == 2:
            page.unpacked = _number(reader)
        elif number == 3:
            page.packed = _number(reader)
        elif number in _ENCODING_FIELD and kind == STRUCT:
            for inner, inner_kind in reader.fields():
                if inner == 1:
                    page.values = _number(reader)
                elif inner == _ENCODING_FIELD[number]:
                    page.encoding = _number(reader)
                else:
                    reader.skip(inner_kind)
        else:
            reader.skip(kind)
    return page


def _number(reader: Reader) -> int:
    raw = reader.varint()
    return raw >> 1 ^ -(raw & 1)
