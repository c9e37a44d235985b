"""Star-trees of tables that Spark reads: each answers what Spark's own GROUP BY of the table does."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter import IndexDefinitionError, IndexStorageError, StarTree
from rtfilter.index import star_tree_base
from rtfilter.star_tree.actions import estimate as estimate_module
from rtfilter.star_tree.actions import tree_actions
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.storage import LocalStorage
from tests.star_tree.tree_answers import answered

ROWS = 3_000
COLUMNS = (
    "nullif(id % 7, 3) as k",
    "nullif(concat('s', id % 5), 's2') as s",
    "date_add(date'2020-01-30', cast(id % 4 as int)) as day",
    "if(id % 9 = 0, 9223372036854775807, id) as big",
    "if(id % 4 = 0, null, cast(id * 1.25 as decimal(12,2))) as price",
    "element_at(array(0.0D, -0.0D, double('NaN'), 1.5D, null), cast(id % 5 as int) + 1) as f",
    "cast(id % 200 - 100 as tinyint) as tiny",
    "timestamp_micros(1600000000000000 + id % 3) as at",
    "cast(concat('r', id % 2) as binary) as raw",
)
MEASURES = ("count(*)", "sum(big)", "sum(price)", "avg(price)", "min(f)", "max(f)", "sum(tiny)", "min(s)", "max(raw)", "max(at)")
OF_ROWS = ('sum("count")', 'sum("sum(price)")', 'sum("count(price)")', 'sum("sum(tiny)")', 'min("min(s)")', 'max("max(raw)")')
OF_TABLE = ("count(*)", "sum(price)", "count(price)", "sum(tiny)", "min(s)", "max(raw)")


def frame(spark: SparkSession, rows: int = ROWS, start: int = 0) -> DataFrame:
    return spark.range(start, start + rows).selectExpr(*COLUMNS)


def check(spark: SparkSession, tree: StarTree, table: DataFrame, sizes: Sequence[int] = (0, 1, 2)) -> None:
    """Every grouping of up to two dimensions, and that the tree has something to say of each."""
    for size in sizes:
        for grouped in itertools.combinations(range(len(tree.dimensions)), size):
            keys = [f"`{tree.dimensions[number]}`" for number in grouped]
            theirs = sorted((tuple(row) for row in table.groupBy(*map(_expr, keys)).agg(*map(_expr, OF_TABLE)).collect()), key=str)
            ours = answered(tree.place, grouped, OF_ROWS)
            assert [tuple(map(_plain, row)) for row in ours] == [tuple(map(_plain, row)) for row in theirs] and ours


def _expr(text: str) -> Any:
    from pyspark.sql import functions as F

    return F.expr(text)


def _plain(value: Any) -> str:
    if isinstance(value, bytearray | bytes):
        return bytes(value).hex()
    return str(value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value)


def test_all_types(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    frame(spark).repartition(3).write.parquet(table)
    dimensions = ["k", "day", "s", "at", "raw"]
    tree = StarTree.create(spark, table, dimensions, MEASURES, name="cube", max_leaf=3)
    check(spark, tree, spark.read.parquet(table))
    assert tree.last_build is not None and tree.last_build.table_rows == ROWS
    found = answered(tree.place, [], ['sum("sum(big)"::hugeint)', 'min("min(f)")', 'max("max(f)")'])
    assert int(found[0][0]) % 2**64 == sum(2**63 - 1 if i % 9 == 0 else i for i in range(ROWS)) % 2**64
    assert found[0][1] == 0 and str(found[0][2]) == "nan"
    snapshot = read_log(LocalStorage(tree.place)).tree
    assert snapshot is not None and snapshot.segments[0].largest == {"big": 2**63 - 1, "price": 374875, "tiny": 100}
    assert set(snapshot.segments[0].nullable) == {"price", "f", "s"}


@pytest.mark.parametrize("dimension", ["f", "price", "tiny"])
def test_a_dimension_of_each_other_type(spark: SparkSession, tmp_path: Path, dimension: str) -> None:
    table = str(tmp_path / "t")
    frame(spark).write.parquet(table)
    tree = StarTree.create(spark, table, [dimension], ["count(*)"], name="cube")
    ours = answered(tree.place, [0], ['sum("count")'])
    theirs = [tuple(row) for row in spark.read.parquet(table).groupBy(dimension).count().collect()]
    assert sorted((str(key), int(count)) for key, count in ours) == sorted((str(key), count) for key, count in theirs)


def test_long_sums_wrap_around_whatever_ansi_says(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    spark.sql("select 1 as k, 9223372036854775807 as x union all select 1, 10").write.parquet(table)
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "true")
    tree = StarTree.create(own, table, ["k"], ["sum(x)"], name="cube")
    assert answered(tree.place, [], ['sum("sum(x)")']) == [(-(2**63) + 9,)]
    assert own.conf.get("spark.sql.ansi.enabled") == "true"


def test_partition_columns_are_dimensions(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    frame(spark).withColumnRenamed("k", "p").write.partitionBy("p", "day").parquet(table)
    read = spark.read.parquet(table)
    tree = StarTree.create(spark, table, ["p", "s", "day"], MEASURES, name="cube", max_leaf=2)
    check(spark, tree, read)
    more = frame(spark, 500, ROWS).withColumnRenamed("k", "p")
    more.write.mode("append").partitionBy("p", "day").parquet(table)
    report = tree.refresh()
    assert report.table_rows == 500 and tree.stats()["segments"] == 56
    check(spark, tree, spark.read.parquet(table))
    assert tree.optimize() == 28
    check(spark, tree, spark.read.parquet(table))


def test_a_table_of_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("drop table if exists sales")
    frame(spark).write.option("path", str(tmp_path / "sales")).saveAsTable("sales")
    tree = StarTree.create(spark, "sales", ["day", "k"], MEASURES, name="cube", max_leaf=2)
    check(spark, tree, spark.table("sales"))
    frame(spark, 100, ROWS).write.insertInto("sales")
    assert tree.refresh().table_rows == 100
    check(spark, tree, spark.table("sales"))
    assert tree.place in [each.place for each in rtfilter.star_trees(spark)] and rtfilter.indexes(spark, "sales") == []
    spark.sql("drop table sales")


def test_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "a b%20c" / "t")
    spark.range(100).selectExpr("id % 3 as `a.b`", "id as `x y`", "id % 2 as `d0`").write.parquet(table)
    tree = StarTree.create(spark, table, ["a.b", "d0"], ["sum(x y)", "count(*)"], name="cube", max_leaf=1)
    spark.range(50).selectExpr("id % 3 as `a.b`", "id as `x y`", "id % 2 as `d0`").write.mode("append").parquet(table)
    assert tree.refresh().table_rows == 50
    ours = answered(tree.place, [0], ['sum("sum(x y)")'])
    theirs = spark.read.parquet(table).groupBy("`a.b`").sum("`x y`").collect()
    assert ours == sorted(((row[0], row[1]) for row in theirs), key=str)


def test_what_spark_and_pyarrow_build_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    table, own = str(tmp_path / "t"), spark.newSession()
    own.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    frame(own).write.parquet(table)
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    dimensions = ["k", "day", "s", "at", "raw", "f"]
    mine = StarTree.create(None, table, dimensions, MEASURES, name="cube", max_leaf=3, location=here)
    its = StarTree.create(spark, table, dimensions, MEASURES, name="cube", max_leaf=3, location=there)
    one, other = (read_log(LocalStorage(each.place)).tree for each in (mine, its))
    assert one is not None and other is not None and one.segments == other.segments


def test_too_many_groups_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    spark.range(1_000).selectExpr("id as k", "id % 2 as s").write.parquet(table)
    with pytest.raises(IndexDefinitionError, match=r"may have 500 rows .* about 1000 groups.* Leave 'k' out, which makes about 2 "):
        StarTree.create(spark, table, ["s", "k"], ["count(*)"], name="cube", max_rows=500)
    with pytest.raises(IndexDefinitionError, match=r"would have .* 1000 of them .* Move 'k' in front of 's'"):
        StarTree.create(spark, table, ["s", "k"], ["count(*)"], name="cube", max_rows=1_000, max_leaf=1)
    assert rtfilter.star_trees(spark, table) == []


def test_groups_of_large_tables_are_counted_first(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = str(tmp_path / "t")
    spark.range(5_000).selectExpr("if(id = 0, null, id) as k", "id % 2 as s", "id % 7 as u").write.parquet(table)
    monkeypatch.setattr(tree_actions, "COUNTED_FIRST_ROWS", 1_000)
    with monkeypatch.context() as patch:
        patch.setattr(star_tree_base.SparkReader, "grouped", None)
        with pytest.raises(IndexDefinitionError, match=r"may have 500 rows .* Leave 'k' out, which makes about 14 groups"):
            StarTree.create(spark, table, ["k", "s", "u"], ["count(*)"], name="cube", max_rows=500)
    assert StarTree.create(spark, table, ["k", "s"], ["count(*)"], name="cube", max_rows=20_000).last_build is not None


def test_a_table_that_changes_during_the_build(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "t"
    spark.range(100).selectExpr("id % 3 as k").write.parquet(str(table))
    grouped = star_tree_base.SparkReader.grouped

    def replaced_meanwhile(reader: Any, *arguments: Any) -> Any:
        found = grouped(reader, *arguments)
        spark.range(7).selectExpr("id % 3 as k").write.mode("append").parquet(str(table))
        return found

    monkeypatch.setattr(star_tree_base.SparkReader, "grouped", replaced_meanwhile)
    with pytest.raises(IndexStorageError, match=r"changed while .*part-.* is new"):
        StarTree.create(spark, str(table), ["k"], ["count(*)"], name="cube")
    assert rtfilter.star_trees(spark, str(table)) == []


@pytest.mark.parametrize("counted_from", [0, 10**9])
def test_dry_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted_from: int) -> None:
    table = str(tmp_path / "t")
    frame(spark).write.parquet(table)
    monkeypatch.setattr(estimate_module, "COUNTED_FIRST_ROWS", counted_from)
    estimate = StarTree.create(spark, table, ["s", "k", "day"], MEASURES, name="cube", max_leaf=2, dry_run=True)
    assert "Move 'k' in front of 's'" in estimate.advice and rtfilter.star_trees(spark, table) == []
    tree = StarTree.create(spark, table, ["s", "k", "day"], MEASURES, name="cube", max_leaf=2)
    stats = tree.stats()
    assert stats["rows"] / 2 <= estimate.rows <= 2 * stats["rows"] and estimate.bytes <= 2 * stats["bytes"] <= 6 * estimate.bytes
