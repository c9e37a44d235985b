"""What filters did in earlier queries changes later ones: in the same application, through the file, and back with new inputs."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.feedback.history_file import WRITE_EVERY_S
from rtfilter.folders import cache_directory
from rtfilter.index.api import Index
from rtfilter.store.sketches.kinds import Bloom
from tests.spark.cases import collected

SQL = "select v from odd join dim on r = id where grp = 3 and v < 100000"


@pytest.fixture
def odd(spark: SparkSession, data: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the fact table, whose column r no pack is without; its path is new, so nothing is known of it."""
    folder = tmp_path / "odd"
    shutil.copytree(data / "fact", folder)
    spark.read.parquet(str(folder)).createOrReplaceTempView("odd")
    spark.conf.set("rtfilter.feedback.enabled", True)
    spark.conf.set("rtfilter.keyFirst", "never")
    yield folder
    spark.conf.set("rtfilter.feedback.enabled", False)


def reason(spark: SparkSession, sql: str = SQL) -> str:
    """Why the one filter of the query is as it is; its rows are those without it."""
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    assert collected(spark.sql(sql)) == off and off
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    report = rtfilter.last_report(spark)
    assert report is not None
    return report.filters[0].reason


def written_entry(folder: Path) -> dict[str, Any]:
    """What the file says of the one filter on a table; it is written some seconds after a query."""
    file = cache_directory() / "feedback.json"
    until = time.monotonic() + 60 + WRITE_EVERY_S
    while time.monotonic() < until:
        entries = json.loads(file.read_text())["entries"] if file.exists() else []
        found = [each for each in entries if each["root"].endswith(str(folder))]
        if found:
            (entry,) = found
            return dict(entry)
        time.sleep(0.1)
    raise AssertionError(f"{file} says nothing of {folder}")


def test_a_filter_that_lost_twice_is_left_out_until_its_table_changes(spark: SparkSession, odd: Path) -> None:
    assert [reason(spark) for _ in range(3)] == ["REJECTS_NO_PACK", "REJECTS_NO_PACK", "LOST_TWICE"]
    assert "LOST_TWICE" in str(rtfilter.why_not(spark.sql(SQL)))
    assert reason(spark, SQL.replace("grp = 3", "name like 'n7%'")) == "REJECTS_NO_PACK"
    shutil.copyfile(odd / "part-000.parquet", odd / "part-900.parquet")
    spark.read.parquet(str(odd)).createOrReplaceTempView("odd")
    assert reason(spark) == "REJECTS_NO_PACK"
    assert reason(spark) == "REJECTS_NO_PACK"
    assert reason(spark) == "LOST_TWICE"
    assert reason(spark, SQL.replace("select", "select /*+ RTFILTER(always) */")) == "ROWS_ONLY"


def test_losses_of_a_wide_range_are_not_held_against_a_narrow_one(spark: SparkSession, odd: Path) -> None:
    sql = "select v from odd join dim on k = id where day between date'2020-01-01' and date'{}'"
    wide, narrow = sql.format("2030-01-01"), sql.format("2020-01-03")
    assert [reason(spark, wide) for _ in range(3)] == ["REJECTS_NO_PACK", "REJECTS_NO_PACK", "LOST_TWICE"]
    assert [reason(spark, narrow) for _ in range(2)] == ["APPLIED", "APPLIED"]
    assert reason(spark, wide) == "LOST_TWICE"


def test_a_list_that_differs_in_its_last_value_only_is_another_one(spark: SparkSession, odd: Path) -> None:
    def listed(last: int) -> str:
        # A name for every pack.
        names = ", ".join(f"'n{name}'" for name in [*range(0, 4_000, 50), last])
        return f"select v from odd join dim on k = id where name in ({names})"

    assert [reason(spark, listed(960)) for _ in range(3)][-1] == "LOST_TWICE"
    assert reason(spark, listed(970)) == "REJECTS_NO_PACK"


def test_an_index_brings_it_back(spark: SparkSession, odd: Path) -> None:
    sql = SQL.replace("grp = 3", "name = 'n2007'")
    assert [reason(spark, sql) for _ in range(3)][-1] == "LOST_TWICE"
    Index.create(spark, str(odd), [Bloom("r")], name="by_r")
    assert reason(spark, sql) == "APPLIED"


def test_a_filter_that_wins_is_tried_every_time(spark: SparkSession, odd: Path) -> None:
    sql = "select v from odd join dim on k = id where name = 'n5'"
    assert [reason(spark, sql) for _ in range(3)] == ["APPLIED"] * 3
    entry = written_entry(odd)
    assert (entry["losses"], entry["label"], entry["kept"]) == (0, "dim.id -> odd.k", pytest.approx(500 / 40_000))


@pytest.mark.parametrize(("sql", "name"), [("{}", "n1%"), ("select id from dim where id = ({}) or id < 5", "n2%")])
def test_rows_of_the_stages_that_end_last_are_known_in_the_next_query(spark: SparkSession, odd: Path, sql: str, name: str) -> None:
    """Both sides are read at once, and no re-plan with a scan comes after; texts of timestamps are those of the session's zone."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    when = "cast(day as timestamp) < timestamp'2030-01-01 00:00:00'"
    asked = f"name like '{name}' and {when}"
    sql = sql.format(f"select count(*) from odd join dim on r = id where {asked}")
    report = []
    for _ in range(2):
        assert reason(spark, sql) == "WAIT_DOES_NOT_PAY"
        last = rtfilter.last_report(spark)
        assert last is not None
        report.append(last.filters[0].detail)
    rows = spark.sql(f"select id from dim where {asked}").count()
    assert f" {rows:,} build rows" in report[1] and f" {rows:,} build rows" not in report[0]


def test_without_the_option_nothing_is_remembered(spark: SparkSession, odd: Path) -> None:
    spark.conf.set("rtfilter.feedback.enabled", False)
    assert [reason(spark) for _ in range(3)] == ["REJECTS_NO_PACK"] * 3


def test_the_log_has_a_report_per_query_and_one_that_cannot_be_written_fails_none(
    spark: SparkSession, odd: Path, tmp_path: Path
) -> None:
    log = tmp_path / "queries.jsonl"
    spark.conf.set("rtfilter.log.path", str(log))
    reason(spark)
    reason(spark, "select v from odd join dim on k = id where name = 'n5'")
    off, lost, off_too, won = [json.loads(line) for line in log.read_text().splitlines()]
    assert off["reason"] == off_too["reason"] == "LAYER_OFF" and off["shape"]["digest"] == lost["shape"]["digest"]
    assert lost["filters"][0]["reason"] == "REJECTS_NO_PACK"
    scan = won["scans"][0]
    assert won["filters"][0]["packs_kept"] == scan["packs_kept"] == scan["packs_read"] == 1
    spark.conf.set("rtfilter.log.path", str(tmp_path / "missing" / "queries.jsonl"))
    assert reason(spark) == "REJECTS_NO_PACK"
