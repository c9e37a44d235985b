"""How a file's statistics were made: column orders at the end of the footer, the writer, the calendar."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rtfilter.store.file_origin import has_legacy_calendar, knows_decimal_order, type_defined_orders
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
    ("created_by", "known"),
    [
        ("parquet-mr version 1.13.1 (build 0123)", True),
        ("parquet-mr version 1.10.0", True),
        ("parquet-mr version 1.9.0", False),
        ("parquet-mr", False),
        ("parquet-cpp-arrow version 26.0.1", True),
        ("parquet-cpp-arrow version 3.0.0", False),
        ("parquet-cpp version 1.5.1-SNAPSHOT", False),
        ("DuckDB version v1.5.5 (build d8cdaa33fd)", True),
        ("DuckDB", False),
        ("Polars", False),
        ("ClickHouse v25.3.1", False),
        ("like parquet-mr version 1.13.1", False),
        ("", False),
    ],
)
def test_writers_that_are_known_to_order_decimals_in_bytes(created_by: str, known: bool) -> None:
    assert knows_decimal_order(created_by) == known


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
