"""Partition columns as dimensions: a segment for each partition; one that is dropped or replaced takes only its own along."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rtfilter import StarTree
from rtfilter.star_tree.tree_files import covered_files
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.storage import LocalStorage
from tests.star_tree.tree_answers import answered

WANTED: dict[str, Any] = {"dimensions": ["s", "p", "day"], "measures": ["count(*)", "sum(id)"], "name": "cube"}


def write(spark: SparkSession, table: str, text: str, rows: int = 400, start: int = 0, mode: str = "append") -> None:
    day = "date_add(date'2020-01-30', cast(id % 2 as int)) as day"
    frame = spark.range(start, start + rows).selectExpr("id", "id % 3 as s", text, day)
    frame.write.mode(mode).partitionBy("p", "day").parquet(table)


def create(spark: SparkSession, table: str, **changes: Any) -> StarTree:
    made: StarTree = StarTree.create(spark, table, **{**WANTED, **changes})
    return made


def partitions(tree: StarTree) -> list[set[str]]:
    """Of each segment the directories of its files."""
    storage = LocalStorage(tree.place)
    snapshot = read_log(storage).tree
    assert snapshot is not None
    return sorted(
        ({file.path.rpartition("/")[0] for file in covered_files(storage, segment)} for segment in snapshot.segments), key=sorted
    )


def check(spark: SparkSession, tree: StarTree, table: str) -> None:
    read = spark.read.parquet(table)
    for grouped, name in ((0, "s"), (1, "p"), (2, "day")):
        grouping = read.groupBy(name).agg({"*": "count", "id": "sum"}).select(name, "count(1)", "sum(id)")
        theirs = sorted((str(row[0]), row[1], row[2]) for row in grouping.collect())
        ours = answered(tree.place, [grouped], ['sum("count")', 'sum("sum(id)")'])
        assert sorted((str(key), int(count), int(total)) for key, count, total in ours) == theirs and len(ours) > 1


@pytest.mark.parametrize("text", ["nullif(id % 5, 3) as p", "concat('a:', id % 4) as p", "cast(id % 3 as int) as p"])
def test_each_partition_has_a_segment(spark: SparkSession, tmp_path: Path, text: str) -> None:
    table = str(tmp_path / "t")
    write(spark, table, text)
    tree = create(spark, table)
    found = partitions(tree)
    assert len(found) >= 4 and all(len(each) == 1 for each in found)
    check(spark, tree, table)
    dropped = next(iter(found[0]))
    shutil.rmtree(f"{table}/{dropped}")
    assert tree.refresh().files == 0 and partitions(tree) == found[1:]
    check(spark, tree, table)
    write(spark, table, text, 40, 1_000)
    before = len(partitions(tree))
    assert tree.refresh().table_rows == 40 and len(partitions(tree)) > before
    check(spark, tree, table)
    assert tree.optimize() == len(found) == len(partitions(tree))
    check(spark, tree, table)


def test_too_many_partitions_share_segments(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    write(spark, table, "id % 40 as p")
    tree = create(spark, table)
    assert len(partitions(tree)) == 1
    write(spark, table, "id % 20 as p", mode="overwrite")
    tree = create(spark, table, name="again")
    assert len(partitions(tree)) == 20
    check(spark, tree, table)


def test_partitions_of_a_type_that_is_not_read_share_a_segment(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    write(spark, table, "id % 4 + 0.5D as p")
    tree = create(spark, table)
    assert len(partitions(tree)) == 1
    check(spark, tree, table)
