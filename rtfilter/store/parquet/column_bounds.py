"""The bounds of one column over the packs of one file, in the values that Spark sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rtfilter.store.parquet.arrays import Bools, Int64s, Levels
from rtfilter.store.parquet.byte_words import MOST_BYTES, words_needed, words_of_strings
from rtfilter.store.parquet.cut_strings import raised
from rtfilter.store.parquet.file_origin import BelievedDecimals, FileOrigin
from rtfilter.store.parquet.key_values import LONG_DECIMAL_LIMIT, long_decimals, sortable_doubles
from rtfilter.store.parquet.stored_types import CALENDAR_KINDS, Kind, StoredType, stored_type

# Before these a day or a time may be another one in Spark's other calendar: 1582-10-15 for dates, 1900-01-01 for timestamps, which
# Spark also moves by what a zone's clocks were off until then.
FIRST_UNAMBIGUOUS_DAY = -141_427
FIRST_UNAMBIGUOUS_MICROS = -2_208_988_800_000_000

_LONGEST_MICROS = 2**63 - 1
_DECIMALS = {"FIXED_LEN_BYTE_ARRAY": BelievedDecimals.FIXED_BYTES, "BYTE_ARRAY": BelievedDecimals.ANY_BYTES}
_STRINGS = frozenset({Kind.STRING, Kind.FIXED_BYTES})


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """`lows` and `highs` count only where `has_bounds`. `no_null`: certainly without a null; `all_null`: nothing but.

    `is_believed`: not so where the footer has bounds that do not count because of how the file was written.

    One level of int64 for whole numbers: as they are, days, microseconds, 0 and 1, unscaled short decimals at the file's scale,
    sortable doubles. Words for strings and for long decimals.
    """

    stored: StoredType
    lows: Levels
    highs: Levels
    has_bounds: Bools
    all_null: Bools
    no_null: Bools
    is_believed: bool = True

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (*self.lows, *self.highs, self.has_bounds, self.all_null, self.no_null)


@dataclass(frozen=True, slots=True)
class _Statistics:
    """What the footer says, pack by pack; both bounds are None where one is missing. Strings are cut to MOST_BYTES."""

    lows: Sequence[Any]
    highs: Sequence[Any]
    all_null: Bools
    no_null: Bools


_Bounds: TypeAlias = tuple[Levels, Levels, Bools]


def column_bounds(column: Any, packs: Sequence[Any], leaf: int, origin: FileOrigin) -> ColumnBounds | None:
    """The bounds of leaf `leaf` of a file; None when its type can't be used. `column`, `packs`: pyarrow's schema and row groups."""
    stored = stored_type(column)
    if stored is None:
        return None
    found = _read_statistics(packs, leaf, stored, column.max_definition_level == 0, origin.whole_strings)
    lows, highs, has_bounds = _values_of(stored, found)
    trusted = _is_trusted(stored, column.physical_type, origin.type_defined[leaf], origin)
    believed = trusted or not bool(has_bounds.any())
    return ColumnBounds(stored, lows, highs, has_bounds & trusted, found.all_null, found.no_null, believed)


def _read_statistics(packs: Sequence[Any], leaf: int, stored: StoredType, required: bool, whole_strings: bool) -> _Statistics:
    count = len(packs)
    is_string = stored.kind in _STRINGS
    lows: list[Any] = [None] * count
    highs: list[Any] = [None] * count
    all_null = np.zeros(count, dtype=np.bool_)
    no_null = np.full(count, required, dtype=np.bool_)
    for i, pack in enumerate(packs):
        chunk = pack.column(leaf)
        statistics = chunk.statistics
        if statistics is None:
            continue
        has_bounds = statistics.has_min_max
        if has_bounds:
            low, high = statistics.min_raw, statistics.max_raw
            if not is_string:
                lows[i], highs[i] = low, high
            elif low <= high and (end := high if whole_strings else raised(high)) is not None:
                # Some writers store strings of megabytes.
                lows[i], highs[i] = low[:MOST_BYTES], end[:MOST_BYTES]
        # Some writers left nulls out of the number of values.
        if statistics.has_null_count and chunk.num_values == pack.num_rows:
            nulls = statistics.null_count
            no_null[i] |= nulls == 0
            all_null[i] = not has_bounds and nulls == pack.num_rows
    return _Statistics(lows, highs, all_null, no_null)


def _is_trusted(stored: StoredType, physical: str, type_defined: bool, origin: FileOrigin) -> bool:
    """Whether the bounds are in the order of the values, by how the file was written."""
    if stored.kind in CALENDAR_KINDS and stored.kind is not Kind.DATE:
        return not origin.legacy_calendar
    if stored.kind is Kind.DECIMAL:
        return origin.decimals >= _DECIMALS.get(physical, BelievedDecimals.NUMBERS) and (type_defined or not stored.as_bytes)
    if stored.kind in (Kind.FLOAT, Kind.DOUBLE):
        return origin.floats
    # Old bounds of bytes are in the order of signed bytes.
    return type_defined or not stored.as_bytes


def _values_of(stored: StoredType, found: _Statistics) -> _Bounds:
    if stored.kind in _STRINGS:
        return _strings(found)
    if stored.kind is Kind.DECIMAL:
        return _decimals(stored, found)
    if stored.kind in (Kind.FLOAT, Kind.DOUBLE):
        return _floats(found)
    lows, highs, has_bounds = _numbers(found.lows, found.highs)
    if stored.unsigned_bits is not None:
        # pyarrow gives the stored bits of an unsigned value as a signed number.
        lows, highs = lows & 0xFFFF_FFFF, highs & 0xFFFF_FFFF
        has_bounds &= highs < 2**stored.unsigned_bits
    if stored.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        lows, highs, has_bounds = _micros(lows, highs, has_bounds, stored.micros)
    if stored.kind is Kind.DATE:
        has_bounds &= lows >= FIRST_UNAMBIGUOUS_DAY
    return (lows,), (highs,), has_bounds & (lows <= highs)


def _numbers(low_values: Sequence[Any], high_values: Sequence[Any]) -> tuple[Int64s, Int64s, Bools]:
    has_bounds = np.array([low is not None for low in low_values], dtype=np.bool_)
    lows = np.array([0 if low is None else low for low in low_values], dtype=np.int64)
    highs = np.array([0 if high is None else high for high in high_values], dtype=np.int64)
    return lows, highs, has_bounds


def _micros(lows: Int64s, highs: Int64s, has_bounds: Bools, micros: tuple[int, int]) -> tuple[Int64s, Int64s, Bools]:
    """Bounds in microseconds, rounded outward; none where Spark would fail to make them of milliseconds."""
    times, divided_by = micros
    farthest = _LONGEST_MICROS // times
    fits: Bools = has_bounds & (lows >= -farthest) & (highs <= farthest) & (lows <= highs)
    lows, highs = np.where(fits, lows, 0) * times, np.where(fits, highs, 0) * times
    lows, highs = lows // divided_by, -(-highs // divided_by)
    return lows, highs, fits & (lows >= FIRST_UNAMBIGUOUS_MICROS)


def _floats(found: _Statistics) -> _Bounds:
    lows = np.array([np.nan if low is None else low for low in found.lows], dtype=np.float64)
    highs = np.array([np.nan if high is None else high for high in found.highs], dtype=np.float64)
    # A NaN among the bounds says that a comparison with it went wrong. 0.0 twice may be bounds that were never set: parquet-java's
    # own begin as that, and it puts them back to it when it finds a NaN (apache/parquet-java#461).
    has_bounds = (lows <= highs) & ~((lows == 0.0) & (highs == 0.0))
    return (sortable_doubles(lows),), (sortable_doubles(highs),), has_bounds


def _strings(found: _Statistics) -> _Bounds:
    lows = [b"" if low is None else low for low in found.lows]
    highs = [b"" if high is None else high for high in found.highs]
    has_bounds = np.array([low is not None for low in found.lows], dtype=np.bool_)
    words = words_needed(max((len(each) for each in (*lows, *highs)), default=0))
    return words_of_strings(lows, words), words_of_strings(highs, words), has_bounds


def _decimals(stored: StoredType, found: _Statistics) -> _Bounds:
    read: Callable[[Any], int] = _big_endian if stored.as_bytes else int
    limit = 10**stored.precision
    lows = [limit if low is None else read(low) for low in found.lows]
    highs = [limit if high is None else read(high) for high in found.highs]
    usable = [-limit < low <= high < limit for low, high in zip(lows, highs, strict=True)]
    has_bounds = np.array(usable, dtype=np.bool_)
    lows, highs = ([value if use else 0 for value, use in zip(values, usable, strict=True)] for values in (lows, highs))
    if stored.is_long_decimal:
        return long_decimals(lows), long_decimals(highs), has_bounds
    return (np.array(lows, dtype=np.int64),), (np.array(highs, dtype=np.int64),), has_bounds


def _big_endian(value: bytes) -> int:
    """Two's complement; no bytes at all are no number, and give one that no decimal has."""
    return int.from_bytes(value, "big", signed=True) if value else LONG_DECIMAL_LIMIT
