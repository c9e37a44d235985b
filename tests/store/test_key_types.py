"""Bounds of every key type out of files: the traps that design and writers lay, one by one."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rtfilter.store.bounds.filters import BytesSetFilter
from rtfilter.store.parquet.byte_words import words_of_strings
from rtfilter.store.parquet.column_bounds import FIRST_UNAMBIGUOUS_MICROS, ColumnBounds
from rtfilter.store.parquet.key_values import sortable_doubles, unscaled_values
from rtfilter.store.parquet.pack_statistics import FileStats, parse_footer_tail
from rtfilter.store.parquet.stored_types import Kind
from rtfilter.store.tables import file_lists
from rtfilter.store.tables.footer_store import FooterStore
from tests.store.handmade import (
    BYTE_ARRAY,
    DATE,
    DECIMAL,
    DOUBLE,
    FIXED_LEN_BYTE_ARRAY,
    INT32,
    INT64,
    INT96,
    INTERVAL,
    NULL_COUNT,
    TIMESTAMP_MICROS,
    UTF8,
    Field,
    Struct,
    between,
    binary,
    double,
    footer_tail,
    int32,
    int64,
    legacy_between,
)
from tests.store.tables_at_hand import bounds_of, kept, known_bounds, loaded, write


def handmade(*statistics: Struct | None, **options: Any) -> ColumnBounds | None:
    found = parse_footer_tail(footer_tail(statistics, **options), ["a"])
    assert isinstance(found, FileStats), found
    return found.bounds_of("a", case_sensitive=True)


def bounds_in(path: Path, values: pa.Array, pack_rows: int = 2, **options: Any) -> ColumnBounds:
    bounds = bounds_of(write(path, {"a": values}, pack_rows=pack_rows, **options), "a")
    assert bounds is not None
    return bounds


def are_known(bounds: ColumnBounds | None) -> list[bool]:
    assert bounds is not None
    known: list[bool] = bounds.has_bounds.tolist()
    return known


def byte_bounds(*pairs: tuple[bytes, bytes]) -> list[tuple[int, ...]]:
    """What `levels_of` gives for these bounds."""
    return [
        tuple(int(word[0]) for each in pair for word in words_of_strings([each], 8))  # all eight words of low, then of high
        for pair in pairs
    ]


def levels_of(bounds: ColumnBounds | None) -> list[tuple[int, ...]]:
    assert bounds is not None
    missing = (np.zeros_like(bounds.lows[0]),) * (8 - len(bounds.lows))
    return list(zip(*(level.tolist() for level in (*bounds.lows, *missing, *bounds.highs, *missing)), strict=True))


class TestTimestamps:
    @pytest.mark.parametrize(("unit", "per_micro"), [("ms", 0.001), ("us", 1), ("ns", 1000)])
    @pytest.mark.parametrize(("zone", "kind"), [("UTC", Kind.TIMESTAMP), (None, Kind.TIMESTAMP_NTZ)])
    def test_every_unit_becomes_microseconds_and_zoned_ones_are_another_kind(
        self, tmp_path: Path, unit: str, per_micro: float, zone: str | None, kind: Kind
    ) -> None:
        values = pa.array([int(second * 1_000_000 * per_micro) for second in (-5, 7, 100, 200)], pa.timestamp(unit, zone))
        bounds = bounds_in(tmp_path / "t.parquet", values)
        assert bounds.stored.kind is kind
        assert known_bounds(bounds) == [(-5_000_000, 7_000_000), (100_000_000, 200_000_000)]

    def test_nanoseconds_are_rounded_outward(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([1_999, 2_001, -2_001, -1_999], pa.timestamp("ns")))
        assert known_bounds(bounds) == [(1, 3), (-3, -1)]

    def test_milliseconds_beyond_the_microseconds_of_int64_are_unknown(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([0, 2**62, 0, 5], pa.timestamp("ms")))
        assert known_bounds(bounds) == ["unknown", (0, 5000)]

    def test_times_before_1900_are_unknown(self, tmp_path: Path) -> None:
        micros = [FIRST_UNAMBIGUOUS_MICROS - 1, 0, FIRST_UNAMBIGUOUS_MICROS, 0]
        bounds = bounds_in(tmp_path / "t.parquet", pa.array(micros, pa.timestamp("us", "UTC")))
        assert known_bounds(bounds) == ["unknown", (FIRST_UNAMBIGUOUS_MICROS, 0)]
        start = datetime.datetime(1900, 1, 1) - datetime.datetime(1970, 1, 1)
        assert start == datetime.timedelta(microseconds=FIRST_UNAMBIGUOUS_MICROS)

    def test_the_old_annotation_means_a_zoned_timestamp(self) -> None:
        bounds = handmade(between(int64(5), int64(9)), physical=INT64, converted=TIMESTAMP_MICROS)
        assert bounds is not None and bounds.stored.kind is Kind.TIMESTAMP and known_bounds(bounds) == [(5, 9)]

    def test_int96_is_not_used_even_with_bounds(self) -> None:
        assert handmade(between(binary(bytes(12)), binary(bytes(12))), physical=INT96) is None


class TestCalendar:
    LEGACY = ({"org.apache.spark.version": "2.4.8"}, {"org.apache.spark.version": "4.3.0", "org.apache.spark.legacyDateTime": ""})

    @pytest.mark.parametrize("key_values", LEGACY, ids=["old Spark", "marked"])
    def test_of_the_old_calendar_only_days_count_that_both_calendars_name_alike(self, key_values: dict[str, str]) -> None:
        old, new = between(int32(-141_428), int32(9)), between(int32(-141_427), int32(9))
        times = handmade(between(int64(5), int64(9)), physical=INT64, converted=TIMESTAMP_MICROS, key_values=key_values)
        assert are_known(handmade(old, new, converted=DATE, key_values=key_values)) == [False, True]
        assert are_known(times) == [False]

    @pytest.mark.parametrize("key_values", LEGACY, ids=["old Spark", "marked"])
    def test_other_types_of_such_files_count(self, key_values: dict[str, str]) -> None:
        assert known_bounds(handmade(between(int32(5), int32(9)), key_values=key_values)) == [(5, 9)]

    def test_files_of_newer_spark_count(self) -> None:
        dates = handmade(between(int32(5), int32(9)), converted=DATE, key_values={"org.apache.spark.version": "4.3.0"})
        assert known_bounds(dates) == [(5, 9)]


class TestBooleans:
    def test_they_are_0_and_1(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([False, False, True, None, False, True, None, None]))
        assert bounds.stored.kind is Kind.BOOLEAN
        assert known_bounds(bounds) == [(0, 0), (1, 1), (0, 1), "all null"]


class TestShortDecimals:
    VALUES = (Decimal("-1.50"), Decimal("2.50"), Decimal("99999.99"), None, None, None)

    @pytest.mark.parametrize("as_integer", [True, False], ids=["as integer", "as bytes"])
    @pytest.mark.parametrize("precision", [7, 9, 15, 18])
    def test_they_are_unscaled_whole_numbers_however_stored(self, tmp_path: Path, precision: int, as_integer: bool) -> None:
        values = pa.array(list(self.VALUES), pa.decimal128(precision, 2))
        bounds = bounds_in(tmp_path / "t.parquet", values, store_decimal_as_integer=as_integer)
        assert (bounds.stored.kind, bounds.stored.precision, bounds.stored.scale) == (Kind.DECIMAL, precision, 2)
        assert known_bounds(bounds) == [(-150, 250), (9999999, 9999999), "all null"]

    def test_bytes_of_any_length_are_read_as_twos_complement(self) -> None:
        lengths = between(binary(b"\xff"), binary((300).to_bytes(12, "big"))), between(binary(b""), binary(b"\x01"))
        assert known_bounds(handmade(*lengths, physical=BYTE_ARRAY, converted=DECIMAL, precision_scale=(5, 2))) == [
            (-1, 300),
            "unknown",
        ]

    def test_a_value_with_more_digits_than_the_type_is_unknown(self) -> None:
        bounds = handmade(between(int32(0), int32(1000)), between(int32(0), int32(999)), converted=DECIMAL, precision_scale=(3, 1))
        assert known_bounds(bounds) == ["unknown", (0, 999)]

    @pytest.mark.parametrize(("physical", "precision"), [(INT32, 10), (INT64, 19)])
    def test_a_precision_that_the_physical_type_can_not_hold_is_not_used(self, physical: int, precision: int) -> None:
        assert handmade(None, physical=physical, converted=DECIMAL, precision_scale=(precision, 0)) is None


class TestDecimalsInBytesByWriter:
    """Some writers compared them as text. A footer alone does not tell: -1 to 128 looks right and may be wrong."""

    STATISTICS = between(binary(b"\xff\xff"), binary(b"\x00\x80"))
    OPTIONS: ClassVar[dict[str, Any]] = {
        "physical": FIXED_LEN_BYTE_ARRAY,
        "type_length": 2,
        "converted": DECIMAL,
        "precision_scale": (4, 0),
    }

    @pytest.mark.parametrize(
        "created_by", ["parquet-mr version 1.12.0", "parquet-cpp-arrow version 9.0.0", "DuckDB version v1.5.5"]
    )
    def test_known_writers_are_believed(self, created_by: str) -> None:
        assert known_bounds(handmade(self.STATISTICS, created_by=created_by, **self.OPTIONS)) == [(-1, 128)]

    @pytest.mark.parametrize("created_by", ["parquet-cpp version 1.5.1", "parquet-cpp-arrow version 3.0.0", "Polars", ""])
    def test_others_are_not(self, created_by: str) -> None:
        assert known_bounds(handmade(self.STATISTICS, created_by=created_by, **self.OPTIONS)) == ["unknown"]

    def test_the_old_fields_are_not_even_when_equal(self) -> None:
        # pyarrow takes them for signed numbers in the right order.
        equal = legacy_between(binary(b"\x00\x01"), binary(b"\x00\x01"))
        assert known_bounds(handmade(equal, type_defined_order=False, **self.OPTIONS)) == ["unknown"]

    def test_decimals_stored_as_integers_need_no_known_writer(self) -> None:
        options = {"created_by": "Polars", "converted": DECIMAL, "precision_scale": (4, 0)}
        assert known_bounds(handmade(between(int32(-1), int32(128)), **options)) == [(-1, 128)]


class TestLongDecimals:
    def test_they_are_two_words_in_value_order(self, tmp_path: Path) -> None:
        values = [Decimal("-99999999999999999999.25"), Decimal("0.00"), Decimal("0.25"), Decimal("99999999999999999999.25")]
        bounds = bounds_in(tmp_path / "t.parquet", pa.array(values, pa.decimal128(38, 2)))
        assert bounds.stored.is_long_decimal and are_known(bounds) == [True, True]
        assert unscaled_values(bounds.lows) == [-9999999999999999999925, 25]
        assert unscaled_values(bounds.highs) == [0, 9999999999999999999925]

    def test_a_precision_that_spark_lacks_is_not_used(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([Decimal(1)], pa.decimal256(40, 2))})
        assert bounds_of(path, "a") is None

    def test_files_of_duckdb(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(
                f"""copy (select ((i - 2048) * 1.5)::decimal(30, 2) a from range(4096) r(i))
                    to '{path}' (format parquet, row_group_size 2048)"""
            )
        bounds = bounds_of(path, "a")
        assert bounds is not None and are_known(bounds) == [True, True]
        assert (unscaled_values(bounds.lows), unscaled_values(bounds.highs)) == ([-307200, 0], [-150, 307050])


def doubles(*values: float) -> list[int]:
    keys: list[int] = sortable_doubles(np.array(values)).tolist()
    return keys


class TestFloats:
    @pytest.mark.parametrize(("type", "kind"), [(pa.float32(), Kind.FLOAT), (pa.float64(), Kind.DOUBLE)])
    def test_they_are_sortable_doubles(self, tmp_path: Path, type: pa.DataType, kind: Kind) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([-1.5, 2.5, 0.25, math.inf], type))
        low, high, quarter, infinity = doubles(-1.5, 2.5, 0.25, math.inf)
        assert bounds.stored.kind is kind and known_bounds(bounds) == [(low, high), (quarter, infinity)]

    def test_negative_zero_is_zero(self) -> None:
        bounds = handmade(between(double(-0.0), double(1.0)), between(double(-1.0), double(-0.0)), physical=DOUBLE)
        one, minus_one = doubles(1.0, -1.0)
        assert known_bounds(bounds) == [(0, one), (minus_one, 0)]

    def test_a_nan_among_the_bounds_makes_them_unknown(self) -> None:
        nan, one = double(math.nan), double(1.0)
        assert known_bounds(handmade(between(nan, nan), between(one, nan), between(nan, one), physical=DOUBLE)) == ["unknown"] * 3

    @pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0)])
    def test_zero_twice_may_be_made_up(self, low: float, high: float) -> None:
        assert known_bounds(handmade(between(double(low), double(high)), physical=DOUBLE)) == ["unknown"]

    def test_a_pack_of_nan_alone_is_unknown_and_not_all_null(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([math.nan, math.nan, None, None]))
        assert known_bounds(bounds) == ["unknown", "all null"]

    def test_upside_down_is_unknown(self) -> None:
        assert known_bounds(handmade(between(double(2.0), double(1.0)), physical=DOUBLE)) == ["unknown"]


class TestStrings:
    @pytest.mark.parametrize("type", [pa.string(), pa.binary(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
    def test_they_are_bytes(self, tmp_path: Path, type: pa.DataType) -> None:
        values = pa.array(["a", "b", "é", "zz", None, None], pa.string()).cast(type)
        bounds = bounds_in(tmp_path / "t.parquet", values)
        assert bounds.stored.kind is Kind.STRING and are_known(bounds) == [True, True, False]
        assert levels_of(bounds)[:2] == byte_bounds((b"a", b"b"), (b"zz", "é".encode()))
        assert bounds.all_null.tolist() == [False, False, True]

    def test_bytes_of_fixed_length_are_a_kind_of_their_own(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([b"ab", b"\xff\x00"], pa.binary(2)))
        assert bounds.stored.kind is Kind.FIXED_BYTES and levels_of(bounds) == byte_bounds((b"ab", b"\xff\x00"))

    def test_long_ones_have_as_many_words_as_they_need(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array(["x" * 1000 + "a", "x" * 1000 + "b"]))
        assert len(bounds.lows) == len(bounds.highs) == 126
        assert (int(bounds.lows[125][0]) >> 56, int(bounds.highs[125][0]) >> 56) == (ord("a"), ord("b"))

    @pytest.mark.parametrize("writer", ["parquet-rs version 57.0.0", "DuckDB version v1.4.0", "somebody", ""])
    def test_what_other_writers_may_have_cut_is_raised(self, writer: str) -> None:
        low, high = b"x" * 63 + b"aaa", b"x" * 63 + b"acc"
        bounds = handmade(between(binary(low), binary(high)), physical=BYTE_ARRAY, created_by=writer)
        assert are_known(bounds) == [True] and bounds is not None
        assert bounds.highs[7].tolist() == [int.from_bytes(b"x" * 7 + b"b", "big")] and len(bounds.highs) == 9
        ends = handmade(between(binary(b"x"), binary(b"\xff" * 64)), physical=BYTE_ARRAY, created_by=writer)
        assert are_known(ends) == [False]

    def test_so_many_long_ones_that_they_are_cut_are_kept_where_alike(self, store: FooterStore, tmp_path: Path) -> None:
        paths = [write(tmp_path / f"{i}.parquet", {"a": ["x" * 70 + text]}) for i, text in enumerate("ac")]
        wanted = BytesSetFilter(np.array([0, 71], dtype=np.int64), np.frombuffer(b"x" * 70 + b"b", dtype=np.uint8))
        assert kept(store, loaded(store, paths, "a", digest="whole"), "a", wanted, "string") == [False, False]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file_lists, "words_for_many", lambda count: 8)
            assert kept(store, loaded(store, paths, "a", digest="cut"), "a", wanted, "string") == [True, True]

    def test_short_ones_take_one_word(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array(["a", "12345678"]))
        assert len(bounds.lows) == len(bounds.highs) == 1

    @pytest.mark.parametrize("created_by", ["parquet-mr version 1.12.0", "parquet-mr version 1.9.0", "impala version 2.0", "x"])
    @pytest.mark.parametrize("fields", [legacy_between, between])
    def test_without_a_column_order_bounds_are_unknown(self, created_by: str, fields: Callable[[Field, Field], Struct]) -> None:
        # Compared as signed bytes, "é" is below "a": what lies between "é" and "z" says nothing of "{".
        old = fields(binary("é".encode()), binary(b"z")), fields(binary(b"a"), binary(b"z")), fields(binary(b"m"), binary(b"m"))
        bounds = handmade(*old, physical=BYTE_ARRAY, converted=UTF8, type_defined_order=False, created_by=created_by)
        assert are_known(bounds) == [False, False, False]

    def test_upside_down_is_unknown_even_behind_the_cut(self) -> None:
        start = b"x" * 40
        statistics = between(binary(b"b"), binary(b"a")), between(binary(start + b"b"), binary(start + b"a"))
        assert are_known(handmade(*statistics, physical=BYTE_ARRAY, converted=UTF8)) == [False, False]

    def test_bounds_that_a_writer_shortened_hold_what_they_stand_for(self) -> None:
        # "abd" stands for everything that begins with "abc".
        bounds = handmade(between(binary(b"abc"), binary(b"abd")), physical=BYTE_ARRAY, converted=UTF8)
        assert levels_of(bounds) == byte_bounds((b"abc", b"abd"))

    def test_an_annotation_without_an_order_is_not_used(self) -> None:
        assert (
            handmade(
                between(binary(bytes(12)), binary(bytes(12))), physical=FIXED_LEN_BYTE_ARRAY, type_length=12, converted=INTERVAL
            )
            is None
        )

    def test_files_of_duckdb(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(
                f"copy (select printf('k%06d', i) a from range(4096) r(i)) to '{path}' (format parquet, row_group_size 2048)"
            )
        assert levels_of(bounds_of(path, "a")) == byte_bounds((b"k000000", b"k002047"), (b"k002048", b"k004095"))


class TestNullFlags:
    def test_a_pack_is_without_nulls_only_when_the_footer_says_so(self, tmp_path: Path) -> None:
        bounds = bounds_in(tmp_path / "t.parquet", pa.array([1, 2, 3, None, None, None]))
        assert bounds.no_null.tolist() == [True, False, False]
        assert bounds_in(tmp_path / "u.parquet", pa.array([1, 2]), write_statistics=False).no_null.tolist() == [False]

    def test_a_missing_count_is_no_zero(self) -> None:
        without = {number: field for number, field in between(int32(1), int32(2)).items() if number != NULL_COUNT}
        bounds = handmade(without, between(int32(1), int32(2)))
        assert bounds is not None and bounds.no_null.tolist() == [False, True]

    def test_a_count_of_values_that_leaves_nulls_out_is_not_believed(self) -> None:
        bounds = handmade(between(int32(1), int32(2)), num_values=5)
        assert bounds is not None and bounds.no_null.tolist() == [False]

    def test_a_required_column_has_none(self, tmp_path: Path) -> None:
        table = pa.table([pa.array([1, 2])], schema=pa.schema([pa.field("a", pa.int64(), nullable=False)]))
        bounds = bounds_of(write(tmp_path / "t.parquet", table, write_statistics=False), "a")
        assert bounds is not None and bounds.no_null.tolist() == [True] and are_known(bounds) == [False]
