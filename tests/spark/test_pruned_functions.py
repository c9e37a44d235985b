"""`@rtfilter.pruned` switches the layer on for what a function runs, in its own thread only."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import rtfilter
from rtfilter.bridge import jvm, thread_options

SQL = "select fact.v from fact join dim on k = id where name in ('n5', 'n7')"


def narrowed(df: DataFrame) -> bool:
    return any(scan["narrowed"] for scan in jvm.scan_metrics(df))


def ran(frames: list[DataFrame]) -> list[bool]:
    return [narrowed(frame) for frame in frames]


def test_what_a_function_collects_inside_runs_with_the_layer(spark: SparkSession) -> None:
    inside: list[DataFrame] = []

    @rtfilter.pruned(kinds="range")
    def total(session: SparkSession) -> int:
        inside.append(session.sql(SQL))
        return sum(row.v for row in inside[0].collect())

    off = spark.sql(SQL)
    assert total(spark) == sum(row.v for row in off.collect()) > 0
    assert ran([inside[0], off]) == [True, False]
    after = spark.sql(SQL)
    assert len(after.collect()) == 20 and not narrowed(after)
    inside.clear()
    total(spark)
    report = rtfilter.last_report(spark)
    assert report is not None and [entry.kind for entry in report.filters] == ["range"]


@pytest.mark.parametrize("value", [None, 7, "text", [1, 2], {"a": 1}, ()])
def test_other_return_values_are_given_back_as_they_are(spark: SparkSession, value: Any) -> None:
    assert rtfilter.pruned(lambda session: value)(spark) is value


def test_frames_are_enough_to_find_the_session(spark: SparkSession) -> None:
    frame = spark.sql(SQL)
    rows: list[Row] = rtfilter.pruned(lambda given: given.collect())(frame)
    assert len(rows) == 20 and narrowed(frame)


def test_a_returned_frame_has_the_options_of_its_function(spark: SparkSession) -> None:
    inner = rtfilter.pruned(kinds="range")(lambda session: session.sql(SQL))
    frame = rtfilter.pruned(kinds="set")(inner)(spark)
    assert len(frame.collect()) == 20 and narrowed(frame)
    report = rtfilter.last_report(spark)
    assert report is not None and report.filters[0].kind == "set"

    @rtfilter.pruned(kinds="set")
    def collected(session: SparkSession) -> int:
        return len(rtfilter.prune(session.sql(SQL), kinds="range").collect())

    assert collected(spark) == 20
    report = rtfilter.last_report(spark)
    assert report is not None and report.filters[0].kind == "range"


def test_the_layer_is_off_again_after_an_error(spark: SparkSession) -> None:
    @rtfilter.pruned
    def fails(session: SparkSession) -> None:
        raise ValueError("as meant")

    with pytest.raises(ValueError, match="as meant"):
        fails(spark)
    assert spark.sparkContext.getLocalProperty(thread_options.PROPERTY) is None
    frame = spark.sql(SQL)
    frame.collect()
    assert not narrowed(frame)


def test_calls_within_calls_and_other_threads(spark: SparkSession) -> None:
    frames = {name: spark.sql(SQL) for name in ("inner", "outer", "other")}

    def elsewhere() -> None:
        frames["other"].collect()

    @rtfilter.pruned(cost="never")
    def inner(session: SparkSession) -> None:
        frames["inner"].collect()

    @rtfilter.pruned
    def outer(session: SparkSession) -> None:
        inner(session)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        frames["outer"].collect()

    outer(spark)
    assert {name: narrowed(frame) for name, frame in frames.items()} == {"inner": False, "outer": True, "other": False}


def test_subqueries_and_caches_of_a_function_run_with_the_layer(spark: SparkSession) -> None:
    sql = f"select count(*) from dim where id < (select max(v) from ({SQL}))"
    off = spark.sql(sql).collect()
    frame = spark.sql(sql)
    assert rtfilter.pruned(lambda session: frame.collect())(spark) == off
    assert narrowed(frame)
    assert rtfilter.pruned(lambda session: session.sql(SQL).cache().count())(spark) == 20
    report = rtfilter.last_report(spark)
    spark.catalog.clearCache()
    assert report is not None and [entry.decision for entry in report.filters] == ["applied"]


def test_verify_compares_with_the_layer_off(spark: SparkSession) -> None:
    """What differs between the two runs is the query itself: it is not deterministic."""
    frame = spark.sql(
        "select fact.v, reflect('java.util.UUID', 'randomUUID') from fact join dim on k = id where name in ('n5', 'n7')"
    )
    with pytest.raises(rtfilter.ResultMismatchError):
        rtfilter.pruned(verify=True)(lambda session: frame.collect())(spark)
    same = spark.sql(SQL)
    assert len(rtfilter.pruned(verify=True)(lambda session: same.collect())(spark)) == 20
    assert narrowed(same)
