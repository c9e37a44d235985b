"""Which executions leave a line in the query log."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from rtfilter.version import LOG_VERSION
from tests.spark.query_log.conftest import Logged


def test_a_query_leaves_a_line_with_the_layer_off(log: Logged) -> None:
    (line,) = log.lines("select v from fact where k = 5")
    assert line["version"] == LOG_VERSION and line["reason"] == "LAYER_OFF" and line["ms"] > 0 and not line["failed"]


@pytest.mark.parametrize(
    "sql",
    ["select 1", "set rtfilter.enabled=false", "select count(*) from range(5)", "show tables", "select v from fact where false"],
)
def test_what_scans_no_parquet_file_leaves_none(log: Logged, sql: str) -> None:
    assert log.lines(sql) == []


def test_it_leaves_one_without_joins_with_the_layer_on(log: Logged, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    (line,) = log.lines("select count(*) from fact")
    assert line["reason"] == "NO_JOIN" and line["shape"]["scans"][0]["predicate"] is None


@pytest.mark.parametrize("sql", ["select v from fact where k = 5", "select s, count(*) from fact where k = 5 group by s"])
def test_the_option_counts_as_it_was_when_the_query_ran(spark: SparkSession, log: Logged, tmp_path: Path, sql: str) -> None:
    def run() -> None:
        spark.sql(sql).collect()
        spark.conf.set("rtfilter.log.path", str(tmp_path / "another.jsonl"))

    assert len(log.lines(run)) == 1
    spark.conf.unset("rtfilter.log.path")
    assert log.lines(sql) == []


def test_every_action_of_a_frame_leaves_one_and_one_that_read_nothing_anew_says_so(log: Logged, spark: SparkSession) -> None:
    frame = spark.sql("select s, count(*) as n from fact where k < 100 group by s")
    (first,) = log.lines(frame.collect)
    (again,) = log.lines(frame.collect)
    assert not first["again"] and again["again"]
    assert [line["again"] for line in log.lines(frame.count) + log.lines(lambda: frame.take(2)) + log.lines(frame.show)] == [
        False
    ] * 3
    plain = spark.sql("select v from fact where k < 100")
    assert [line["again"] for line in log.lines(plain.collect) + log.lines(plain.collect)] == [False, False]


def test_limits_are_told(log: Logged, spark: SparkSession) -> None:
    (line,) = log.lines(lambda: spark.table("fact").limit(17).collect())
    assert line["shape"]["limit"] == 17
    (line,) = log.lines("select v from fact order by r limit 5")
    assert line["shape"]["limit"] == 5


def test_a_query_that_fails_says_so(log: Logged) -> None:
    def run() -> None:
        with pytest.raises(SparkRuntimeException):
            log.spark.sql("select raise_error('no ' || v) from fact where k = 5").collect()

    (line,) = log.lines(run)
    assert line["failed"] and line["shape"]["scans"][0]["predicate"]["column"] == "k"


def test_a_query_that_is_cancelled_says_so(log: Logged, spark: SparkSession) -> None:
    def slow() -> None:
        spark.sparkContext.setJobGroup("slow", "slow", interruptOnCancel=True)
        with contextlib.suppress(Exception):
            spark.sql("select count(*) from fact where reflect('java.lang.Thread', 'sleep', 20L + k * 0) is null").collect()

    def run() -> None:
        thread = threading.Thread(target=slow)
        thread.start()
        until = time.monotonic() + 30
        while thread.is_alive() and time.monotonic() < until:
            spark.sparkContext.cancelJobGroup("slow")
            time.sleep(0.05)
        thread.join()

    assert [line["failed"] for line in log.lines(run)] == [True]


def test_written_tables_leave_one_for_what_they_read(log: Logged, spark: SparkSession, tmp_path: Path) -> None:
    made = log.lines("create table made using parquet as select * from fact where k = 3")
    more = log.lines("insert into made select * from fact where k = 4")
    wrote = log.lines(lambda: spark.sql("select * from fact where k = 5").write.parquet(str(tmp_path / "out")))
    spark.sql("drop table made")
    for lines in (made, more, wrote):
        (line,) = lines
        assert [scan["table"] for scan in line["shape"]["scans"]] == ["fact"]


def test_a_cache_is_read_for_the_query_that_fills_it(log: Logged, spark: SparkSession) -> None:
    frame = spark.sql("select * from fact where k >= 3990")
    frame.cache()
    (line,) = log.lines(frame.count)
    assert line["shape"]["scans"][0]["predicate"] == {"column": "k", "op": ">=", "values": 1}
    assert log.lines(lambda: frame.where("r > 5").collect()) == []
    (line,) = log.lines(lambda: frame.join(spark.table("dim"), frame["k"] == spark.table("dim")["id"]).collect())
    assert [scan["table"] for scan in line["shape"]["scans"]] == ["dim"]
    frame.unpersist()


def test_no_process_is_started_for_queries_that_leave_no_line(spark: SparkSession) -> None:
    before = jvm.host_pid(spark)
    spark.sql("select v from fact where k = 5").collect()
    assert jvm.host_pid(spark) == before


def test_a_wrong_option_costs_no_query(log: Logged, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.set.maxKeys", "many")
    assert log.lines("select v from fact where k = 5") == []
    assert len(spark.sql("select v from fact where k = 5").collect()) == 10
    spark.conf.unset("rtfilter.set.maxKeys")
    assert len(log.lines("select v from fact where k = 5")) == 1
