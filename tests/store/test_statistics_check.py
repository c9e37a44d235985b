"""Bounds of the wrong length, which pyarrow would end the process on, are seen before it reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem, parse_footer_tail
from rtfilter.store.parquet.statistics_check import leaves_of_other_widths, needs_a_look, stored_width
from tests.store.handmade import (
    BYTE_ARRAY,
    DOUBLE,
    FIXED_LEN_BYTE_ARRAY,
    INT32,
    INT64,
    MAX_VALUE,
    MIN_VALUE,
    Field,
    between,
    binary,
    double,
    footer_tail,
    int32,
    int64,
    legacy_between,
)
from tests.store.tables_at_hand import bounds_of, write

BOOLEAN = 0


def found_in(low: Field, high: Field, **options: Any) -> FileStats | FooterProblem:
    return parse_footer_tail(footer_tail([between(low, high)], created_by="somebody", **options), ["a"])


def problem_of(found: FileStats | FooterProblem) -> str:
    assert isinstance(found, FileStats)
    assert found.bounds_of("a", True) is None
    return found.problem_of("a", True)


@pytest.mark.parametrize(
    ("physical", "low", "high"),
    [
        (BOOLEAN, binary(b""), binary(b"")),
        (INT32, binary(b"\x01"), int32(2)),
        (INT32, int32(1), binary(b"")),
        (INT32, int32(1), int64(2)),
        (INT64, int32(1), int32(2)),
        (DOUBLE, int32(1), double(2.0)),
        (FIXED_LEN_BYTE_ARRAY, binary(b"ab"), binary(b"abcdefgi")),
        (FIXED_LEN_BYTE_ARRAY, binary(b"abcdefgh"), binary(b"abcdefghi")),
    ],
)
def test_bounds_of_the_wrong_length_cost_their_column_only(physical: int, low: Field, high: Field) -> None:
    assert "wrong length" in problem_of(found_in(low, high, physical=physical, type_length=8))


def test_old_fields_are_looked_at_too() -> None:
    tail = footer_tail([legacy_between(binary(b""), binary(b""))], created_by="somebody", type_defined_order=False)
    assert "wrong length" in problem_of(parse_footer_tail(tail, ["a"]))


@pytest.mark.parametrize(
    ("physical", "low", "high"),
    [
        (INT32, int32(1), int32(2)),
        (INT64, int64(1), int64(2)),
        (BYTE_ARRAY, binary(b""), binary(b"x" * 1000)),
        (FIXED_LEN_BYTE_ARRAY, binary(b"abcdefgh"), binary(b"abcdefgi")),
    ],
)
def test_whole_bounds_of_any_writer_are_used(physical: int, low: Field, high: Field) -> None:
    found = found_in(low, high, physical=physical, type_length=8)
    assert isinstance(found, FileStats)
    bounds = found.bounds_of("a", True)
    assert bounds is not None and bounds.has_bounds.tolist() == [True]


def test_missing_bounds_are_no_problem() -> None:
    tail = footer_tail([None, {}, {MIN_VALUE: int32(1)}, {MAX_VALUE: int32(1)}], created_by="somebody")
    assert isinstance(parse_footer_tail(tail, ["a"]), FileStats)


def test_columns_that_nobody_asked_for_do_not_matter() -> None:
    tail = footer_tail([between(binary(b""), binary(b""))], created_by="somebody")
    assert isinstance(parse_footer_tail(tail, ["b"]), FileStats)


def test_fixed_bytes_that_writers_shorten_are_not_used(tmp_path: Path) -> None:
    for length, used in ((64, True), (65, False)):
        path = write(tmp_path / f"{length}.parquet", {"a": pa.array([bytes(length)], pa.binary(length))})
        assert (bounds_of(path, "a") is not None) == used


@pytest.mark.parametrize("columns", [1, 20])
def test_a_footer_of_a_real_writer_is_gone_through_to_its_end(tmp_path: Path, columns: int) -> None:
    names = [f"c{i}" for i in range(columns)]
    table = pa.table({name: pa.array([1, 2, None], pa.int32()) for name in names} | {"s": ["a", "b", "c"], "l": [[1], [], None]})
    path = write(tmp_path / "t.parquet", table.replace_schema_metadata({"key": "value"}), pack_rows=1)
    data = path.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    schema = pq.read_metadata(path).schema
    widths = {leaf: width for leaf in range(len(schema)) if (width := stored_width(schema.column(leaf))) is not None}
    assert len(widths) == columns + 1
    assert not leaves_of_other_widths(footer, widths)
    assert leaves_of_other_widths(footer, widths | {columns - 1: 8}) == {columns - 1}
    for cut in range(0, len(footer) - 1, 7):
        with pytest.raises((IndexError, ValueError)):
            leaves_of_other_widths(footer[:cut], widths)


@pytest.mark.parametrize(
    ("created_by", "look"),
    [
        ("parquet-mr version 1.12.0", False),
        ("DuckDB version v1.5.5", False),
        ("parquet-rs version 53.0.0", True),
        ("", True),
        (None, True),
    ],
)
def test_files_of_most_writers_are_spared_the_look(created_by: str | None, look: bool) -> None:
    assert needs_a_look(created_by) == look
