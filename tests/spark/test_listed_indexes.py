"""`rtfilter.indexes(spark)` finds the indexes of tables that the session has read by path, and of no others."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Index, MinMax
from tests.spark.cases import fact_table, write_files


def made(folder: Path) -> Path:
    write_files(fact_table().slice(0, 100), folder, 1)
    Index.create(None, str(folder), [MinMax("k")], name=f"of_{folder.name.partition('=')[0]}")
    return folder


def names(spark: SparkSession) -> list[str]:
    return sorted(each.name for each in rtfilter.indexes(spark))


def test_tables_read_by_path_are_among_them(spark: SparkSession, tmp_path: Path) -> None:
    before = names(spark)
    read, unread, shown = (made(tmp_path / name) for name in ("read", "unread", "shown"))
    assert names(spark) == before
    spark.read.parquet(str(read)).where("k < 3").collect()
    spark.read.parquet(str(shown)).createOrReplaceTempView("shown")
    assert names(spark) == sorted([*before, "of_read", "of_shown"])
    found = {each.name: each for each in rtfilter.indexes(spark)}
    assert (found["of_read"].table, found["of_read"].state) == (str(read), "ACTIVE")
    assert found["of_read"].stats()["files_indexed"] == 1
    assert names(spark.newSession()) == before
    assert unread.exists()


def test_a_file_or_a_partition_that_was_read_counts_for_its_table(spark: SparkSession, tmp_path: Path) -> None:
    before = names(spark)
    made(tmp_path / "whole")
    spark.read.parquet(str(tmp_path / "whole" / "part-000.parquet")).collect()
    for part in ("a", "b"):
        write_files(fact_table().slice(0, 100), tmp_path / "parts" / f"p={part}", 1)
    Index.create(None, str(tmp_path / "parts"), [MinMax("k")], name="of_parts")
    spark.read.parquet(str(tmp_path / "parts" / "p=b")).collect()
    assert names(spark) == sorted([*before, "of_parts", "of_whole"])


def test_one_of_the_catalog_stands_once(spark: SparkSession, tmp_path: Path) -> None:
    made(tmp_path / "listed")
    spark.sql(f"create table listed using parquet location '{tmp_path / 'listed'}'")
    spark.table("listed").collect()
    spark.read.parquet(str(tmp_path / "listed")).collect()
    assert names(spark).count("of_listed") == 1
    spark.sql("drop table listed")
