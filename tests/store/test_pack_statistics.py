"""Pack statistics out of footers: the traps, one by one."""

from __future__ import annotations

import base64
import datetime
import os
import struct
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

from rtfilter.store.parquet.column_bounds import FIRST_UNAMBIGUOUS_DAY
from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem, parse_footer_tail, read_local_footer
from rtfilter.store.parquet.stored_types import Kind
from tests.store.handmade import (
    INT64,
    LEGACY_MAX,
    LEGACY_MIN,
    MAX_VALUE,
    MIN_VALUE,
    NULL_COUNT,
    UINT_8,
    UINT_32,
    footer_tail,
    int32,
)
from tests.store.tables_at_hand import bounds_of, known_bounds, problem_of, stats_of, write

LEAST, GREATEST = -(2**63), 2**63 - 1


def handmade_bounds(tail: bytes) -> list[tuple[int, int] | str]:
    found = parse_footer_tail(tail, ["a"])
    assert isinstance(found, FileStats), found
    return known_bounds(found.bounds_of("a", case_sensitive=True))


class TestPacks:
    def test_a_pack_is_a_row_group_with_its_start_and_rows(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array(range(25), pa.int32())})
        stats = stats_of(path, "a")
        metadata = pq.read_metadata(path)
        assert stats.rows.tolist() == [10, 10, 5]
        assert stats.starts.tolist() == [metadata.row_group(i).column(0).dictionary_page_offset for i in range(3)]
        assert stats.starts[0] == 4 and stats.starts.dtype == np.int64

    def test_without_a_dictionary_a_pack_starts_at_its_first_data_page(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array(range(25), pa.int32())}, use_dictionary=False)
        metadata = pq.read_metadata(path)
        assert stats_of(path, "a").starts.tolist() == [metadata.row_group(i).column(0).data_page_offset for i in range(3)]

    def test_the_start_is_that_of_the_first_column_whatever_was_asked(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"z": ["x"] * 25, "a": pa.array(range(25), pa.int32())})
        assert stats_of(path, "a").starts.tolist() == stats_of(path, "z").starts.tolist()
        assert stats_of(path, "a").starts[0] == 4

    @pytest.mark.parametrize(("dictionary", "start"), [(50, 50), (0, 100), (150, 100), (None, 100)])
    def test_a_dictionary_page_counts_only_ahead_of_the_data(self, dictionary: int | None, start: int) -> None:
        found = parse_footer_tail(footer_tail([None], starts=[100], dictionary_pages=[dictionary]), ["a"])
        assert isinstance(found, FileStats) and found.starts.tolist() == [start]

    @pytest.mark.parametrize("dictionaries", [[20, 0], [0, None]])
    def test_a_file_of_which_some_packs_have_a_dictionary_at_byte_0_is_unknown(self, dictionaries: list[int | None]) -> None:
        """parquet-java looks for these at byte 0 when it is asked for offsets, and finds the others."""
        found = parse_footer_tail(footer_tail([None, None], starts=[100, 200], dictionary_pages=dictionaries), ["a"])
        assert isinstance(found, FooterProblem) and "byte 0" in found.reason

    def test_two_packs_with_one_start_make_the_file_unknown(self) -> None:
        found = parse_footer_tail(footer_tail([None, None], starts=[4, 4]), ["a"])
        assert isinstance(found, FooterProblem) and "same byte" in found.reason

    def test_a_file_without_packs(self, tmp_path: Path) -> None:
        with pq.ParquetWriter(tmp_path / "t.parquet", pa.schema([("a", pa.int32())])):
            pass
        stats = stats_of(tmp_path / "t.parquet", "a")
        assert len(stats.starts) == 0 and known_bounds(stats.bounds_of("a", True)) == []

    def test_a_pack_without_rows(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([], pa.int32())})
        stats = stats_of(path, "a")
        assert stats.rows.tolist() == [0]
        assert known_bounds(stats.bounds_of("a", True)) in (["all null"], ["unknown"])


class TestWholeNumbers:
    @pytest.mark.parametrize("type", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()])
    def test_every_width_has_its_values_as_bounds(self, tmp_path: Path, type: pa.DataType) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array(range(20), type)})
        assert known_bounds(bounds_of(path, "a")) == [(0, 9), (10, 19)]

    @pytest.mark.parametrize(("type", "greatest"), [(pa.uint8(), 2**8 - 1), (pa.uint16(), 2**16 - 1), (pa.uint32(), 2**32 - 1)])
    def test_unsigned_values_above_the_signed_range_stay_what_they_are(
        self, tmp_path: Path, type: pa.DataType, greatest: int
    ) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([1, greatest], type)})
        assert known_bounds(bounds_of(path, "a")) == [(1, greatest)]

    def test_unsigned_64_is_not_used(self, tmp_path: Path) -> None:
        assert bounds_of(write(tmp_path / "t.parquet", {"a": pa.array([1, 2**64 - 1], pa.uint64())}), "a") is None

    def test_the_ends_of_int64(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([LEAST, GREATEST], pa.int64())})
        assert known_bounds(bounds_of(path, "a")) == [(LEAST, GREATEST)]

    def test_an_unsigned_value_wider_than_its_type_is_unknown(self) -> None:
        tail = footer_tail(
            [{MIN_VALUE: int32(1), MAX_VALUE: int32(300)}, {MIN_VALUE: int32(-5), MAX_VALUE: int32(-5)}], converted=UINT_8
        )
        assert handmade_bounds(tail) == ["unknown", "unknown"]


class TestOtherTypes:
    @pytest.mark.parametrize(
        "values",
        [
            pa.array([1, 2], pa.time32("ms")),
            pa.array([1, 2], pa.time64("us")),
            pa.array([1, 2], pa.duration("us")),
            pa.array(np.array([1.0, 2.0], np.float16)),
            pa.array([None, None], pa.null()),
        ],
        ids=lambda values: str(values.type),
    )
    def test_what_spark_reads_as_no_key_type_is_not_used(self, tmp_path: Path, values: pa.Array) -> None:
        path = write(tmp_path / "t.parquet", {"a": values})
        if str(values.type) == "duration[us]":
            # Parquet has no such type: it is stored as a plain int64, and that is what Spark reads.
            assert known_bounds(bounds_of(path, "a")) == [(1, 2)]
        else:
            assert bounds_of(path, "a") is None

    def test_uuids_are_not_used(self, tmp_path: Path) -> None:
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"copy (select uuid() as a) to '{tmp_path / 't.parquet'}' (format parquet)")
        assert bounds_of(tmp_path / "t.parquet", "a") is None

    def test_int96_is_not_used(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([1, 2], pa.timestamp("ns"))}, use_deprecated_int96_timestamps=True)
        assert bounds_of(path, "a") is None


class TestDates:
    def test_days_are_the_bounds_and_not_whole_numbers(self, tmp_path: Path) -> None:
        days = [datetime.date(1970, 1, 2), datetime.date(2020, 1, 1)]
        bounds = bounds_of(write(tmp_path / "t.parquet", {"a": pa.array(days, pa.date32())}), "a")
        assert bounds is not None and bounds.stored.kind is Kind.DATE and known_bounds(bounds) == [(1, 18262)]

    def test_a_pack_that_begins_before_the_calendar_change_is_unknown(self, tmp_path: Path) -> None:
        days = pa.array([FIRST_UNAMBIGUOUS_DAY - 1, 0, FIRST_UNAMBIGUOUS_DAY, 0], pa.int32()).cast(pa.date32())
        path = write(tmp_path / "t.parquet", {"a": days}, pack_rows=2)
        assert known_bounds(bounds_of(path, "a")) == ["unknown", (FIRST_UNAMBIGUOUS_DAY, 0)]

    def test_the_calendar_change_is_where_it_was(self) -> None:
        assert datetime.date(1582, 10, 15) - datetime.date(1970, 1, 1) == datetime.timedelta(days=FIRST_UNAMBIGUOUS_DAY)


class TestNulls:
    def test_a_pack_of_nulls_is_all_null(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([None, None, 1, None, 5, 6], pa.int32())}, pack_rows=2)
        assert known_bounds(bounds_of(path, "a")) == ["all null", (1, 1), (5, 6)]

    def test_a_column_that_the_file_lacks_is_unknown_and_not_null(self, tmp_path: Path) -> None:
        assert bounds_of(write(tmp_path / "t.parquet", {"b": pa.array([1], pa.int32())}), "a") is None

    def test_without_statistics_a_pack_is_unknown(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([None, None, 1, 2], pa.int32())}, pack_rows=2, write_statistics=False)
        assert known_bounds(bounds_of(path, "a")) == ["unknown", "unknown"]

    def test_without_a_null_count_a_pack_without_bounds_is_unknown(self) -> None:
        assert handmade_bounds(footer_tail([{}, {NULL_COUNT: ("i64", 9)}, {NULL_COUNT: ("i64", 10)}])) == [
            "unknown",
            "unknown",
            "all null",
        ]

    def test_a_count_of_values_that_leaves_nulls_out_is_not_believed(self) -> None:
        # 10 rows, 5 values, 5 nulls: the two counts are equal, and yet there are values.
        assert handmade_bounds(footer_tail([{NULL_COUNT: ("i64", 5)}], num_values=5)) == ["unknown"]


class TestBounds:
    def test_the_present_fields_are_used(self) -> None:
        assert handmade_bounds(footer_tail([{MIN_VALUE: int32(10), MAX_VALUE: int32(20)}])) == [(10, 20)]

    def test_a_bound_without_the_other_is_unknown(self) -> None:
        assert handmade_bounds(footer_tail([{MAX_VALUE: int32(20)}, {MIN_VALUE: int32(10)}])) == ["unknown", "unknown"]

    def test_bounds_upside_down_are_unknown(self) -> None:
        assert handmade_bounds(footer_tail([{MIN_VALUE: int32(20), MAX_VALUE: int32(10)}])) == ["unknown"]

    def test_legacy_fields_count_for_signed_numbers_of_old_files(self) -> None:
        legacy = {LEGACY_MIN: int32(10), LEGACY_MAX: int32(20)}
        assert handmade_bounds(footer_tail([legacy], type_defined_order=False)) == [(10, 20)]

    def test_legacy_fields_do_not_count_beside_a_column_order(self) -> None:
        assert handmade_bounds(footer_tail([{LEGACY_MIN: int32(10), LEGACY_MAX: int32(20)}])) == ["unknown"]

    def test_legacy_fields_of_unsigned_numbers_do_not_count(self) -> None:
        # Old writers compared them as signed numbers: these say -5 (4,294,967,291) to 20.
        legacy = {LEGACY_MIN: int32(-5), LEGACY_MAX: int32(20)}
        assert handmade_bounds(footer_tail([legacy], type_defined_order=False, converted=UINT_32)) == ["unknown"]

    def test_present_fields_of_unsigned_numbers_are_in_unsigned_order(self) -> None:
        present = {MIN_VALUE: int32(20), MAX_VALUE: int32(-5)}
        assert handmade_bounds(footer_tail([present], converted=UINT_32)) == [(20, 2**32 - 5)]

    def test_wide_numbers(self) -> None:
        wide = {MIN_VALUE: ("binary", struct.pack("<q", LEAST)), MAX_VALUE: ("binary", struct.pack("<q", GREATEST))}
        assert handmade_bounds(footer_tail([wide], physical=INT64)) == [(LEAST, GREATEST)]


class TestNames:
    def test_case_matters_only_when_it_is_said(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"Key": pa.array([1, 2], pa.int32())})
        assert known_bounds(bounds_of(path, "kEY", case_sensitive=False)) == [(1, 2)]
        assert bounds_of(path, "kEY", case_sensitive=True) is None
        assert known_bounds(bounds_of(path, "Key", case_sensitive=True)) == [(1, 2)]

    def test_names_that_differ_by_case_are_told_apart_or_ambiguous(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([1, 2], pa.int32()), "A": pa.array([5, 6], pa.int32())})
        assert bounds_of(path, "a", case_sensitive=False) is None
        assert known_bounds(bounds_of(path, "a", case_sensitive=True)) == [(1, 2)]
        assert known_bounds(bounds_of(path, "A", case_sensitive=True)) == [(5, 6)]

    def test_two_columns_of_one_name_are_ambiguous(self, tmp_path: Path) -> None:
        table = pa.Table.from_arrays([pa.array([1], pa.int32()), pa.array([2], pa.int32())], names=["a", "a"])
        path = write(tmp_path / "t.parquet", table)
        assert bounds_of(path, "a", case_sensitive=True) is None

    def test_a_dotted_name_is_a_column_like_any_other(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a.b": pa.array([1, 2], pa.int32()), "a": pa.array([5, 6], pa.int32())})
        assert known_bounds(bounds_of(path, "a.b")) == [(1, 2)]
        assert known_bounds(bounds_of(path, "a")) == [(5, 6)]

    def test_a_field_of_a_group_is_not_a_column(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([{"b": 1}, {"b": 2}], pa.struct([("b", pa.int32())]))})
        assert bounds_of(path, "a.b") is None
        assert bounds_of(path, "b") is None
        assert bounds_of(path, "a") is None

    def test_a_group_of_the_same_name_but_for_case_makes_a_column_ambiguous(self, tmp_path: Path) -> None:
        group = pa.array([{"x": 1, "y": 2}], pa.struct([("x", pa.int32()), ("y", pa.int32())]))
        path = write(tmp_path / "t.parquet", {"a": pa.array([1], pa.int32()), "A": group})
        assert bounds_of(path, "a", case_sensitive=False) is None
        assert known_bounds(bounds_of(path, "a", case_sensitive=True)) == [(1, 1)]

    @pytest.mark.parametrize("type", [pa.list_(pa.int32()), pa.map_(pa.int32(), pa.int32())], ids=str)
    def test_lists_and_maps_are_not_used(self, tmp_path: Path, type: pa.DataType) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array([[], []], type)})
        assert bounds_of(path, "a") is None


class TestDamage:
    @pytest.fixture
    def good(self, tmp_path: Path) -> Path:
        return write(tmp_path / "good.parquet", {"a": pa.array(range(100), pa.int32())})

    @pytest.mark.parametrize("kept_bytes", [0, 3, 7, 8, 100, -1, -4, -9])
    def test_a_file_cut_off_is_a_problem_and_no_exception(self, good: Path, kept_bytes: int) -> None:
        good.write_bytes(good.read_bytes()[:kept_bytes])
        assert "Parquet" in problem_of(good, "a")

    def test_another_kind_of_file_is_a_problem(self, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("a,b\n1,2\n" * 50, encoding="utf-8")
        assert "not a Parquet file" in problem_of(tmp_path / "x.csv", "a")

    def test_a_footer_larger_than_the_file_is_a_problem(self, good: Path) -> None:
        good.write_bytes(good.read_bytes()[:-8] + struct.pack("<I", 2**31) + b"PAR1")
        assert "claims" in problem_of(good, "a")

    def test_a_footer_that_begins_elsewhere_is_a_problem(self, good: Path) -> None:
        data = good.read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        good.write_bytes(data[:-8] + struct.pack("<I", length - 3) + b"PAR1")
        assert problem_of(good, "a")

    def test_a_footer_of_noise_is_a_problem(self) -> None:
        noise = bytes(range(255, 5, -1))
        found = parse_footer_tail(noise + struct.pack("<I", len(noise)) + b"PAR1", ["a"])
        assert isinstance(found, FooterProblem)

    def test_a_file_that_is_not_there_is_a_problem(self, tmp_path: Path) -> None:
        found = read_local_footer(str(tmp_path / "gone.parquet"), 10, 10, ["a"])
        assert isinstance(found, FooterProblem) and "can't be read" in found.reason

    def test_a_folder_is_a_problem(self, tmp_path: Path) -> None:
        assert isinstance(read_local_footer(str(tmp_path), 10, 10, ["a"]), FooterProblem)

    @pytest.mark.parametrize("plaintext_footer", [True, False])
    def test_encrypted_files_are_a_problem(self, tmp_path: Path, plaintext_footer: bool) -> None:
        path = write_encrypted(tmp_path / "t.parquet", plaintext_footer)
        for column in ("secret", "open"):
            assert "encrypted" in problem_of(path, column)

    def test_a_file_of_another_size_or_time_is_a_problem(self, good: Path) -> None:
        status = good.stat()
        size, mtime = status.st_size, status.st_mtime_ns // 1_000_000
        for listed in ((size + 1, mtime), (size, mtime + 1), (size, mtime - 1)):
            found = read_local_footer(str(good), *listed, ["a"])
            assert isinstance(found, FooterProblem) and "changed" in found.reason

    def test_times_are_compared_in_whole_milliseconds_rounded_down(self, good: Path) -> None:
        os.utime(good, ns=(0, 1_700_000_000_123_999_999))
        assert isinstance(read_local_footer(str(good), good.stat().st_size, 1_700_000_000_123, ["a"]), FileStats)


def write_encrypted(path: Path, plaintext_footer: bool) -> Path:
    class PlainKeys(encryption.KmsClient):  # type: ignore[misc]
        def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
            return base64.b64decode(wrapped_key)

    table = pa.table({"secret": pa.array(range(10), pa.int32()), "open": pa.array(range(10), pa.int32())})
    settings = encryption.EncryptionConfiguration(footer_key="f", column_keys={"s": ["secret"]}, plaintext_footer=plaintext_footer)
    factory = encryption.CryptoFactory(lambda _: PlainKeys())
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    return path


class TestSizes:
    def test_a_footer_larger_than_the_first_read(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array(range(5000), pa.int64())}, pack_rows=5)
        assert pq.read_metadata(path).serialized_size > 64 << 10
        bounds = bounds_of(path, "a")
        assert bounds is not None and bounds.lows[0].tolist() == list(range(0, 5000, 5))

    def test_a_raw_tail_gives_the_same_as_the_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": pa.array(range(100), pa.int64())})
        data = path.read_bytes()
        tail = data[-8 - int.from_bytes(data[-8:-4], "little") :]
        found = parse_footer_tail(tail, ["a"])
        assert isinstance(found, FileStats)
        assert known_bounds(found.bounds_of("a", True)) == known_bounds(bounds_of(path, "a"))
        assert found.starts.tolist() == stats_of(path, "a").starts.tolist()


class TestWriters:
    def test_files_of_duckdb(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        query = """
            select i::integer as i, i::bigint as b, (i % 100)::tinyint as t, (i % 250)::utinyint as u,
                   date '2020-01-01' + i::integer as d, (i * 1.5)::decimal(9, 2) as m, case when i >= 2048 then i::integer end as n
            from range(4096) r(i)"""
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(f"copy ({query}) to '{path}' (format parquet, row_group_size 2048)")
        connection.close()
        stats = stats_of(path, "i", "b", "t", "u", "d", "m", "n")
        assert stats.rows.tolist() == [2048, 2048]
        bounds = {name: stats.bounds_of(name, case_sensitive=True) for name in stats.columns}
        assert known_bounds(bounds["i"]) == known_bounds(bounds["b"]) == [(0, 2047), (2048, 4095)]
        assert known_bounds(bounds["t"]) == [(0, 99), (0, 99)]
        assert known_bounds(bounds["u"]) == [(0, 249), (0, 249)]
        assert known_bounds(bounds["d"]) == [(18262, 18262 + 2047), (18262 + 2048, 18262 + 4095)]
        assert known_bounds(bounds["n"]) == ["all null", (2048, 4095)]
        assert known_bounds(bounds["m"]) == [(0, 307050), (307200, 614250)]
