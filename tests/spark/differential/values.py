"""What a value of a case is in each column type: in a Parquet file, and as a literal of a query.

Whole numbers, dates (days), timestamps (microseconds since 1970-01-01 UTC) and booleans are ints; decimals, floats, texts and
binaries (their UTF-8) are texts, so that NaN and −0.0 print as part of a literal.
"""

from __future__ import annotations

import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from tests.spark.differential.cases import Value

EPOCH = date(1970, 1, 1)
MIDNIGHT = datetime(1970, 1, 1)
MICROSECONDS_OF_DAY = 86_400_000_000
# The day on which the Gregorian calendar began, 1582-10-15, and the days that were left out before it.
GREGORIAN, DAYS_LEFT_OUT = -141_427, 10
ARROW_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}
BOUNDS = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    # 0001-01-02 and 9999-12-30: what Python's dates hold, with a day to spare.
    "date": (-719_161, 2_932_895),
    # 1900 to 2100: Spark rebases nothing there.
    "timestamp": (-2_208_988_800_000_000, 4_102_444_800_000_000),
    "timestamp_ntz": (-2_208_988_800_000_000, 4_102_444_800_000_000),
    "boolean": (0, 1),
}
ODD_FLOATS = ("NaN", "-0.0", "0.0", "inf", "-inf")
ODD_STRINGS = ("", "\x00", "a", "\u00ff", "\u20ac", "\U0001f600", "~" * 70, "k")


def digits(type_: str) -> tuple[int, int]:
    """Precision and scale of a decimal type."""
    precision, scale = type_.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def arrow_type(type_: str) -> pa.DataType:
    return pa.decimal128(*digits(type_)) if type_.startswith("decimal") else ARROW_TYPES[type_]


def stored(value: Value, type_: str) -> Any:
    """The Python object that pyarrow takes for a value."""
    if value is None:
        return None
    if type_ == "date":
        return EPOCH + timedelta(days=int(value))
    if type_.startswith("timestamp"):
        return MIDNIGHT + timedelta(microseconds=int(value))
    if type_.startswith("decimal"):
        return Decimal(value).quantize(Decimal(1).scaleb(-digits(type_)[1]))
    if type_ in ("float", "double"):
        return float(value)
    if type_ == "binary":
        return str(value).encode()
    return bool(value) if type_ == "boolean" else value


def fits(value: Value, type_: str) -> bool:
    """Whether a value can be stored as another type without a loss."""
    if value is None:
        return True
    if type_ in BOUNDS:
        low, high = BOUNDS[type_]
        return isinstance(value, int) and low <= value <= high
    if type_ == "float":
        return value in ODD_FLOATS or struct.unpack("<f", struct.pack("<f", float(value)))[0] == float(value)
    precision, scale = digits(type_)
    number = Decimal(value)
    return number == round(number, scale) and abs(number) < 10 ** (precision - scale)


def literal(value: Value, type_: str) -> str:
    """A value as both engines write it (the session's time zone is UTC).

    The ten days before 1582-10-15 are put off: where Spark hands a literal to Parquet's reader it makes an object of the old
    calendar of it, which lacks them, and finds other rows than without Parquet, with and without the layer.
    """
    if type_ == "date":
        return f"date '1970-01-01' + ({_in_both_calendars(int(value or 0), 1)})"
    if type_.startswith("timestamp"):
        return f"timestamp '{stored(_in_both_calendars(int(value or 0), MICROSECONDS_OF_DAY), type_)}'"
    if type_ == "boolean":
        return "true" if value else "false"
    if type_ == "string":
        return f"'{value}'"
    if type_ == "binary":
        return f"unhex('{str(value).encode().hex()}')"
    return f"cast('{value}' as {type_})" if type_ in ("float", "double") else f"({value})"


def extremes(type_: str) -> tuple[Value, ...]:
    """Values at the ends of a type, and those that engines treat in a way of their own."""
    if type_ in ("float", "double"):
        return ODD_FLOATS
    if type_ in ("string", "binary"):
        return ODD_STRINGS
    if type_.startswith("decimal"):
        precision, scale = digits(type_)
        most = Decimal(10**precision - 1).scaleb(-scale) if precision < 28 else Decimal(10**20)
        return (str(-most), str(most), "0")
    return BOUNDS[type_]


def stranger(rng: Random, type_: str) -> Value:
    """A value that most likely no other table has."""
    if type_ in ("float", "double"):
        return str(struct.unpack("<f", struct.pack("<f", rng.uniform(-1e6, 1e6)))[0])
    if type_ in ("string", "binary"):
        return f"k{rng.randint(-(10**6), 10**6)}"
    if type_.startswith("decimal"):
        precision, scale = digits(type_)
        return str(Decimal(rng.randint(-(10 ** min(precision, 15)), 10 ** min(precision, 15)) // 10).scaleb(-scale))
    low, high = BOUNDS[type_]
    return rng.randint(max(low, -(2**40)), min(high, 2**40))


def _in_both_calendars(value: int, day: int) -> int:
    """A count of days, or of parts of days, ten days later where the old calendar has no such day; `day`: the parts of one."""
    return value + DAYS_LEFT_OUT * day if (GREGORIAN - DAYS_LEFT_OUT) * day <= value < GREGORIAN * day else value
