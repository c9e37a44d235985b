"""Values of a Parquet column as keys of a filter: whole numbers (`long`) or byte strings (`bytes`), by the column's Spark type.

docs/protocol.md ("Key values") says which number or bytes stand for which value. What is not sure gives None: no sketch is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.store.parquet.key_values import LONGEST_SHORT_DECIMAL, sortable_doubles
from rtfilter.store.sketches.arrays import ByteStrings, Int64s

LONG = "long"
BYTES = "bytes"

# 1582-10-15 and 1900-01-01: values before these may be shifted between the Julian and the Gregorian calendar when Spark reads them.
FIRST_UNAMBIGUOUS_DAY = -141_427
FIRST_UNAMBIGUOUS_US = -2_208_988_800_000_000

_INTEGERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_OTHER_LONGS = frozenset({"date", "timestamp", "timestamp_ntz", "boolean", "float", "double"})
# Precision and scale of the decimal as which Spark reads an unsigned number of 64 bits.
UNSIGNED_LONG = (20, 0)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


@dataclass(frozen=True, slots=True)
class PackValues:
    """One column of one pack: rows, nulls among them, and the other values, distinct, in one of the two domains, in no order."""

    rows: int
    nulls: int
    longs: Int64s | None
    strings: ByteStrings | None

    @property
    def distinct(self) -> int:
        return len(self.longs) if self.longs is not None else len(self.strings) if self.strings is not None else 0


def decimal_of(spark_type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for another."""
    match = _DECIMAL.fullmatch(spark_type)
    return None if match is None else (int(match.group(1)), int(match.group(2)))


def domain_of(spark_type: str) -> str | None:
    """The domain of a column type (Spark's catalog text), None for a type without keys."""
    if spark_type in _INTEGERS or spark_type in _OTHER_LONGS:
        return LONG
    if spark_type in ("string", "binary"):
        return BYTES
    decimal = decimal_of(spark_type)
    if decimal is None:
        return None
    return LONG if decimal[0] <= LONGEST_SHORT_DECIMAL else BYTES


def can_stand_for(indexed_type: str, asked_type: str) -> bool:
    """Whether sketches made for one type hold for a query that reads another: the same, or a wider whole number."""
    widths = list(_INTEGERS)
    if indexed_type in widths and asked_type in widths:
        return widths.index(indexed_type) <= widths.index(asked_type)
    return indexed_type == asked_type


def pack_values(column: Any, spark_type: str, *, distinct: bool = True) -> PackValues | None:
    """The values of one pack (a pyarrow ChunkedArray) for a column of this type; None where it is not sure what Spark sees.

    `distinct` false leaves values as often as they are there, for sketches that do not mind.
    """
    values = pc.drop_null(_decoded(column))
    if distinct:
        values = pc.unique(values)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if domain_of(spark_type) == LONG:
        longs = _longs(values, spark_type)
        return None if longs is None else PackValues(len(column), column.null_count, longs, None)
    strings = _strings(values, spark_type)
    return None if strings is None else PackValues(len(column), column.null_count, None, strings)


def why_no_values(arrow_type: Any, spark_type: str) -> str:
    """Why `pack_values` of a pack gave None."""
    if spark_type == "date":
        return "some are before 1582-10-15, where calendars differ"
    if spark_type in ("timestamp", "timestamp_ntz") and pa.types.is_timestamp(arrow_type) and arrow_type.unit in ("ms", "us"):
        return "some are before 1900-01-01, where calendars and time zones differ, or their time zone is not Spark's"
    return f"the file has {arrow_type} where Spark reads {spark_type}"


def _decoded(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column


def _longs(values: Any, spark_type: str) -> Int64s | None:
    found = values.type
    if spark_type == "bigint" and pa.types.is_timestamp(found) and found.unit == "ns":
        # spark.sql.legacy.parquet.nanosAsLong: the stored number as it is.
        return _as_int64(values.cast(pa.int64()))
    if spark_type in _INTEGERS:
        fits = pa.types.is_integer(found) and _fits_integer(found, _INTEGERS[spark_type])
        return _as_int64(values.cast(pa.int64())) if fits else None
    if spark_type == "boolean":
        return _as_int64(values.cast(pa.int8()).cast(pa.int64())) if pa.types.is_boolean(found) else None
    if spark_type == "date":
        days = _as_int64(values.cast(pa.int32()).cast(pa.int64())) if pa.types.is_date32(found) else None
        return _all_from(days, FIRST_UNAMBIGUOUS_DAY)
    if spark_type in ("timestamp", "timestamp_ntz"):
        return _microseconds(values, spark_type)
    if spark_type in ("float", "double"):
        if not (pa.types.is_float32(found) or (pa.types.is_float64(found) and spark_type == "double")):
            return None
        return np.unique(sortable_doubles(values.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    words = _unscaled(values, spark_type)
    # 18 digits fit the low word, sign included.
    return None if words is None else np.ascontiguousarray(words[:, 0])


def _fits_integer(found: Any, wanted: Any) -> bool:
    """Whether every stored number is the one that Spark sees; unsigned 64 is a decimal to Spark."""
    if pa.types.is_unsigned_integer(found):
        return bool(found.bit_width < wanted.bit_width)
    return bool(found.bit_width <= wanted.bit_width)


def _as_int64(values: Any) -> Int64s:
    numbers: Int64s = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


def _all_from(values: Int64s | None, first: int) -> Int64s | None:
    return None if values is None or bool((values < first).any()) else values


def _microseconds(values: Any, spark_type: str) -> Int64s | None:
    found = values.type
    if not pa.types.is_timestamp(found) or found.unit not in ("ms", "us") or (found.tz is not None) != (spark_type == "timestamp"):
        return None
    numbers = _as_int64(values.cast(pa.int64()))
    if found.unit == "ms":
        if bool((np.abs(numbers) > 2**53).any()):
            return None
        numbers = numbers * 1000
    return _all_from(numbers, FIRST_UNAMBIGUOUS_US)


def _unscaled(values: Any, spark_type: str) -> npt.NDArray[np.int64] | None:
    """The unscaled numbers of decimals at the type's scale, as rows of (low word, high word)."""
    precision, scale = decimal_of(spark_type) or (0, 0)
    found = values.type
    is_unsigned_long = pa.types.is_uint64(found) and (precision, scale) == UNSIGNED_LONG
    fits = pa.types.is_decimal(found) and found.scale <= scale and found.precision - found.scale <= precision - scale
    if not is_unsigned_long and not fits:
        return None
    exact = values.cast(pa.decimal128(precision, scale))
    words = np.frombuffer(exact.buffers()[1], dtype="<i8").reshape(-1, 2)
    return words[exact.offset : exact.offset + len(exact)]


def _strings(values: Any, spark_type: str) -> ByteStrings | None:
    found = values.type
    if spark_type in ("string", "binary"):
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
        return binary_strings(values) if any(is_text(found) for is_text in texts) else None
    words = _unscaled(values, spark_type)
    if words is None:
        return None
    # Big-endian with the sign turned round: the order of bytes is the order of values.
    rows = np.ascontiguousarray(words[:, ::-1]).byteswap().view(np.uint8).reshape(-1, 16).copy()
    rows[:, 0] ^= 0x80
    return ByteStrings(np.arange(len(rows) + 1, dtype=np.int64) * 16, rows.reshape(-1))


def binary_strings(values: Any) -> ByteStrings:
    """The bytes of a pyarrow array of strings or binaries; null is an empty string."""
    array = values.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    if len(array) == 0 or offsets is None:
        return ByteStrings(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8))
    ends = np.frombuffer(offsets, dtype="<i8", count=len(array) + 1, offset=array.offset * 8)
    blob = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return ByteStrings(ends, blob)
