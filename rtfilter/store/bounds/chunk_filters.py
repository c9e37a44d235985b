"""What a column chunk has for Spark's own reader to leave a row group out by: a dictionary of all of its values, or a Bloom filter.

parquet-java reads the dictionary page of a chunk, or its Bloom filter, before the data, where a condition on the column was pushed
down (`RowGroupFilter` with the levels DICTIONARY and BLOOMFILTER; on in Spark since 3.0). The dictionary counts only where no data
page was written without it. The footer says so in `encoding_stats`. Where those are missing, parquet-java's `DictionaryFilter` goes
by the list of encodings, and believes only that of the first version of data pages, whose dictionary has an encoding of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rtfilter.store.parquet.footer_digest import END_BYTES
from rtfilter.store.parquet.thrift import BINARY, LIST, STRUCT, Reader

# Field numbers of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, PageEncodingStats.
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_ENCODINGS, _PATH, _DATA_PAGE, _DICTIONARY_PAGE, _ENCODING_STATS, _BLOOM_OFFSET, _BLOOM_LENGTH = 2, 3, 9, 11, 13, 14, 15
_PAGE_TYPE, _ENCODING, _COUNT = 1, 2, 3
_DATA_PAGES, _DICTIONARY_ENCODINGS = (0, 3), (2, 8)
_PLAIN_DICTIONARY, _OF_LEVELS = 2, {3, 4}


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """Bytes of the dictionary page and of the Bloom filter of a chunk; None where a chunk has none that tells of all its values."""

    dictionary_bytes: int | None
    bloom_bytes: int | None

    @property
    def bytes(self) -> int | None:
        """What Spark reads first to find that a value is not there; None: it can't."""
        return self.dictionary_bytes if self.dictionary_bytes is not None else self.bloom_bytes


def chunk_filters(tail: bytes) -> list[dict[str, ChunkFilter]]:
    """For each row group of a footer the filters of its columns, by path (`a.b` for a field of a struct).

    Args:
        tail: Footer, its length and the magic word.

    Raises:
        ValueError, IndexError: it is damaged.
    """
    reader = Reader(tail[:-END_BYTES])
    found: list[dict[str, ChunkFilter]] = []
    for number, kind in reader.fields():
        if number == _ROW_GROUPS and kind == LIST:
            found = [dict(_columns(reader)) for _ in reader.elements()]
        else:
            reader.skip(kind)
    return found


def _columns(reader: Reader) -> Iterator[tuple[str, ChunkFilter]]:
    for number, kind in reader.fields():
        if number == _COLUMNS and kind == LIST:
            for _ in reader.elements():
                for field, field_kind in reader.fields():
                    if field == _META_DATA and field_kind == STRUCT:
                        yield _column(reader)
                    else:
                        reader.skip(field_kind)
        else:
            reader.skip(kind)


def _column(reader: Reader) -> tuple[str, ChunkFilter]:
    path, at, encodings, pages = "", dict[int, int](), set[int](), None
    for number, kind in reader.fields():
        if number == _PATH and kind == LIST:
            path = ".".join(_text(reader) for _ in reader.elements())
        elif number == _ENCODING_STATS and kind == LIST:
            pages = [_page(reader) for _ in reader.elements()]
        elif number == _ENCODINGS and kind == LIST:
            encodings = {_whole(reader) for _ in reader.elements()}
        elif number in (_DATA_PAGE, _DICTIONARY_PAGE, _BLOOM_OFFSET, _BLOOM_LENGTH) and kind < BINARY:
            at[number] = _whole(reader)
        else:
            reader.skip(kind)
    if pages is None:
        is_whole = _PLAIN_DICTIONARY in encodings and not encodings - {_PLAIN_DICTIONARY} - _OF_LEVELS
    else:
        is_whole = all(encoding in _DICTIONARY_ENCODINGS for type_, encoding, count in pages if type_ in _DATA_PAGES and count)
    dictionary = at.get(_DATA_PAGE, 0) - at[_DICTIONARY_PAGE] if is_whole and at.get(_DICTIONARY_PAGE, 0) > 0 else 0
    bloom = at.get(_BLOOM_LENGTH) if at.get(_BLOOM_OFFSET) else None
    return path, ChunkFilter(dictionary if dictionary > 0 else None, bloom)


def _page(reader: Reader) -> tuple[int, int, int]:
    found = {number: _whole(reader) for number, _ in reader.fields()}
    return found.get(_PAGE_TYPE, -1), found.get(_ENCODING, -1), found.get(_COUNT, 0)


def _whole(reader: Reader) -> int:
    raw = reader.varint()
    return raw >> 1 ^ -(raw & 1)


def _text(reader: Reader) -> str:
    length = reader.varint()
    reader.at += length
    return reader.data[reader.at - length : reader.at].decode("utf-8", "replace")
