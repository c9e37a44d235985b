"""The query log of queries that star-trees answer: what was asked of tables, as without them, and the trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rtfilter.advice.logs.lines import log_lines
from rtfilter.advice.logs.own_lines import OwnLines, OwnQuery
from rtfilter.advice.statistics.tables import TableStatistics
from tests.spark.applications import give_time
from tests.spark.star_tree.made_trees import make_tree, sales, write_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_table(tmp_path_factory.mktemp("logged") / "sales", sales())
    make_tree(folder, "cube", ["store", "day"], ["count(*)", "sum(x)"])
    return folder


@pytest.fixture
def logged(spark: SparkSession, table: Path, tmp_path: Path) -> SparkSession:
    own = spark.newSession()
    give_time(own)
    own.conf.set("rtfilter.log.path", str(tmp_path / "log.jsonl"))
    own.read.parquet(str(table)).createOrReplaceTempView("sales")
    own.range(4).selectExpr("cast(id as int) k", "cast(id % 2 as string) g").write.parquet(str(tmp_path / "days"))
    own.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    return own


def lines(spark: SparkSession, path: Path, sql: str) -> list[dict[str, Any]]:
    """The line with the layer off, and the one with it on."""
    found = []
    for enabled in (False, True):
        spark.conf.set("rtfilter.enabled", enabled)
        assert spark.sql(sql).collect()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        found.append(json.loads(path.read_text().splitlines()[-1]))
    return found


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    "sql",
    [
        "select store, sum(x) from sales where day < 9 group by store",
        "select sum(x) from sales where day in (3, 5) and store = 's1'",
        "select g, sum(x), count(*) from sales join days on day = k group by g order by g",
        "select a.store, s from (select store, sum(x) s from sales group by store) a join days on s > k order by s limit 3",
    ],
)
def test_a_line_has_what_was_asked_of_tables(logged: SparkSession, tmp_path: Path, sql: str, adaptive: bool) -> None:
    logged.conf.set("spark.sql.adaptive.enabled", adaptive)
    off, on = lines(logged, tmp_path / "log.jsonl", sql)
    assert off["star_trees"] == []
    (told,) = on["star_trees"]
    assert (told["name"], told["table"], told["used"], told["base_rows"]) == ("cube", "sales", True, 20_000)
    assert told["rows_read"] > 0 and told["rows_decoded"] > 0
    assert [each["columns"] for each in on["shape"]["scans"]] == [each["columns"] for each in off["shape"]["scans"]]
    assert on["shape"]["digest"] == off["shape"]["digest"]


def test_advice_reads_such_lines(logged: SparkSession, tmp_path: Path, table: Path) -> None:
    lines(logged, tmp_path / "log.jsonl", "select store, sum(x) from sales where day < 9 group by store")
    known = {"sales": TableStatistics("sales", rows=20_000, columns={}, path=str(table))}
    reader = OwnLines(known)
    with (tmp_path / "log.jsonl").open() as file:
        found = [reader.query(line.own) for _, line in log_lines(file) if not isinstance(line, str) and line.own is not None]
    assert len(found) >= 2 and all(isinstance(each, OwnQuery) for each in found)
