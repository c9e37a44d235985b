"""What a query's type makes of a file's: widening, narrowing, and types that do not go together."""

from __future__ import annotations

import datetime
import math
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rtfilter.store.bounds.filters import BytesSetFilter, EmptyFilter, KeyFilter, filter_of_keys
from rtfilter.store.bounds.probe_types import probe_type
from rtfilter.store.parquet.key_values import DECIMAL_BYTES, LONG_DECIMAL_LIMIT, NAN_KEY, sortable_doubles
from rtfilter.store.tables.footer_store import FooterStore
from tests.store.tables_at_hand import kept, keys, loaded, write


def kept_in(store: FooterStore, folder: Path, files: list[pa.Array], type: str, filter: KeyFilter, **options: Any) -> list[bool]:
    """Packs kept of a new table with one column `a` and one pack per file."""
    table = Path(tempfile.mkdtemp(dir=folder))
    paths = [write(table / f"{i}.parquet", {"a": values}, **options) for i, values in enumerate(files)]
    return kept(store, loaded(store, paths, "a", digest=table.name), "a", filter, type)


def strings(*values: bytes) -> BytesSetFilter:
    ordered = sorted(values)
    offsets = np.cumsum([0, *(len(each) for each in ordered)]).astype(np.int64)
    return BytesSetFilter(offsets, np.frombuffer(b"".join(ordered), dtype=np.uint8))


def long_decimals(*values: int) -> BytesSetFilter:
    return strings(*((value + LONG_DECIMAL_LIMIT).to_bytes(DECIMAL_BYTES, "big") for value in values))


def doubles(*values: float) -> KeyFilter:
    return filter_of_keys(np.sort(sortable_doubles(np.array(values))))


def decimals(type: pa.DataType, *values: str) -> pa.Array:
    return pa.array([Decimal(value) for value in values], type)


class TestDecimals:
    def test_a_file_with_fewer_digits_behind_the_point_is_rescaled(self, store: FooterStore, tmp_path: Path) -> None:
        files = [decimals(pa.decimal128(5, 1), "1.5", "2.5"), decimals(pa.decimal128(7, 3), "3.000", "4.000")]
        assert kept_in(store, tmp_path, files, "decimal(9,3)", keys(1500)) == [True, False]
        assert kept_in(store, tmp_path, files, "decimal(9,3)", keys(15)) == [False, False]
        assert kept_in(store, tmp_path, files, "decimal(9,3)", keys(3999, 9999)) == [False, True]

    @pytest.mark.parametrize("type", ["decimal(5,0)", "decimal(5,2)", "decimal(6,2)", "decimal(4,1)"])
    def test_a_file_with_more_digits_on_either_side_is_unknown(self, store: FooterStore, tmp_path: Path, type: str) -> None:
        assert kept_in(store, tmp_path, [decimals(pa.decimal128(6, 1), "1.5", "2.5")], type, EmptyFilter()) == [True]

    def test_short_and_long_files_under_a_long_type(self, store: FooterStore, tmp_path: Path) -> None:
        files = [
            decimals(pa.decimal128(7, 2), "-1.50", "2.50"),
            decimals(pa.decimal128(20, 0), "-7", "-5"),
            decimals(pa.decimal128(30, 4), "2.0000", "9.0000"),
        ]
        assert kept_in(store, tmp_path, files, "decimal(38,4)", long_decimals(25000)) == [True, False, True]
        assert kept_in(store, tmp_path, files, "decimal(38,4)", long_decimals(-60000)) == [False, True, False]
        assert kept_in(store, tmp_path, files, "decimal(38,4)", long_decimals(-20000, 10**37)) == [False, False, False]

    def test_packs_of_nulls_and_without_bounds_stay_what_they_are(self, store: FooterStore, tmp_path: Path) -> None:
        nulls = pa.array([None, None], pa.decimal128(7, 2))
        assert kept_in(store, tmp_path, [nulls], "decimal(38,4)", long_decimals(1)) == [False]
        files = [decimals(pa.decimal128(7, 2), "1.00")]
        assert kept_in(store, tmp_path, files, "decimal(18,4)", keys(7), write_statistics=False) == [True]

    def test_whole_numbers_under_a_decimal_are_unknown(self, store: FooterStore, tmp_path: Path) -> None:
        assert kept_in(store, tmp_path, [pa.array([1, 2])], "decimal(18,0)", EmptyFilter()) == [True]


class TestFloats:
    def test_floats_under_a_double_keep_their_values(self, store: FooterStore, tmp_path: Path) -> None:
        files = [pa.array([0.1, 0.5], pa.float32()), pa.array([0.1, 0.5], pa.float64())]
        widened = float(np.float32(0.1))
        assert kept_in(store, tmp_path, files, "double", doubles(widened)) == [True, True]
        assert kept_in(store, tmp_path, files, "double", doubles(0.1)) == [False, True]

    def test_doubles_under_a_float_are_unknown(self, store: FooterStore, tmp_path: Path) -> None:
        assert kept_in(store, tmp_path, [pa.array([0.1, 0.5], pa.float64())], "float", EmptyFilter()) == [True]

    @pytest.mark.parametrize("type", ["float", "double"])
    def test_a_nan_key_keeps_every_pack_with_values(self, store: FooterStore, tmp_path: Path, type: str) -> None:
        # A footer does not say whether there are NaNs: the first file has one, and its bounds are 1.0 and 2.0.
        files = [pa.array(values, pa.float32()) for values in ([1.0, math.nan, 2.0], [1.0, 2.0], [None])]
        assert kept_in(store, tmp_path, files, type, keys(NAN_KEY)) == [True, True, False]
        assert kept_in(store, tmp_path, files, type, doubles(9.0)) == [False, False, False]

    def test_either_zero_finds_the_other(self, store: FooterStore, tmp_path: Path) -> None:
        files = [pa.array([-0.0, 1.0]), pa.array([-1.0, 0.0]), pa.array([1.0, 2.0])]
        assert kept_in(store, tmp_path, files, "double", doubles(-0.0)) == [True, True, False]


class TestTimes:
    @pytest.mark.parametrize("type", ["timestamp", "timestamp_ntz"])
    def test_microseconds_count_as_they_are_with_and_without_zone(self, store: FooterStore, tmp_path: Path, type: str) -> None:
        files = [pa.array([1, 2], pa.timestamp("us", "UTC")), pa.array([1, 2], pa.timestamp("ms"))]
        assert kept_in(store, tmp_path, files, type, keys(2)) == [True, False]
        assert kept_in(store, tmp_path, files, type, keys(1500)) == [False, True]

    @pytest.mark.parametrize("type", ["timestamp", "timestamp_ntz", "bigint", "int"])
    def test_dates_under_another_type_are_unknown(self, store: FooterStore, tmp_path: Path, type: str) -> None:
        assert kept_in(store, tmp_path, [pa.array([datetime.date(2020, 1, 1)])], type, EmptyFilter()) == [True]


class TestStrings:
    def test_files_of_any_length_are_one_column(self, store: FooterStore, tmp_path: Path) -> None:
        files = [pa.array(["a", "b"]), pa.array(["b" * 20, "b" * 30]), pa.array(["c" * 500])]
        assert kept_in(store, tmp_path, files, "string", strings(b"b")) == [True, False, False]
        assert kept_in(store, tmp_path, files, "string", strings(b"b" * 25, b"c" * 400)) == [False, True, False]
        assert kept_in(store, tmp_path, files, "string", strings(b"c" * 500)) == [False, False, True]

    @pytest.mark.parametrize("type", ["string collate UTF8_LCASE", "string collate UNICODE", "char(4)", "varchar(4)"])
    def test_other_collations_reject_nothing(self, store: FooterStore, tmp_path: Path, type: str) -> None:
        assert kept_in(store, tmp_path, [pa.array(["a", "b"])], type, strings(b"z")) == [True]

    def test_padding_is_data(self, store: FooterStore, tmp_path: Path) -> None:
        files = [pa.array(["ab  "]), pa.array(["ab"])]
        assert kept_in(store, tmp_path, files, "string", strings(b"ab  ")) == [True, False]
        assert kept_in(store, tmp_path, files, "string", strings(b"ab")) == [False, True]

    def test_bytes_of_fixed_length_are_binary_and_no_strings(self, store: FooterStore, tmp_path: Path) -> None:
        files = [pa.array([b"ab"], pa.binary(2)), pa.array([b"ab"])]
        assert kept_in(store, tmp_path, files, "binary", strings(b"zz")) == [False, False]
        assert kept_in(store, tmp_path, files, "string", strings(b"zz")) == [True, False]


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (pa.array([1, 2], pa.int32()), "boolean"),
        (pa.array([True]), "int"),
        (pa.array([1.5]), "bigint"),
        (pa.array([1], pa.int32()), "double"),
        (pa.array(["1"]), "int"),
        (pa.array([1]), "string"),
        (pa.array([1], pa.timestamp("us", "UTC")), "bigint"),
        (decimals(pa.decimal128(5, 0), "1"), "int"),
        (pa.array([1], pa.int32()), "interval day to second"),
    ],
    ids=str,
)
def test_types_that_do_not_go_together_reject_nothing(store: FooterStore, tmp_path: Path, values: pa.Array, type: str) -> None:
    assert kept_in(store, tmp_path, [values], type, EmptyFilter()) == [True]


def test_packs_without_nulls_are_not_kept_for_nulls(store: FooterStore, tmp_path: Path) -> None:
    files = [pa.array(["a"]), pa.array(["a", None]), pa.array([None], pa.string())]
    assert kept_in(store, tmp_path, files, "string", EmptyFilter(keep_nulls=True)) == [False, True, True]


def test_a_column_missing_in_a_file_may_be_null_there(store: FooterStore, tmp_path: Path) -> None:
    paths = [write(tmp_path / "0.parquet", {"b": pa.array([1])}), write(tmp_path / "1.parquet", {"a": pa.array(["a"])})]
    assert kept(store, loaded(store, paths, "a"), "a", EmptyFilter(keep_nulls=True), "string") == [True, False]


@pytest.mark.parametrize("type", ["decimal(0,0)", "decimal(39,2)", "decimal(3,4)", "decimal(5, 2)", "decimal", "struct<a:int>", ""])
def test_texts_that_are_no_key_type(type: str) -> None:
    assert probe_type(type) is None
