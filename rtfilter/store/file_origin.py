"""What a footer says of how its statistics were made, beyond what pyarrow tells: column orders, writer, calendar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtfilter.store.cut_strings import has_whole_strings

# Writers whose bounds of decimals stored as bytes are in value order, from this version on. Others compared them as text: Arrow's
# C++ before 4.0 (apache/arrow#42906), ClickHouse (#83754), Polars (pola-rs/polars#29347), and the result may well look right.
DECIMAL_WRITERS = {"parquet-mr": (1, 10), "parquet-cpp-arrow": (4, 0), "DuckDB": (1, 0)}
_WRITER = re.compile(r"(?P<name>parquet-mr|parquet-cpp-arrow|DuckDB) version v?(?P<major>\d+)\.(?P<minor>\d+)")

# Spark's own metadata: its version, and a mark on files whose days and times are counted in the old calendar.
_SPARK_VERSION = b"org.apache.spark.version"
_LEGACY_CALENDAR = b"org.apache.spark.legacyDateTime"
_FIRST_SPARK_OF_NEW_CALENDAR = 3

# A footer ends with the column orders: a field of thrift's compact protocol (number 7, a list, so many numbers after the last one),
# a list of structs, and per leaf a union whose first field, an empty struct, means the order that the type defines.
_ORDERS_FIELD = frozenset({0x19, 0x29, 0x39})
_TYPE_DEFINED = b"\x1c\x00\x00"
_ANY_ORDER = re.compile(rb"[\x1c-\xfc]\x00\x00", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """`type_defined` per leaf: its bounds are in the order that its type defines, not in whatever order old writers used.

    `whole_strings`: upper bounds of strings hold behind their first 64 bytes too.
    """

    type_defined: tuple[bool, ...]
    knows_decimal_order: bool
    legacy_calendar: bool
    whole_strings: bool = False


def file_origin(metadata: Any, footer: bytes) -> FileOrigin:
    """The origin of a file, from pyarrow's FileMetaData and the footer's own bytes."""
    return FileOrigin(
        type_defined=type_defined_orders(footer, metadata.num_columns),
        knows_decimal_order=knows_decimal_order(metadata.created_by or ""),
        legacy_calendar=has_legacy_calendar(metadata.metadata or {}),
        whole_strings=has_whole_strings(metadata.created_by),
    )


def type_defined_orders(footer: bytes, leaves: int) -> tuple[bool, ...]:
    """For each leaf column whether the footer gives it the order that its type defines; none where its end is not understood.

    pyarrow takes the old `min` and `max` of a file without column orders for good, in an order that it does not say.
    """
    none = (False,) * leaves
    head = _list_head(leaves)
    end = len(footer) - 1
    begin = end - 3 * leaves
    field_at = begin - len(head) - 1
    if field_at < 0 or footer[end] != 0 or footer[field_at] not in _ORDERS_FIELD or footer[field_at + 1 : begin] != head:
        return none
    orders = [footer[at : at + 3] for at in range(begin, end, 3)]
    return tuple(order == _TYPE_DEFINED for order in orders) if all(_ANY_ORDER.fullmatch(order) for order in orders) else none


def _list_head(elements: int) -> bytes:
    """The head of a list of structs in thrift's compact protocol."""
    if elements < 15:
        return bytes([elements << 4 | 0x0C])
    rest = bytearray()
    while elements > 0x7F:
        rest.append(elements & 0x7F | 0x80)
        elements >>= 7
    return bytes([0xFC, *rest, elements])


def knows_decimal_order(created_by: str) -> bool:
    """Whether this writer's bounds of decimals stored as bytes can be believed."""
    found = _WRITER.match(created_by)
    return found is not None and (int(found["major"]), int(found["minor"])) >= DECIMAL_WRITERS[found["name"]]


def has_legacy_calendar(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether Spark would count this file's days and times in the calendar before 1582."""
    if _LEGACY_CALENDAR in metadata:
        return True
    version = metadata.get(_SPARK_VERSION)
    if version is None:
        return False
    major = version.split(b".")[0]
    return not major.isdigit() or int(major) < _FIRST_SPARK_OF_NEW_CALENDAR
