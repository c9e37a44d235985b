"""How a file's statistics were made: column orders at the end of the footer, the writer, the calendar."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rtfilter.store.parquet.file_origin import (
    BelievedDecimals,
    believed_decimals,
    believed_floats,
    has_legacy_calendar,
    type_defined_orders,
)
from tests.store.handmade import footer_tail
from tests.store.tables_at_hand import write

DEFINED, OTHER = b"\x1c\x00\x00", b"\x2c\x00\x00"


def footer_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


class TestColumnOrders:
    @pytest.mark.parametrize("columns", [1, 14, 15, 16, 200])
    def test_files_of_pyarrow_have_them(self, tmp_path: Path, columns: int) -> None:
        path = write(tmp_path / "t.parquet", {f"c{i}": pa.array([1]) for i in range(columns)})
        assert type_defined_orders(footer_of(path), columns) == (True,) * columns

    @pytest.mark.parametrize("columns", [1, 15, 40])
    def test_files_of_duckdb_have_them(self, tmp_path: Path, columns: int) -> None:
        path = tmp_path / "t.parquet"
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"copy (select {','.join(f'{i} as c{i}' for i in range(columns))}) to '{path}' (format parquet)")
        assert type_defined_orders(footer_of(path), columns) == (True,) * columns

    def test_a_footer_without_them_has_none(self) -> None:
        assert type_defined_orders(footer_tail([None])[:-8], 1) == (True,)
        assert type_defined_orders(footer_tail([None], type_defined_order=False)[:-8], 1) == (False,)

    def test_an_order_of_another_kind_is_told_apart_by_column(self) -> None:
        assert type_defined_orders(b"..." + b"\x19\x3c" + DEFINED + OTHER + DEFINED + b"\0", 3) == (True, False, True)

    @pytest.mark.parametrize(
        "footer",
        [
            b"",
            b"\0",
            b"\x19\x2c" + DEFINED + DEFINED,
            b"\x19\x1c" + DEFINED + DEFINED + b"\0",
            b"\x49\x2c" + DEFINED + DEFINED + b"\0",
            b"\x19\x2c" + DEFINED + b"\x1c\x00\x01" + b"\0",
            b"\x19\x2c" + DEFINED + DEFINED + b"\x15\x00" + b"\0",
        ],
        ids=["nothing", "an end", "no end", "another count", "another field", "another order", "a field behind"],
    )
    def test_what_is_not_understood_has_none(self, footer: bytes) -> None:
        assert type_defined_orders(footer, 2) == (False, False)


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("parquet-mr version 1.13.1 (build 0123)", BelievedDecimals.ANY_BYTES),
        ("parquet-mr version 1.10.0", BelievedDecimals.ANY_BYTES),
        ("parquet-mr version 1.9.0", BelievedDecimals.NUMBERS),
        ("parquet-mr", BelievedDecimals.NUMBERS),
        ("parquet-cpp-arrow version 26.0.1", BelievedDecimals.ANY_BYTES),
        ("parquet-cpp-arrow version 3.0.0", BelievedDecimals.NUMBERS),
        ("parquet-cpp version 1.5.1-SNAPSHOT", BelievedDecimals.NUMBERS),
        ("DuckDB version v1.5.5 (build d8cdaa33fd)", BelievedDecimals.ANY_BYTES),
        ("DuckDB", BelievedDecimals.NUMBERS),
        ("parquet-rs version 59.3.0", BelievedDecimals.FIXED_BYTES),
        ("parquet-rs version 12.0.0", BelievedDecimals.NUMBERS),
        ("datafusion version 55.0.0", BelievedDecimals.FIXED_BYTES),
        ("datafusion-python", BelievedDecimals.FIXED_BYTES),
        ("datafusion-pythons", BelievedDecimals.NUMBERS),
        ("Polars", BelievedDecimals.NUMBERS),
        ("Polars (python) version 2.1.0 (build 7f902bd3)", BelievedDecimals.FIXED_BYTES),
        ("Polars (python) version 1.99.0 (build 7f902bd3)", BelievedDecimals.NUMBERS),
        ("ClickHouse v25.3.1", BelievedDecimals.NUMBERS),
        ("ClickHouse version 25.8.1 (build bb16)", BelievedDecimals.NUMBERS),
        ("ClickHouse version 26.9.2 (build bb16)", BelievedDecimals.FIXED_BYTES),
        ("rugo version 0.5.6", BelievedDecimals.FIXED_BYTES),
        ("rugo version 0.4.43", BelievedDecimals.NUMBERS),
        ("hyparquet", BelievedDecimals.NONE),
        ("like parquet-mr version 1.13.1", BelievedDecimals.NUMBERS),
        ("", BelievedDecimals.NUMBERS),
    ],
)
def test_which_bounds_of_decimals_a_writer_has_in_order(created_by: str, believed: BelievedDecimals) -> None:
    assert believed_decimals(created_by) is believed


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("parquet-mr version 1.13.1 (build 0123)", True),
        ("parquet-mr version 1.9.0", False),
        ("parquet-cpp-arrow version 26.0.1", True),
        ("parquet-cpp version 1.5.1-SNAPSHOT", True),
        ("DuckDB version v1.5.5 (build d8cdaa33fd)", True),
        ("DuckDB", False),
        ("parquet-rs version 59.3.0", True),
        ("datafusion-python", True),
        ("Polars", False),
        ("Polars (python) version 2.1.0 (build 7f902bd3)", True),
        ("ClickHouse version 26.9.2 (build bb16)", True),
        ("fastparquet-python version 2026.9.0 (build 0)", True),
        ("hyparquet", True),
        ("LBUG", False),
        ("", False),
    ],
)
def test_which_bounds_of_floats_a_nan_has_not_spoiled(created_by: str, believed: bool) -> None:
    assert believed_floats(created_by) is believed


@pytest.mark.parametrize(
    ("metadata", "legacy"),
    [
        ({}, False),
        ({b"org.apache.spark.version": b"4.3.0"}, False),
        ({b"org.apache.spark.version": b"3.0.1"}, False),
        ({b"org.apache.spark.version": b"2.4.8"}, True),
        ({b"org.apache.spark.version": b"?"}, True),
        ({b"org.apache.spark.version": b"4.3.0", b"org.apache.spark.legacyDateTime": b""}, True),
    ],
)
def test_the_calendar_by_sparks_metadata(metadata: dict[bytes, bytes], legacy: bool) -> None:
    assert has_legacy_calendar(metadata) == legacy
