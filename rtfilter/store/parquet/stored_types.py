"""What a Parquet column's stored numbers or bytes mean, as far as the store can use them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rtfilter.store.parquet.key_values import LONGEST_SHORT_DECIMAL


class Kind(Enum):
    """What a column holds; each of Spark's types may be read from some of these."""

    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp without zone"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    FIXED_BYTES = "bytes of fixed length"


# Kinds whose days and times were counted in two calendars.
CALENDAR_KINDS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})

# Microseconds per unit as (times, divided by).
_UNITS = {"milliseconds": (1000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1000)}
_PLAIN = {"BOOLEAN": Kind.BOOLEAN, "FLOAT": Kind.FLOAT, "DOUBLE": Kind.DOUBLE, "FIXED_LEN_BYTE_ARRAY": Kind.FIXED_BYTES}
# Some writers shorten bounds from 64 bytes on, and pyarrow ends the process on one that is shorter than its type.
LONGEST_FIXED_BYTES = 64
_STRING_ANNOTATIONS = frozenset({"NONE", "STRING", "ENUM", "JSON", "BSON"})


@dataclass(frozen=True, slots=True)
class StoredType:
    """A kind and what is needed to understand it.

    `unsigned_bits` of whole numbers that are unsigned; `precision` and `scale` of decimals; `micros` of timestamps: a stored value
    is that many microseconds, as (times, divided by). `as_bytes`: stored as bytes, which strings are, and decimals in big-endian
    two's complement.
    """

    kind: Kind
    as_bytes: bool = False
    unsigned_bits: int | None = None
    precision: int = 0
    scale: int = 0
    micros: tuple[int, int] = (1, 1)

    @property
    def is_long_decimal(self) -> bool:
        return self.kind is Kind.DECIMAL and self.precision > LONGEST_SHORT_DECIMAL


def stored_type(column: Any) -> StoredType | None:
    """The type of a column (pyarrow's ColumnSchema); None when it is nested, or nothing that the store can use."""
    if column.max_repetition_level > 0 or column.max_definition_level > 1:
        return None
    physical, logical = column.physical_type, column.logical_type.type
    if logical == "NONE" and column.converted_type != "NONE":
        # An old annotation that has no new form, INTERVAL say.
        return None
    if logical == "DECIMAL":
        return _decimal(column, physical)
    if physical == "BYTE_ARRAY":
        return StoredType(Kind.STRING, as_bytes=True) if logical in _STRING_ANNOTATIONS else None
    if physical == "FIXED_LEN_BYTE_ARRAY" and column.length > LONGEST_FIXED_BYTES:
        return None
    if physical in _PLAIN:
        # Of these only FIXED_LEN_BYTE_ARRAY has annotations: UUID, FLOAT16.
        return StoredType(_PLAIN[physical], as_bytes=physical == "FIXED_LEN_BYTE_ARRAY") if logical == "NONE" else None
    if physical not in ("INT32", "INT64"):
        # INT96: its order is nowhere defined.
        return None
    if logical == "DATE":
        return StoredType(Kind.DATE) if physical == "INT32" else None
    if logical == "TIMESTAMP":
        return _timestamp(column) if physical == "INT64" else None
    return _integer(column, physical, logical)


def _decimal(column: Any, physical: str) -> StoredType | None:
    if not 0 < column.precision <= 38 or not 0 <= column.scale <= column.precision:
        return None
    as_bytes = physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
    if not as_bytes and column.precision > {"INT32": 9, "INT64": LONGEST_SHORT_DECIMAL}.get(physical, 0):
        return None
    return StoredType(Kind.DECIMAL, as_bytes=as_bytes, precision=column.precision, scale=column.scale)


def _timestamp(column: Any) -> StoredType | None:
    annotation = json.loads(column.logical_type.to_json())
    micros = _UNITS.get(annotation.get("timeUnit", ""))
    if micros is None:
        return None
    return StoredType(Kind.TIMESTAMP if annotation["isAdjustedToUTC"] else Kind.TIMESTAMP_NTZ, micros=micros)


def _integer(column: Any, physical: str, logical: str) -> StoredType | None:
    if logical == "NONE":
        return StoredType(Kind.INTEGER)
    if logical != "INT":
        return None
    annotation = json.loads(column.logical_type.to_json())
    if annotation["isSigned"]:
        return StoredType(Kind.INTEGER)
    # Unsigned 64 is a decimal to Spark; pyarrow compares and gives its bounds as signed bits.
    return StoredType(Kind.INTEGER, unsigned_bits=int(annotation["bitWidth"])) if physical == "INT32" else None
