"""Trees of many groups, which Spark builds, in every action that builds some; the number from which on is lowered to none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import IndexDefinitionError, IndexStorageError, StarTree
from rtfilter.index.large_trees import scratch, spark_groups
from rtfilter.star_tree import tree_files
from rtfilter.star_tree.actions import tree_actions
from tests.spark.applications import give_time
from tests.spark.star_tree.made_trees import both_ways, sales, write_table
from tests.spark.star_tree.two_builders import assert_same, built_by_spark, snapshot

DIMENSIONS = ["item", "day", "store"]
MEASURES = ["count(*)", "sum(x)", "sum(y)", "avg(price)", "min(name)", "max(weight)"]


def both(spark: SparkSession, table: Path, places: tuple[Path, Path], dimensions: list[str]) -> tuple[StarTree, StarTree]:
    """Two equal trees of a table, made by Spark's GROUP BY and, of few groups, by this process."""
    made = [
        StarTree.create(spark, str(table), dimensions, MEASURES, name="cube", max_leaf=20, max_rows=10**6, location=str(place))
        for place in places
    ]
    return made[0], made[1]


def test_queries_are_answered(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path / "sales", sales())
    given: Any = {"name": "cube", "max_leaf": 20, "max_rows": 10**6}
    built_by_spark(monkeypatch, tmp_path, StarTree.create, spark, str(table), DIMENSIONS, MEASURES, **given)
    own = spark.newSession()
    give_time(own)
    own.read.parquet(str(table)).createOrReplaceTempView("sales")
    for sql in (
        "select store, sum(x), count(*), avg(price), min(name) from sales where day between 3 and 20 group by store",
        "select item, max(weight), sum(y) from sales where store = 's3' group by item",
        "select count(*), sum(y), avg(y) from sales",
        "select day, store, count(y) from sales where item in (1, 5, 7) group by day, store",
    ):
        off, on = both_ways(own, sql)
        report = rtfilter.last_report(own)
        assert on == off and on and report is not None and [tree.used for tree in report.star_trees] == [True]


def test_refresh_and_optimize(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the table has no null where another has some."""
    table = write_table(tmp_path / "sales", sales())
    here, there = both(spark, table, (tmp_path / "here", tmp_path / "there"), DIMENSIONS)
    more = sales(3_000, seed=2)
    full = more.column("y").combine_chunks().fill_null(7)
    pq.write_table(more.set_column(more.column_names.index("y"), "y", full), table / "part-2.parquet")
    here.refresh()
    built_by_spark(monkeypatch, tmp_path, there.refresh)
    assert_same(here, there)
    assert len(snapshot(there).segments) == 2 and snapshot(there).segments[1].nullable == ()
    assert here.optimize() == built_by_spark(monkeypatch, tmp_path, there.optimize) == 1
    assert_same(here, there)
    os.unlink(table / "part-0.parquet")
    here.refresh("full")
    built_by_spark(monkeypatch, tmp_path, there.refresh, "full")
    assert_same(here, there)


def test_a_segment_for_each_partition(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, rows = tmp_path / "sales", sales(2_000)
    for number, part in enumerate(("day=2026-01-30", "day=__HIVE_DEFAULT_PARTITION__", "day=2026-02-01")):
        (table / part).mkdir(parents=True)
        pq.write_table(rows.slice(number * 500, 500).drop_columns(["day"]), table / part / "part-0.parquet")
    given: Any = {"name": "cube", "max_leaf": 20, "max_rows": 10**6}
    here = StarTree.create(spark, str(table), DIMENSIONS, MEASURES, location=str(tmp_path / "here"), **given)
    where = str(tmp_path / "there")
    there = built_by_spark(monkeypatch, tmp_path, StarTree.create, spark, str(table), DIMENSIONS, MEASURES, location=where, **given)
    assert len(snapshot(there).segments) == 3
    assert_same(here, there)
    pq.write_table(rows.slice(1_500, 200).drop_columns(["day"]), table / "day=2026-02-01" / "part-1.parquet")
    here.refresh()
    built_by_spark(monkeypatch, tmp_path, there.refresh)
    assert here.optimize() == built_by_spark(monkeypatch, tmp_path, there.optimize) == 3
    assert_same(here, there)


def test_a_tree_that_is_too_large_is_refused(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = str(write_table(tmp_path / "sales", sales(2_000)))
    for most, says in ((100, "Leave 'item' out"), (1_990, "would have")):
        with pytest.raises(IndexDefinitionError, match=says), monkeypatch.context() as patch:
            built_by_spark_or_not(patch, tmp_path, spark, table, max_rows=most)
        assert os.listdir(tmp_path / "scratch") == [] and rtfilter.star_trees(spark, table) == []


def built_by_spark_or_not(patch: pytest.MonkeyPatch, tmp_path: Path, spark: SparkSession, table: str, **more: Any) -> None:
    """As `built_by_spark`, but something may go wrong before nodes grow."""
    (tmp_path / "scratch").mkdir(exist_ok=True)
    patch.setattr("rtfilter.index.star_tree_base.MOST_GROUPS_HERE", 0)
    patch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    StarTree.create(spark, table, DIMENSIONS, MEASURES, name="cube", max_leaf=1, **more)


@pytest.mark.parametrize("nth", [0, 1, 4, 6, 12])
def test_nothing_is_left_behind_by_an_error(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    table = str(write_table(tmp_path / "sales", sales(500)))
    keep, kept = scratch.FileScratch.keep, []

    def fails(self: Any, frame: Any) -> Any:
        kept.append(frame)
        if len(kept) > nth:
            raise OSError(28, "No space left on device")
        return keep(self, frame)

    monkeypatch.setattr(scratch.FileScratch, "keep", fails)
    with pytest.raises(IndexStorageError, match=r"can't group the table .*No space left"):
        built_by_spark_or_not(monkeypatch, tmp_path, spark, table, max_rows=10**6)
    assert len(kept) == nth + 1 and os.listdir(tmp_path / "scratch") == [] and rtfilter.star_trees(spark, table) == []


def test_nothing_is_left_behind_where_rows_are_lost_on_the_way(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, tables = str(write_table(tmp_path / "sales", sales(500))), scratch.FileScratch.tables
    with monkeypatch.context() as patch:
        written = tree_files.write_segment

        def cut_short(*given: Any) -> Any:
            patch.setattr(scratch.FileScratch, "tables", lambda self, kept: (each.slice(1) for each in tables(self, kept)))
            return written(*given)

        patch.setattr(tree_actions, "write_segment", cut_short)
        with pytest.raises(IndexStorageError, match=r"Spark has given \d+ rows of the star-tree 'cube', of \d+"):
            built_by_spark_or_not(patch, tmp_path, spark, table, max_rows=10**6)
    assert os.listdir(tmp_path / "scratch") == [] and rtfilter.star_trees(spark, table) == []
    place = Path(table) / "_rtfilter" / "@star_trees" / "cube" / "data"
    assert not place.exists() or os.listdir(place) == []


def test_long_dimensions_are_joined_and_not_sent(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes and nodes of which there are many don't go to every task."""
    r = np.random.default_rng(1)
    table = tmp_path / "t"
    columns = {"k": pa.array(r.integers(0, 300, 2_000)), "s": pa.array([f"s{each}" for each in r.integers(0, 90, 2_000)])}
    write_table(table, pa.table(columns))
    given: Any = {"name": "cube", "max_leaf": 1, "max_rows": 10**6}
    here = StarTree.create(spark, str(table), ["k", "s"], ["count(*)"], location=str(tmp_path / "here"), **given)
    monkeypatch.setattr(spark_groups, "MOST_SENT", 10)
    monkeypatch.setattr("rtfilter.index.large_trees.spark_nodes.MOST_SENT", 10)
    own = spark.newSession()
    own.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    where = str(tmp_path / "there")
    there = built_by_spark(
        monkeypatch, tmp_path, StarTree.create, own, str(table), ["k", "s"], ["count(*)"], location=where, **given
    )
    assert_same(here, there)
