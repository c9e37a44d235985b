"""What goes wrong between a gate and its fill: no hang, no wrong row, and a cancelled query ends."""

from __future__ import annotations

import threading
import time

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.shuffled.jobs import jobs_of, jobs_on_and_off, on_and_off, packs_rejected, rows_dropped

SQL = "select count(*), sum(v) from fact join dim on k = id where grp = 3"


def reasons(spark: SparkSession) -> set[str]:
    report = rtfilter.last_report(spark)
    assert report is not None
    return {entry.reason for entry in report.filters}


@pytest.mark.parametrize(
    "build",
    [
        "select * from dim where rand() < 0.5 distribute by rand()",
        "select id from (select id from dim distribute by grp) limit 50",
        "select id from (select id, row_number() over (partition by grp order by 1) as n from dim) where n < 4",
        "select grp, first(id) as id from dim group by grp",
    ],
)
def test_a_build_side_that_may_come_out_otherwise_fills_nothing(spark: SparkSession, build: str) -> None:
    sql = f"select count(*) > 0 from fact join ({build}) dim on k = id"
    on, _, frame = jobs_of(spark, sql, on=True)
    assert on == [(True,)]
    assert packs_rejected(frame) == rows_dropped(frame) == 0
    assert reasons(spark) == {"NOT_DETERMINISTIC"}


def test_a_build_side_that_is_larger_than_thought_is_not_read(spark: SparkSession) -> None:
    # The guess at what the conditions let through is far off: they let everything through.
    spark.conf.set("rtfilter.cost", "auto")
    sql = (
        "select count(*), sum(v) from fact join "
        "(select id + 0 * x.n as id from dim cross join (select explode(sequence(1, 60)) n) x "
        "where name like 'n%' and grp >= 0 and grp < 50 and id >= 0) dim on k = id"
    )
    _, frame, jobs_off, jobs_on = jobs_on_and_off(spark, sql)
    assert jobs_on == jobs_off
    assert packs_rejected(frame) == rows_dropped(frame) == 0


def test_a_cancelled_query_ends(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    outcome: list[object] = []

    def run() -> None:
        spark.sparkContext.setJobGroup("to be cancelled", "to be cancelled", interruptOnCancel=True)
        try:
            many = "(select explode(sequence(1, 200000)) n)"
            outcome.append(
                spark.sql(f"select count(*) from (select k, v from fact join dim on k = id) cross join {many}").collect()
            )
        except Exception as error:  # the kind of error is what is asserted
            outcome.append(error)

    query = threading.Thread(target=run)
    query.start()
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 30
    while not tracker.getJobIdsForGroup("to be cancelled") and time.monotonic() < deadline:
        time.sleep(0.01)
    while query.is_alive() and time.monotonic() < deadline + 60:
        # Again and again: a cancellation between two jobs of a query reaches neither of them, with or without the layer.
        spark.sparkContext.cancelJobGroup("to be cancelled")
        query.join(0.2)
    spark.conf.set("rtfilter.enabled", False)
    assert not query.is_alive()
    assert isinstance(outcome[0], Exception)
    assert "cancel" in str(outcome[0]).lower()


def test_a_planner_that_fails_at_the_fill_leaves_no_gate_behind(spark: SparkSession) -> None:
    off, _, _ = jobs_of(spark, SQL, on=False)
    spark.conf.set("rtfilter.python", "/nowhere/python")
    on, _, frame = jobs_of(spark, SQL, on=True)
    assert on == off
    assert "RtFilterGate" not in frame._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[0]


@pytest.mark.parametrize("option", ["rtfilter.enabled", "rtfilter.gate.enabled"])
def test_switching_off_between_planning_and_running_is_safe(spark: SparkSession, option: str) -> None:
    off, _, _ = jobs_of(spark, SQL, on=False)
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    frame._jdf.queryExecution().executedPlan()
    spark.conf.set(option, False)
    rows = [tuple(row) for row in frame.collect()]
    assert rows == off


def test_a_stage_that_fails_under_a_filter_fails_the_query_and_nothing_after_it(spark: SparkSession) -> None:
    rows = "select /*+ merge(dim) */ k, v, name from fact join dim on r = id where grp = 3"
    for enabled in (False, True):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            jobs_of(spark, f"select sum(1 / (v - v)) from ({rows})", on=enabled)
    _, frame = on_and_off(spark, rows)
    assert packs_rejected(frame) > 0 or rows_dropped(frame) > 0


def test_an_overflow_in_a_group_that_the_join_drops_is_still_an_error(spark: SparkSession) -> None:
    def summed(value: str) -> str:
        groups = f"(select k, sum({value}) s from fact group by k) f"
        return f"select /*+ merge(dim) */ k, s from {groups} join dim on f.k = id where grp = 3 and id < 900"

    for enabled in (False, True):
        with pytest.raises(Exception, match="OVERFLOW"):
            jobs_of(spark, summed("case when k = 4 then 9223372036854775807L else v end"), on=enabled)
    # A sum of what is smaller can't overflow.
    _, frame = on_and_off(spark, summed("r"))
    assert packs_rejected(frame) > 0


FAILING = "(select id, grp from dim where 100 / (grp - 3) > -1000)"
# Of two sides that fail at once Spark itself names both, or the first.
ANOTHER = "(select id as other from dim where 10 / (grp + 7) > -20)"


@pytest.mark.parametrize(
    "sql",
    [
        f"select count(*), sum(v) from fact join {FAILING} d on k = id",
        f"select count(*), sum(v) from {FAILING} d join fact on k = id",
        f"select count(*), sum(v) from fact join {FAILING} d on k = id join {ANOTHER} e on k = other",
    ],
    ids=["probe first", "build first", "two gates"],
)
def test_a_build_side_that_fails_fails_the_query_as_without_the_layer(spark: SparkSession, sql: str) -> None:
    """Nothing waits for it: adaptive execution would hear of its failure for the join, and once more for the gate."""
    spark.conf.set("spark.sql.ansi.enabled", True)
    spark.conf.set("rtfilter.enabled", True)
    assert {"MAY_RAISE"} == {entry["reason"] for entry in rtfilter.why_not(spark.sql(sql)).to_dict()["keys"]}
    conditions = set()
    for _ in range(8):
        with pytest.raises(PySparkException) as failure:
            spark.sql(sql).collect()
        conditions.add(failure.value.getCondition())
    spark.conf.set("rtfilter.enabled", False)
    assert conditions == {"DIVIDE_BY_ZERO"}
