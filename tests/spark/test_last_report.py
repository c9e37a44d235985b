"""`last_report` is of the latest query of the session and of sessions that Spark clones from it, never of another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter import Index, ValueSet
from rtfilter.report import Report

JOIN = "select fact.v from fact join dim on k = id where name in ('n{}', 'n7')"
NO_JOIN = "select grp, count(*) from dim group by grp"


@pytest.fixture
def on(spark: SparkSession) -> SparkSession:
    spark.conf.set("rtfilter.enabled", True)
    return spark


def latest(spark: SparkSession) -> Report:
    report = rtfilter.last_report(spark)
    assert report is not None
    return report


def of_a_join(spark: SparkSession) -> Report:
    """The report of a join that must be none of those before."""
    report = latest(spark)
    (entry,) = report.filters
    assert (entry.decision, entry.packs_kept, entry.probe) == ("applied", 1, "fact.k")
    assert report.reason == ""
    return report


def empty(spark: SparkSession) -> Report:
    report = latest(spark)
    assert report.filters == () and report.scans == ()
    return report


def test_no_query_has_no_report(on: SparkSession) -> None:
    on.sql("set rtfilter.kinds=set")
    assert rtfilter.last_report(on) is None


@pytest.mark.parametrize(
    "sql", [NO_JOIN, "select count(*) from range(3)", "select v from fact where v = 3", "show tables", "select 1"]
)
def test_a_query_without_a_candidate_has_an_empty_report(on: SparkSession, sql: str) -> None:
    on.sql(JOIN.format(5)).collect()
    joined = of_a_join(on)
    on.sql(sql).collect()
    if sql == "show tables":
        # A command that reads nothing is no query.
        assert latest(on).execution == joined.execution
        return
    report = empty(on)
    assert report.reason == "NO_JOIN" and "no join" in str(report)
    assert report.execution is not None and joined.execution is not None and report.execution > joined.execution


def test_a_query_with_the_layer_off_says_so(on: SparkSession) -> None:
    on.sql(JOIN.format(5)).collect()
    of_a_join(on)
    on.conf.set("rtfilter.enabled", False)
    on.sql(JOIN.format(6)).collect()
    assert empty(on).reason == "LAYER_OFF"
    on.conf.set("rtfilter.enabled", True)
    on.conf.set("spark.sql.adaptive.enabled", False)
    on.sql(JOIN.format(6)).collect()
    assert empty(on).reason == "ADAPTIVE_OFF"


def test_a_frame_that_runs_again_has_its_own_report(on: SparkSession) -> None:
    first = on.sql(JOIN.format(5))
    first.collect()
    before = of_a_join(on)
    on.sql(NO_JOIN).collect()
    empty(on)
    first.collect()
    assert of_a_join(on).filters == before.filters


def test_planning_alone_is_no_query(on: SparkSession) -> None:
    on.sql(NO_JOIN).collect()
    before = empty(on)
    frame = on.sql(JOIN.format(5))
    frame.explain()
    rtfilter.explain(frame)
    rtfilter.why_not(frame)
    assert latest(on) == before
    frame.collect()
    of_a_join(on)


def test_planning_a_plan_without_stages_is_no_query_and_is_answered_every_time(on: SparkSession, tmp_path: Path) -> None:
    """Where nothing is exchanged static filters are filled when the plan is prepared."""
    on.table("fact").write.parquet(str(tmp_path / "t"))
    Index.create(on, str(tmp_path / "t"), [ValueSet("s", 20)], name="by_s")
    on.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("indexed_fact")
    on.sql(JOIN.format(5)).rdd.count()
    before = of_a_join(on)
    for _ in range(3):
        rtfilter.why_not(on.sql(JOIN.format(7)))
        frame = on.sql("select v from indexed_fact where s = 'text 3'")
        assert len(rtfilter.why_not(frame).keys) == len(rtfilter.explain(frame).filters) == 1
        assert latest(on).filters == before.filters


def checkpointed(frame: DataFrame, folder: Path) -> DataFrame:
    frame.sparkSession.sparkContext.setCheckpointDir(str(folder))
    return frame.checkpoint()


RUNS: dict[str, Callable[[DataFrame, Path], Any]] = {
    "collect": lambda df, _: df.collect(),
    "cache": lambda df, _: df.cache().count(),
    "persist": lambda df, _: df.persist().collect(),
    "rdd": lambda df, _: df.rdd.count(),
    "foreach": lambda df, _: df.foreach(lambda row: None),
    "foreachPartition": lambda df, _: df.foreachPartition(lambda rows: None),
    "toLocalIterator": lambda df, _: list(df.toLocalIterator()),
    "checkpoint": lambda df, folder: checkpointed(df, folder),
    "localCheckpoint": lambda df, _: df.localCheckpoint(),
    "write": lambda df, folder: df.write.parquet(str(folder / "out")),
    "noop": lambda df, _: df.write.format("noop").mode("overwrite").save(),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_join_is_reported_however_it_runs(on: SparkSession, run: str, tmp_path: Path) -> None:
    on.sql(NO_JOIN).collect()
    empty(on)
    frame = on.sql(JOIN.format(5) + " -- " + run)
    RUNS[run](frame, tmp_path)
    of_a_join(on)
    frame.unpersist()
    on.sql(NO_JOIN).collect()
    empty(on)


@pytest.mark.parametrize("run", RUNS)
def test_without_a_candidate_none_is_reported_however_it_runs(on: SparkSession, run: str, tmp_path: Path) -> None:
    on.sql(JOIN.format(5)).collect()
    of_a_join(on)
    frame = on.sql(NO_JOIN)
    RUNS[run](frame, tmp_path)
    assert empty(on).reason == "NO_JOIN"
    frame.unpersist()


def test_a_cache_that_is_there_brings_no_report(on: SparkSession) -> None:
    cached = on.sql(JOIN.format(11)).cache()
    try:
        cached.count()
        of_a_join(on)
        cached.groupBy().sum("v").collect()
        empty(on)
    finally:
        cached.unpersist()


@pytest.mark.parametrize(
    "sql",
    [
        "create table {name} using parquet as " + JOIN.format(5),
        "insert into made " + JOIN.format(5),
        "insert overwrite made " + JOIN.format(5),
        "cache table {name} as " + JOIN.format(5),
    ],
)
def test_commands_are_reported(on: SparkSession, sql: str) -> None:
    try:
        on.sql("create table made (v long) using parquet")
        on.sql(NO_JOIN).collect()
        empty(on)
        on.sql(sql.format(name="another"))
        of_a_join(on)
    finally:
        on.sql("uncache table if exists another")
        for name in ("made", "another"):
            on.sql(f"drop table if exists {name}")


def test_a_query_that_fails_has_its_report(on: SparkSession) -> None:
    on.sql(NO_JOIN).collect()
    with pytest.raises(Exception, match="stop here"):
        on.sql("select raise_error('stop here ' || fact.v) from fact join dim on k = id where name in ('n5', 'n7')").collect()
    assert latest(on).execution != empty_execution(on)


def empty_execution(spark: SparkSession) -> int | None:
    spark.sql(NO_JOIN).collect()
    return empty(spark).execution


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    (folder / "in").mkdir()
    spark.range(5, 8).selectExpr("cast(id as int) as key").coalesce(1).write.mode("append").parquet(str(folder / "in"))
    return spark.readStream.schema("key int").parquet(str(folder / "in"))


def test_a_stream_is_reported_inside_and_outside_of_foreach_batch(on: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    stream = stream_of(on, tmp_path)
    on.conf.set("rtfilter.log.path", str(log))
    inside: list[Report | None] = []

    def each(batch: DataFrame, number: int) -> None:
        session = batch.sparkSession
        batch.createOrReplaceTempView("batch")
        session.sql("select /*+ broadcast(batch) */ v from fact join batch on k = key").collect()
        inside.append(rtfilter.last_report(session))

    on.sql(NO_JOIN).collect()
    query = (
        stream.writeStream.foreachBatch(each).option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    assert inside and inside[0] is not None and inside[0].filters[0].probe == "fact.k"
    assert latest(on).filters == inside[-1].filters  # type: ignore[union-attr]
    on.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["filters"][0]["probe"] for line in lines if line["filters"]] == ["fact.k"] * len(inside)
    tables = [[scan["path"] for scan in line["shape"]["scans"]] for line in lines]
    assert sorted(path.rpartition("/")[2][:5] for paths in tables for path in paths) == ["dim", *["fact"] * len(inside), "part-"]


def test_a_join_of_a_stream_with_a_table_is_reported(on: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    stream = stream_of(on, tmp_path)
    on.conf.set("rtfilter.log.path", str(log))
    on.sql(NO_JOIN).collect()
    joined = stream.join(on.table("fact"), on.table("fact")["k"] == stream["key"]).select("v")
    query = joined.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    query.awaitTermination()
    report = latest(on)
    assert report.reason != "" or "fact.k" in str(report)
    on.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    scans = [scan["table"][:5] for line in lines for scan in line["shape"]["scans"]]
    # Once each, though the batch has an execution and one inside it.
    assert sorted(scans[1:]) == ["fact", "part-"] and len({line["execution"] for line in lines}) == len(lines) == 2


def test_sessions_see_their_own_queries(on: SparkSession) -> None:
    on.sql(JOIN.format(5)).collect()
    of_a_join(on)
    other = on.newSession()
    other.range(3).groupBy().count().collect()
    assert latest(other).filters == ()
    of_a_join(on)
    pruned = rtfilter.prune(on.sql(NO_JOIN))
    pruned.collect()
    assert empty(on) == latest(pruned.sparkSession)
