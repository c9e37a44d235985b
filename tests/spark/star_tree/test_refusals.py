"""Every reason that a star-tree can have, made by a real query, with the whole sentence; rows are the same with and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from planner.star_tree.reasons import TreeReason
from tests.spark.applications import give_time
from tests.spark.reasons.golden import without_what_varies
from tests.spark.star_tree.made_trees import both_ways, make_tree, sales, write_table
from tests.spark.star_tree.refusals import ROWS, Row, Scene


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_table(tmp_path_factory.mktemp("refused") / "sales", sales())
    make_tree(folder, "cube", ["store", "day"], ["count(*)", "sum(x)"])
    make_tree(folder, "wide", ["store", "day", "item"], ["count(*)", "sum(x)"])
    return folder


@pytest.fixture
def scene(spark: SparkSession, table: Path, tmp_path: Path) -> Scene:
    own = spark.newSession()
    give_time(own)
    own.range(100).selectExpr("cast(id as int) k").createOrReplaceTempView("days")
    found = Scene(own, table, tmp_path)
    found.show(table)
    return found


def plain(detail: str) -> str:
    """Without what goes by the version of a file's writer."""
    text = re.sub(r"[0-9a-f]{64}", "FILE", without_what_varies(detail))
    return re.sub(r"\d+(?=%)|(?<=the log says )\d+", "N", text)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reason(row: Row, scene: Scene) -> None:
    if row.prepare is not None:
        row.prepare(scene)
    for name, value in row.conf.items():
        scene.spark.conf.set(name, value)
    trees = [each for each in rtfilter.why_not(scene.spark.sql(row.sql)).trees if each.name == row.tree]
    assert trees and {(each.reason, plain(each.detail)) for each in trees} == {(row.reason, row.sentence)}
    if not row.fails:
        off_rows, on_rows = both_ways(scene.spark, row.sql)
        assert off_rows == on_rows and on_rows
        report = rtfilter.last_report(scene.spark)
        assert report is not None
        ran = {each.reason for each in report.star_trees if each.name == row.tree}
        assert ran == {row.reason} and (row.reason == TreeReason.USED) in {each.used for each in report.star_trees}
