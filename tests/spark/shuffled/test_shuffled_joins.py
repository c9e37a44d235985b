"""Joins that shuffle both sides: the probe scan waits for the build side, loses packs and rows, and nothing runs twice."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.cases import OnOffDuckDB
from tests.spark.shuffled.jobs import jobs_of, jobs_on_and_off, on_and_off, packs_rejected, rows_dropped

SOME = "name in ('n5', 'n600', 'n3999')"


@pytest.mark.parametrize("hint", ["merge(dim)", "shuffle_hash(dim)", "shuffle_hash(fact)"])
def test_packs_are_rejected_and_rows_dropped_before_the_shuffle(check: OnOffDuckDB, spark: SparkSession, hint: str) -> None:
    sql = f"select /*+ {hint} */ count(*), sum(v), count(distinct name) from fact join dim on k = id where {SOME}"
    checked = check(sql, rejects=True, duck_sql=sql.replace(f"/*+ {hint} */", ""))
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["packs_read"] == 3
    _, frame = on_and_off(spark, sql)
    assert rows_dropped(frame) == 3 * 500 - 30


@pytest.mark.parametrize(
    "sql",
    [
        f"select count(*), sum(v) from fact join dim on k = id where {SOME}",
        f"select count(*), sum(v) from fact join dim on k = id and fact.d = dim.day where {SOME}",
        f"select count(*), sum(v) from fact join dim on r = id where {SOME}",
        "select count(*), sum(v) from fact join dim a on k = a.id join dim b on r = b.id where a.grp = 3 and b.grp = 4",
        "select count(*), sum(v) from fact left semi join (select * from dim where grp = 3) dim on k = id",
        "select count(*), sum(dim.grp) from dim left join fact on k = id where dim.grp = 3",
        "select count(*), sum(v) from fact right join (select * from dim where grp = 3) dim on k = id",
        "select count(*) from (select * from dim where grp = 3) dim left anti join fact on k = id",
    ],
)
def test_a_build_side_runs_once_and_its_keys_take_one_job_or_none(spark: SparkSession, sql: str) -> None:
    off, jobs_off, _ = jobs_of(spark, sql, on=False)
    assert off
    for job_from_rows, more in ((65_536, range(1)), (1, range(1, 1 + sql.count(" join ")))):
        spark.conf.set("rtfilter.keys.jobFromRows", job_from_rows)
        on, jobs_on, frame = jobs_of(spark, sql, on=True)
        assert on == off
        assert packs_rejected(frame) > 0 or rows_dropped(frame) > 0
        assert jobs_on - jobs_off in more


@pytest.mark.parametrize(("condition", "above"), [("true", ["Filter", "RtFilterRows"]), ("v > 5", ["RtFilterRows", "Filter"])])
def test_rows_are_tested_before_other_columns_are_asked_for_nulls(spark: SparkSession, condition: str, above: list[str]) -> None:
    sql = f"select /*+ merge(dim) */ count(*), sum(v) from fact join dim on kn = id where name in ('n7', 'n3999') and {condition}"
    _, frame = on_and_off(spark, sql)
    lines = frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0].splitlines()
    (scan,) = [number for number, line in enumerate(lines) if "FileScan" in line and "kn#" in line]
    nodes = [match[1] for line in lines[:scan] if (match := re.search(r"([A-Z]\w+)", line))]
    assert [node for node in nodes if node in above][-2:] == above
    (tested,) = jvm.row_metrics(frame)
    # A row without a key is neither tested nor counted.
    assert 0 < tested["rows_tested"] < sum(each["numOutputRows"] for each in jvm.scan_metrics(frame) if each["table"] == "fact")
    assert tested["rows_passed"] == tested["rows_tested"] - tested["rows_dropped"] > 0


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*), sum(v) from fact left join (select * from dim where grp = 3) dim on k = id",
        "select count(*), sum(v) from fact left anti join (select * from dim where grp = 3) dim on k = id",
        "select count(*), sum(v) from fact full join (select * from dim where grp = 3) dim on k = id",
    ],
)
def test_a_preserved_side_is_left_whole(spark: SparkSession, sql: str) -> None:
    # With cost=always the other, smaller side would be filtered.
    spark.conf.set("rtfilter.cost", "auto")
    _, frame, jobs_off, jobs_on = jobs_on_and_off(spark, sql)
    assert jobs_on == jobs_off
    assert packs_rejected(frame) == rows_dropped(frame) == 0


def test_a_join_that_becomes_a_broadcast_halfway_is_filtered(spark: SparkSession) -> None:
    # Statistics of the filtered dimension are known only once its shuffle is there.
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "2000")
    spark.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "100000")
    sql = f"select count(*), sum(v) from fact join dim on k = id where {SOME}"
    _, frame = on_and_off(spark, sql)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastHashJoin" in plan.split("Initial Plan")[0]
    assert packs_rejected(frame) > 0


def test_an_empty_build_side_empties_the_join(spark: SparkSession) -> None:
    sql = "select count(*), sum(v) from fact join dim on k = id where name = concat('no', 'body', string(grp))"
    off, _, _ = jobs_of(spark, sql, on=False)
    on, _, _ = jobs_of(spark, sql, on=True)
    assert on == off == [(0, None)]


def test_the_same_query_over_changed_files_collects_its_keys_again(spark: SparkSession, tmp_path: Path) -> None:
    """Both plans are equal, scans and expression ids included: only the files behind them differ."""
    few = tmp_path / "few.parquet"
    sql = "select min(k), count(*) from fact join few on k = id"
    for first in (7, 3000):
        # As many bytes each time, so that Spark's listing of the file still fits it.
        ids = pa.table({"id": pa.array(range(first, first + 3), pa.int32())})
        pq.write_table(ids, few, use_dictionary=False, compression="none")
        if first == 7:
            spark.read.parquet(str(few)).createOrReplaceTempView("few")
        on, _, frame = jobs_of(spark, sql, on=True)
        assert on == [(first, 30)]
        assert packs_rejected(frame) > 0


def test_an_exchange_that_is_used_twice_stays_one(spark: SparkSession) -> None:
    sql = """with f as (select k, r, sum(v) s from fact group by k, r)
        select count(*), sum(a.s + b.s) from f a join f b on a.k = b.k join dim on a.k = id where grp = 3"""
    _, _, jobs_off, jobs_on = jobs_on_and_off(spark, sql)
    assert jobs_on <= jobs_off + 2


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.codegen.wholeStage": "false"},
        {"spark.sql.parquet.enableVectorizedReader": "false"},
        {"spark.sql.shuffle.partitions": "1"},
        {"spark.sql.shuffle.partitions": "61"},
        {"spark.sql.adaptive.coalescePartitions.enabled": "false"},
        {"spark.sql.exchange.reuse": "false"},
        {"rtfilter.kinds": "range"},
        {"rtfilter.kinds": "bloom"},
        {"rtfilter.kinds": "range,bloom", "rtfilter.bloom.fpp": "0.2"},
        {"rtfilter.set.maxKeys": "2"},
    ],
)
def test_rows_and_packs_go_whatever_the_settings(spark: SparkSession, settings: dict[str, str]) -> None:
    for key, value in settings.items():
        spark.conf.set(key, value)
    sql = "select count(*), sum(v) from fact join dim on k = id where id between 10 and 200"
    rows, frame = on_and_off(spark, sql)
    assert rows[0][0] == 1910
    assert packs_rejected(frame) > 0 or settings.get("rtfilter.kinds") == "bloom"


def test_a_row_filter_that_drops_nothing_stops_testing(spark: SparkSession) -> None:
    frame = spark.range(0, 200_000, 1, 1).selectExpr("cast(id % 4000 as int) big", "id v")
    frame.write.mode("overwrite").saveAsTable("many_rows")
    try:
        sql = "select count(*), sum(m.v) from many_rows m join dim on big = id where name <> 'n7'"
        off, _, _ = jobs_of(spark, sql, on=False)
        on, _, ran = jobs_of(spark, sql, on=True)
    finally:
        spark.sql("drop table many_rows")
    assert on == off
    (counts,) = rtfilter.bridge.jvm.row_metrics(ran)
    assert counts["rows_tested"] == 32768
    assert counts["rows_passed"] + counts["rows_dropped"] == 200_000


def test_gates_can_be_switched_off(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.gate.enabled", "false")
    sql = f"select count(*), sum(v) from fact join dim on k = id where {SOME}"
    off, jobs_off, _ = jobs_of(spark, sql, on=False)
    on, jobs_on, frame = jobs_of(spark, sql, on=True)
    assert (on, jobs_on) == (off, jobs_off)
    assert {each.reason for each in rtfilter.why_not(frame).keys} == {"GATE_OFF"}
