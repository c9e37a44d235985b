"""Parquet footers put together by hand, for what no writer at hand produces. Thrift's compact protocol, as much as they need."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Field: TypeAlias = tuple[str, Any]
Struct: TypeAlias = Mapping[int, Field]

INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 1, 2, 3, 4, 5, 6, 7
# Numbers of parquet.thrift, ConvertedType.
UTF8, DECIMAL, DATE, TIMESTAMP_MICROS, UINT_8, UINT_16, UINT_32, INTERVAL = 0, 5, 6, 10, 11, 12, 13, 21
PARQUET_MR = "parquet-mr version 1.12.0"

# Field numbers of parquet.thrift, struct Statistics.
LEGACY_MAX, LEGACY_MIN, NULL_COUNT, MAX_VALUE, MIN_VALUE = 1, 2, 3, 5, 6

_TYPES = {"i32": 5, "i64": 6, "binary": 8, "list": 9, "struct": 12}


def int32(value: int) -> Field:
    return "binary", struct.pack("<i", value)


def int64(value: int) -> Field:
    return "binary", struct.pack("<q", value)


def double(value: float) -> Field:
    return "binary", struct.pack("<d", value)


def binary(value: bytes) -> Field:
    return "binary", value


def between(low: Field, high: Field) -> Struct:
    """Statistics with these bounds in the present fields and no nulls."""
    return {NULL_COUNT: ("i64", 0), MIN_VALUE: low, MAX_VALUE: high}


def legacy_between(low: Field, high: Field) -> Struct:
    """Statistics as old writers made them."""
    return {NULL_COUNT: ("i64", 0), LEGACY_MIN: low, LEGACY_MAX: high}


def footer_tail(
    statistics: Sequence[Struct | None],
    physical: int = INT32,
    converted: int | None = None,
    type_defined_order: bool = True,
    precision_scale: tuple[int, int] | None = None,
    type_length: int | None = None,
    created_by: str = PARQUET_MR,
    key_values: Mapping[str, str] | None = None,
    starts: Sequence[int] | None = None,
    dictionary_pages: Sequence[int | None] | None = None,
    num_values: int = 10,
    trailing: bytes = b"",
) -> bytes:
    """The tail of a file with one optional column `a` and one row group of 10 rows per entry of `statistics`."""
    element: dict[int, Field] = {1: ("i32", physical), 3: ("i32", 1), 4: ("binary", b"a")}
    if converted is not None:
        element[6] = ("i32", converted)
    if precision_scale is not None:
        element[7], element[8] = ("i32", precision_scale[1]), ("i32", precision_scale[0])
    if type_length is not None:
        element[2] = ("i32", type_length)
    schema = [{4: ("binary", b"root"), 5: ("i32", 1)}, element]
    groups = []
    for i, each in enumerate(statistics):
        start = 4 + 1000 * i if starts is None else starts[i]
        dictionary_page = None if dictionary_pages is None else dictionary_pages[i]
        groups.append(_row_group(each, physical, start, dictionary_page, num_values))
    metadata: dict[int, Field] = {
        1: ("i32", 1),
        2: ("list", ("struct", schema)),
        3: ("i64", 10 * len(statistics)),
        4: ("list", ("struct", groups)),
        6: ("binary", created_by.encode()),
    }
    if key_values is not None:
        pairs = [{1: ("binary", key.encode()), 2: ("binary", value.encode())} for key, value in key_values.items()]
        metadata[5] = ("list", ("struct", pairs))
    if type_defined_order:
        metadata[7] = ("list", ("struct", [{1: ("struct", {})}]))
    footer = _struct(metadata) + trailing
    return footer + struct.pack("<I", len(footer)) + b"PAR1"


def _row_group(statistics: Struct | None, physical: int, start: int, dictionary_page: int | None, num_values: int) -> Struct:
    column: dict[int, Field] = {
        1: ("i32", physical),
        2: ("list", ("i32", [0])),
        3: ("list", ("binary", [b"a"])),
        4: ("i32", 0),
        5: ("i64", num_values),
        6: ("i64", 100),
        7: ("i64", 100),
        9: ("i64", start),
    }
    if dictionary_page is not None:
        column[11] = ("i64", dictionary_page)
    if statistics is not None:
        column[12] = ("struct", statistics)
    return {1: ("list", ("struct", [{2: ("i64", start), 3: ("struct", column)}])), 2: ("i64", 100), 3: ("i64", 10)}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _struct(fields: Struct) -> bytes:
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(fields.items()):
        out.append((number - last) << 4 | _TYPES[kind])
        out += _value(kind, value)
        last = number
    return bytes(out) + b"\x00"


def _value(kind: str, value: Any) -> bytes:
    if kind in ("i32", "i64"):
        return _zigzag(value)
    if kind == "binary":
        return _varint(len(value)) + bytes(value)
    if kind == "struct":
        return _struct(value)
    element, items = value
    head = bytes([len(items) << 4 | _TYPES[element]]) if len(items) < 15 else bytes([0xF0 | _TYPES[element]]) + _varint(len(items))
    return head + b"".join(_value(element, item) for item in items)
