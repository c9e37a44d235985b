"""What a footer says of how its statistics were made, beyond what pyarrow tells: column orders, writer, calendar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from rtfilter.store.parquet.cut_strings import has_whole_strings


class BelievedDecimals(IntEnum):
    """Which decimals of a file have bounds in the order of their values, by how they are stored; each holds what is before it."""

    NONE = 0
    NUMBERS = 1
    FIXED_BYTES = 2
    ANY_BYTES = 3


# What to believe of a writer from which version on; of any other, numbers only. Older ones compared the bytes as text, and that may
# well look right: with negative numbers in one page and both signs in the next, the greatest of all is taken to be negative.
# Arrow's C++ did before 4.0 (apache/arrow#42906), ClickHouse until August 2025 (ClickHouse#83754), Polars before 2.0 where a chunk
# has several pages (pola-rs/polars#29347), parquet-rs before 13 (apache/arrow-rs#1532) and to this day where values vary in length
# (apache/arrow-rs#11073). DataFusion writes with parquet-rs and has named itself only since it did so with a right one, in
# Python without a version.
_BELIEVED = (
    ("parquet-mr", (1, 10), BelievedDecimals.ANY_BYTES),
    ("parquet-cpp-arrow", (4, 0), BelievedDecimals.ANY_BYTES),
    ("DuckDB", (1, 0), BelievedDecimals.ANY_BYTES),
    ("parquet-rs", (13, 0), BelievedDecimals.FIXED_BYTES),
    ("datafusion", (34, 0), BelievedDecimals.FIXED_BYTES),
    ("Polars (python)", (2, 0), BelievedDecimals.FIXED_BYTES),
    ("ClickHouse", (25, 9), BelievedDecimals.FIXED_BYTES),
    ("rugo", (0, 5), BelievedDecimals.FIXED_BYTES),
)
# These say no version. hyparquet-writer stored bounds of decimals that were other numbers altogether before August 2026
# (hyparam/hyparquet-writer#38), in columns of whole numbers too.
_BELIEVED_WITHOUT_VERSION = {"datafusion-python": BelievedDecimals.FIXED_BYTES, "hyparquet": BelievedDecimals.NONE}
# Writers whose bounds of floats hold the values among which a NaN stands: it makes no bound, or it is the bound, and then there is
# none. With others the running minimum becomes the NaN and then the next value: Polars before 2, ladybug. parquet-java before 1.10
# lost what came behind a page that began with a NaN (PARQUET-1246). Writers that nobody has looked at may well do as they do.
_FLOATS_SINCE = (
    ("parquet-mr", (1, 10)),
    ("parquet-cpp-arrow", (0, 0)),
    ("parquet-cpp", (1, 5)),
    ("DuckDB", (1, 0)),
    ("parquet-rs", (13, 0)),
    ("datafusion", (34, 0)),
    ("Polars (python)", (2, 0)),
    ("ClickHouse", (25, 9)),
    ("rugo", (0, 5)),
    ("fastparquet-python", (0, 0)),
)
_FLOATS_WITHOUT_VERSION = frozenset({"datafusion-python", "hyparquet", "parquet.js", "@dsnp/parquetjs", "Carquet"})
_VERSION = re.compile(r" version v?(?P<major>\d+)\.(?P<minor>\d+)")

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

    `floats`: a NaN has not spoiled the bounds of floats. `whole_strings`: upper bounds of strings hold behind their first 64 bytes
    too.
    """

    type_defined: tuple[bool, ...]
    decimals: BelievedDecimals
    floats: bool
    legacy_calendar: bool
    whole_strings: bool = False


def file_origin(metadata: Any, footer: bytes) -> FileOrigin:
    """The origin of a file, from pyarrow's FileMetaData and the footer's own bytes."""
    return FileOrigin(
        type_defined=type_defined_orders(footer, metadata.num_columns),
        decimals=believed_decimals(metadata.created_by or ""),
        floats=believed_floats(metadata.created_by or ""),
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


def believed_decimals(created_by: str) -> BelievedDecimals:
    """Which of this writer's bounds of decimals can be believed."""
    if created_by in _BELIEVED_WITHOUT_VERSION:
        return _BELIEVED_WITHOUT_VERSION[created_by]
    found = (believed for name, since, believed in _BELIEVED if _is_since(created_by, name, since))
    return next(found, BelievedDecimals.NUMBERS)


def believed_floats(created_by: str) -> bool:
    """Whether this writer's bounds of floats hold all values but NaN."""
    return created_by in _FLOATS_WITHOUT_VERSION or any(_is_since(created_by, *each) for each in _FLOATS_SINCE)


def _is_since(created_by: str, name: str, since: tuple[int, int]) -> bool:
    version = _VERSION.match(created_by, len(name)) if created_by.startswith(name) else None
    return version is not None and (int(version["major"]), int(version["minor"])) >= since


def has_legacy_calendar(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether Spark would count this file's days and times in the calendar before 1582."""
    if _LEGACY_CALENDAR in metadata:
        return True
    version = metadata.get(_SPARK_VERSION)
    if version is None:
        return False
    major = version.split(b".")[0]
    return not major.isdigit() or int(major) < _FIRST_SPARK_OF_NEW_CALENDAR
