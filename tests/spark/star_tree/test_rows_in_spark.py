"""Spark reads the rows of a tree's files as they were written, all types, by the schema that the definition gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rtfilter.star_tree.row_types import spark_type_of_column
from tests.star_tree.stored_trees import stored_tree, wide_table


def plain(table: pa.Table) -> list[str]:
    """Rows as texts, in the order of their numbers; NaN is NaN."""
    return sorted(map(str, table.cast(_in_utc(table.schema)).to_pylist()))


def _in_utc(schema: pa.Schema) -> pa.Schema:
    """Strings of any size, and times in UTC: Spark says them in its session's zone."""
    found = []
    for field in schema:
        is_time = pa.types.is_timestamp(field.type) and field.type.tz is not None
        found.append((field.name, pa.timestamp("us", tz="UTC") if is_time else field.type))
    return pa.schema(found)


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize("mode", ["EXCEPTION", "LEGACY", "CORRECTED"])
def test_rows_are_read_as_they_were_written(spark: SparkSession, tmp_path: Path, vectorized: str, mode: str) -> None:
    storage, snapshot, segment, built = stored_tree(tmp_path, wide_table(3))
    names = built.rows.column_names
    schema = ", ".join(f"`{name}` {spark_type_of_column(snapshot.definition, name)}" for name in names)
    own = spark.newSession()
    own.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    own.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", mode)
    paths = [storage.local_file(file.name) for file in segment.rows]
    frame = own.read.schema(schema).parquet(*paths)
    assert frame.schema == own.read.parquet(*paths).select(*[f"`{name}`" for name in names]).schema
    read: Any = frame.toArrow()
    assert plain(read) == plain(built.rows) and read.num_rows > 500


def test_row_numbers_select_pages(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's reader understands the numbers' encoding and the page index: a filter on them reads few rows."""
    storage, _, segment, built = stored_tree(tmp_path, wide_table(3, 6_000), max_leaf=1)
    frame = spark.read.parquet(storage.local_file(segment.rows[0].name))
    assert len(built.rows) > 10_000
    found = frame.where("row >= 5000 and row < 5010")
    assert [row.row for row in found.orderBy("row").collect()] == list(range(5000, 5010))
