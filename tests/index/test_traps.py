"""Files whose values may be other ones to Spark than they seem: no sketch is made of them, and their packs stay open."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files.sketching import Portion, sketch_portion
from rtfilter.store.sketches.domain import PackValues, domain_of, pack_values
from rtfilter.store.sketches.kinds import MinMax

UTC = datetime.UTC


def bounds(path: Path, spark_type: str, column: str = "a") -> list[tuple[Any, Any] | None]:
    """Lowest and highest of each pack, None for a pack without a sketch."""
    file = list_directory(str(path)).files[0]
    found = sketch_portion(Portion(file, 0, file.size_bytes), (MinMax(column),), {column: spark_type})
    assert found.problem is None, found.problem
    return [None if row["nulls"] is None else (row["low"], row["high"]) for row in found.batches[0].to_pylist()]


def written(path: Path, values: Any, type_: pa.DataType | None = None, **options: Any) -> Path:
    pq.write_table(pa.table({"a": pa.array(values, type_)}), path / "p.parquet", **options)
    return path / "p.parquet"


@pytest.mark.parametrize(
    ("values", "type_", "spark_type", "expected"),
    [
        ([1, 2], pa.int64(), "bigint", (1, 2)),
        ([1, 2], pa.int32(), "bigint", (1, 2)),
        ([1, 2], pa.int64(), "int", None),
        ([1, 2**32 - 1], pa.uint32(), "bigint", (1, 2**32 - 1)),
        ([1, 2], pa.uint32(), "int", None),
        ([1, 2], pa.uint64(), "bigint", None),
        ([1], pa.decimal128(9, 2), "decimal(9,2)", (100, 100)),
        ([1], pa.decimal128(9, 0), "decimal(12,2)", (100, 100)),
        ([1], pa.decimal128(9, 4), "decimal(9,2)", None),
        ([1], pa.decimal128(18, 2), "decimal(9,2)", None),
        ([datetime.date(1999, 1, 1)], pa.date32(), "date", (10592, 10592)),
        ([datetime.date(1582, 10, 14)], pa.date32(), "date", None),
        ([datetime.datetime(2000, 1, 1)], pa.timestamp("us"), "timestamp_ntz", (946_684_800_000_000, 946_684_800_000_000)),
        ([datetime.datetime(2000, 1, 1)], pa.timestamp("ms"), "timestamp_ntz", (946_684_800_000_000, 946_684_800_000_000)),
        ([datetime.datetime(2000, 1, 1)], pa.timestamp("us"), "timestamp", None),
        ([datetime.datetime(2000, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"), "timestamp_ntz", None),
        ([datetime.datetime(2000, 1, 1)], pa.timestamp("ns"), "timestamp_ntz", None),
        ([datetime.datetime(1899, 1, 1)], pa.timestamp("us"), "timestamp_ntz", None),
        ([1.5, -0.0], pa.float32(), "float", (0, 0x3FF8000000000000)),
        ([1.5], pa.float64(), "float", None),
        (["b", "a"], pa.string(), "string", (b"a", b"b")),
        (["b", "a"], pa.dictionary(pa.int32(), pa.string()), "string", (b"a", b"b")),
        ([b"ab"], pa.binary(2), "binary", None),
        ([None, None], pa.int32(), "int", (None, None)),
        ([], pa.int32(), "int", (None, None)),
    ],
)
def test_values_are_taken_only_where_spark_sees_the_same(
    tmp_path: Path, values: list[Any], type_: pa.DataType, spark_type: str, expected: tuple[Any, Any] | None
) -> None:
    written(tmp_path, values, type_)
    assert bounds(tmp_path, spark_type) in ([expected], [])


def test_nan_stands_above_everything_and_is_no_bound_that_misleads(tmp_path: Path) -> None:
    written(tmp_path, [1.0, float("nan"), -1.0])
    found = bounds(tmp_path, "double")[0]
    assert found is not None and found[1] == 0x7FF8000000000000 and found[0] < 0


def test_int96_of_another_writer_than_parquet_mr_is_not_taken(tmp_path: Path) -> None:
    written(tmp_path, [datetime.datetime(2000, 1, 1)], use_deprecated_int96_timestamps=True)
    assert bounds(tmp_path, "timestamp") == [None]


@pytest.mark.parametrize("key", [b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"])
def test_files_of_the_old_calendar_are_not_taken(tmp_path: Path, key: bytes) -> None:
    table = pa.table({"a": pa.array([datetime.date(2000, 1, 1)])}).replace_schema_metadata({key: b""})
    pq.write_table(table, tmp_path / "p.parquet")
    assert bounds(tmp_path, "date") == [None]


@pytest.mark.parametrize("names", [["a", "A"], ["A", "b"], ["b", "c"]])
def test_a_name_that_is_missing_ambiguous_or_of_another_case_is_not_taken(tmp_path: Path, names: list[str]) -> None:
    pq.write_table(pa.table({name: [1, 2] for name in names}), tmp_path / "p.parquet")
    assert bounds(tmp_path, "bigint") == [None]


def test_a_nested_column_is_not_taken_for_one_with_a_dot(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [{"b": 1}], "c": [1]}), tmp_path / "p.parquet")
    assert bounds(tmp_path, "bigint", column="a.b") == [None]
    pq.write_table(pa.table({"a.b": [5]}), tmp_path / "p.parquet")
    assert bounds(tmp_path, "bigint", column="a.b") == [(5, 5)]
    pq.write_table(pa.table({"a": [{"b": 1}], "a.b": [5]}), tmp_path / "p.parquet")
    assert bounds(tmp_path, "bigint", column="a.b") == [(5, 5)]


def test_a_list_is_not_taken(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [[1, 2]]}), tmp_path / "p.parquet")
    assert bounds(tmp_path, "bigint") == [None]


@pytest.mark.parametrize("spark_type", ["string collate UNICODE_CI", "array<int>", "decimal", "interval day", "char(3)", "void"])
def test_other_types_have_no_domain(spark_type: str) -> None:
    assert domain_of(spark_type) is None


def test_nulls_are_counted_and_values_are_distinct() -> None:
    found = pack_values(pa.chunked_array([pa.array([3, None, 3]), pa.array([None, 1])]), "bigint")
    assert isinstance(found, PackValues) and found.longs is not None
    assert (found.rows, found.nulls, sorted(found.longs.tolist())) == (5, 2, [1, 3])
