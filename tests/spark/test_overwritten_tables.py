"""Spark empties a table before it overwrites it, and the index inside goes with the rest: that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Index, MinMax
from tests.spark.cases import fact_table, write_files


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    write_files(fact_table(), tmp_path / "t", 2)
    spark.sql(f"create table overwritten using parquet location '{tmp_path / 't'}'")
    yield tmp_path / "t"
    spark.sql("drop table overwritten")


def by_frame(spark: SparkSession, table: Path) -> None:
    spark.table("fact").limit(3000).write.mode("overwrite").parquet(str(table))


def by_sql(spark: SparkSession, table: Path) -> None:
    spark.sql("insert overwrite overwritten select * from fact where k < 300")


@pytest.mark.parametrize("overwrite", [by_frame, by_sql])
def test_why_not_and_indexes_say_so(spark: SparkSession, table: Path, overwrite: Callable[[SparkSession, Path], None]) -> None:
    Index.create(None, str(table), [MinMax("r")], name="i")
    overwrite(spark, table)
    assert not (table / "_rtfilter").exists()
    assert [each.state for each in rtfilter.indexes(spark, str(table))] == ["GONE"]
    assert [(each.name, each.state) for each in rtfilter.indexes(spark) if each.table == "`overwritten`"] == [("i", "GONE")]
    said = f"Index i in {table}/_rtfilter is not used: it is not there any more, as after its table was overwritten; make it anew"
    frame = spark.read.parquet(str(table))
    (warning,) = rtfilter.why_not(frame.where("r = 77")).warnings
    assert warning.startswith(said) and "rtfilter.store.location" in warning
    assert rtfilter.why_not(spark.table("fact").where("r = 77")).warnings == ()
    joined = frame.join(spark.table("dim").where("name = 'n77'"), frame.r == spark.table("dim").id)
    found = rtfilter.why_not(joined)
    assert said in str(found) or said in "".join((*found.warnings, *(key.detail for key in found.keys)))
    rtfilter.indexes(spark, str(table))[0].delete()
    assert rtfilter.why_not(frame.where("r = 77")).warnings == () and rtfilter.indexes(spark, str(table)) == []
