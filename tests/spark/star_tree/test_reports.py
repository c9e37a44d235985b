"""last_report, explain and why_not of queries on a table with star-trees."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.report import Report
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER
from tests.spark.applications import give_time
from tests.spark.star_tree.made_trees import SALES_ROWS, both_ways, make_tree, sales, write_table

BY_STORE = "select store, sum(x) from sales where day < 9 group by store"
BY_NAME = "select name, sum(x) from sales group by name"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_table(tmp_path_factory.mktemp("trees") / "sales", sales())
    make_tree(folder, "cube", ["store", "day"], ["count(*)", "sum(x)"])
    make_tree(folder, "wide", ["store", "day", "item"], ["count(*)", "sum(x)", "max(y)"])
    return folder


@pytest.fixture
def on(spark: SparkSession, table: Path) -> Iterator[SparkSession]:
    own = spark.newSession()
    give_time(own)
    own.read.parquet(str(table)).createOrReplaceTempView("sales")
    own.conf.set("rtfilter.enabled", True)
    yield own


def latest(spark: SparkSession) -> Report:
    report = rtfilter.last_report(spark)
    assert report is not None
    return report


def test_a_query_that_a_tree_answered(on: SparkSession) -> None:
    off_rows, on_rows = both_ways(on, BY_STORE)
    report = latest(on)
    assert off_rows == on_rows and len(on_rows) == 8
    used, other = sorted(report.star_trees, key=lambda each: each.name)
    assert (used.name, used.table, used.used, used.reason, used.base_rows) == ("cube", "sales", True, "USED", SALES_ROWS)
    assert used.aggregate == "sum(x) by store" and used.raw_files == 0
    # A scan decodes whole pages.
    assert used.rows_read == 72 and used.rows_decoded is not None and 72 <= used.rows_decoded < 2_000
    assert (other.name, other.used, other.reason, other.rows_decoded) == ("wide", False, "OTHER_TREE", None)
    assert report.reason == "" and "no join" not in str(report)
    assert str(report).splitlines()[0].split(", planned")[0].endswith("1 of 2 star-trees used")


def test_a_query_that_no_tree_answered(on: SparkSession) -> None:
    off_rows, on_rows = both_ways(on, BY_NAME)
    assert off_rows == on_rows and len(on_rows) == 40
    trees = latest(on).star_trees
    assert [(each.name, each.used, each.reason, each.lacking) for each in trees] == [
        ("cube", False, "NO_DIMENSION", ("name",)),
        ("wide", False, "NO_DIMENSION", ("name",)),
    ]


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        (BY_NAME, "one dimension more: name"),
        ("select store, sum(y), avg(price) from sales group by store", "2 measures more: sum(y), sum(price)"),
        (
            "select name, max(y) from sales where item < 9 group by name",
            "2 dimensions more: item, name, and one measure more: max(y)",
        ),
        ("select sum(weight) from sales", "one measure more: sum(weight), and rtfilter.startree.floats=true"),
        ("select store, collect_list(x) from sales group by store", ""),
        ("select /*+ RTFILTER(skip()) */ name, sum(x) from sales group by name", ""),
    ],
)
def test_a_refused_tree_says_what_would_let_it_answer(on: SparkSession, sql: str, change: str) -> None:
    (cube,) = (each for each in rtfilter.why_not(on.sql(sql)).trees if each.name == "cube")
    assert not cube.used and cube.change == change
    assert (f"It would answer with {change}." in cube.sentence()) == bool(change)


@pytest.mark.parametrize(
    ("words", "used", "warning"),
    [
        ("use(wide)", "wide", ""),
        ("skip(cube)", "wide", ""),
        ("skip(cube, wide)", None, ""),
        ("skip()", None, ""),
        ("use(wdie)", None, "Did you mean 'wide'?"),
        ("skip(cbue)", "cube", "names 'cbue', which is no star-tree and no index of sales, so nothing changes for it. Did you"),
    ],
)
def test_hints_name_trees(on: SparkSession, words: str, used: str | None, warning: str) -> None:
    sql = BY_STORE.replace("select", f"select /*+ RTFILTER({words}) */")
    off_rows, on_rows = both_ways(on, sql)
    assert off_rows == on_rows and len(on_rows) == 8
    report = latest(on)
    assert next((each.name for each in report.star_trees if each.used), None) == used
    assert [warning in text for text in report.warnings] == ([True] if warning else [])
    assert rtfilter.why_not(on.sql(sql)).warnings == report.warnings


def test_a_tree_of_too_few_files_wants_a_refresh(on: SparkSession, table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "sales"
    shutil.copytree(table, copy)
    pq.write_table(sales(seed=2), copy / "part-9.parquet")
    on.read.parquet(str(copy)).createOrReplaceTempView("sales")
    on.conf.set("rtfilter.index.maxStale", "0.2")
    off_rows, on_rows = both_ways(on, BY_STORE)
    assert off_rows == on_rows
    assert {(each.name, each.reason, each.change) for each in latest(on).star_trees} == {
        ("cube", "TOO_STALE", "a refresh"),
        ("wide", "TOO_STALE", "a refresh"),
    }


def test_explain_shows_the_trees_that_would_be_used(on: SparkSession) -> None:
    explained = rtfilter.explain(on.sql(BY_STORE))
    (tree,) = explained.trees
    assert (tree.name, tree.used, tree.base_rows, tree.rows_decoded) == ("cube", True, SALES_ROWS, None)
    assert rtfilter.last_report(on) is None, "nothing has run"
    assert rtfilter.explain(on.sql(BY_NAME)).trees == ()


@pytest.mark.parametrize("adaptive", [True, False])
def test_why_not_has_each_aggregate_and_tree(on: SparkSession, adaptive: bool) -> None:
    on.conf.set("spark.sql.adaptive.enabled", adaptive)
    reasons = rtfilter.why_not(on.sql(f"select * from ({BY_STORE}) a join ({BY_NAME}) b on a.store = b.name"))
    assert sorted((each.aggregate, each.name, each.reason) for each in reasons.trees) == [
        ("sum(x) by name", "cube", "NO_DIMENSION"),
        ("sum(x) by name", "wide", "NO_DIMENSION"),
        ("sum(x) by store", "cube", "USED"),
        ("sum(x) by store", "wide", "OTHER_TREE"),
    ]
    assert len(reasons.keys) > 0, "the join's keys are judged beside them"


def test_an_aggregate_of_a_subquery_is_told(on: SparkSession) -> None:
    sql = "select day, max(x) from sales where x > (select avg(day) from sales) group by day"
    off_rows, on_rows = both_ways(on, sql)
    assert off_rows == on_rows and on_rows
    asked = {(each.aggregate, each.reason) for each in latest(on).star_trees}
    assert ("max(x) by day", "NO_DIMENSION") in asked and any(text.startswith("avg(day)") for text, _ in asked)


def test_a_tree_in_a_join(on: SparkSession) -> None:
    on.createDataFrame([(1, "a"), (2, "b"), (2, "c")], "k int, g string").createOrReplaceTempView("days")
    off_rows, on_rows = both_ways(on, "select g, sum(x), count(*) from sales join days on day = k group by g")
    assert off_rows == on_rows and len(on_rows) == 3
    report = latest(on)
    assert [each.reason for each in report.star_trees if each.used] == ["USED"]
    assert report.reason == ""


def test_a_filter_on_a_tree_is_named_by_the_tree_and_its_dimension(on: SparkSession, tmp_path: Path) -> None:
    on.range(60).selectExpr("cast(id as int) k", "cast(id % 20 as string) g").write.parquet(str(tmp_path / "days"))
    on.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    sql = "select g, sum(x) from sales join days on day = k where g = '7' group by g"
    off_rows, on_rows = both_ways(on, sql)
    assert off_rows == on_rows and len(on_rows) == 1
    report = latest(on)
    assert [each.probe for each in report.filters] == ["cube.day"] and [each.reason for each in report.star_trees if each.used]
    assert [scan.table for scan in report.scans if scan.table != "days"] in ([], ["cube"])
    (key,) = rtfilter.why_not(on.sql(sql)).keys
    assert key.probe == "cube.day"


def test_a_cache_that_a_tree_filled_counts_its_rows(on: SparkSession) -> None:
    frame = on.sql(BY_STORE.replace("9", "7")).cache()
    assert len(frame.collect()) == 8
    assert [each.rows_decoded for each in latest(on).star_trees if each.used] == [549]
    frame.unpersist()


def test_of_a_self_join_one_side_is_replaced(on: SparkSession) -> None:
    sql = "select a.store, sum(a.x) from sales a join sales b on a.day = b.day where b.item = 3 and b.store = 's1' group by a.store"
    reasons = {(each.reason, each.used) for each in rtfilter.why_not(on.sql(sql)).trees if each.name == "wide"}
    assert ("USED", True) in reasons or ("OTHER_TREE", False) in reasons
    told = " ".join(each.detail for each in rtfilter.why_not(on.sql(sql)).trees if each.reason == "OTHER_TREE")
    assert "it is of another table of the join than the tree that is used: of sales" in told


def test_a_planner_that_refuses_to_answer_is_told(on: SparkSession) -> None:
    on.conf.set("rtfilter.index.maxStale", "much")
    off_rows, on_rows = both_ways(on, BY_STORE)
    assert off_rows == on_rows and len(on_rows) == 8
    report = latest(on)
    assert report.reason == "PLANNER_FAILED" and report.star_trees == ()
    assert any(text.endswith("The aggregate is computed from its table.") for text in report.warnings)


def test_a_damaged_tree_is_told(on: SparkSession, table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "sales"
    shutil.copytree(table, copy)
    damaged = sorted((copy / "_rtfilter" / TREES_FOLDER / "cube" / "data").iterdir())
    for file in damaged:
        file.write_bytes(b"PAR1")
    on.read.parquet(str(copy)).createOrReplaceTempView("sales")
    off_rows, on_rows = both_ways(on, BY_STORE)
    assert off_rows == on_rows and damaged
    assert {(each.name, each.used, each.reason) for each in latest(on).star_trees} == {
        ("cube", False, "UNREADABLE"),
        ("wide", True, "USED"),
    }
