"""The hint RTFILTER, in SQL and on frames: it reaches the scans, changes their filters, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.report import FilterReport
from tests.spark.cases import OnOffDuckDB, collected

FROM = "from fact join dim on k = id where name in ('n5', 'n7')"
UNCLUSTERED = "from fact join dim on r = id where grp = 3"


def run(spark: SparkSession, frame: str | DataFrame) -> list[FilterReport]:
    """The filters of a query that runs with the layer on; its rows are those without it."""
    df = spark.sql(frame) if isinstance(frame, str) else frame
    spark.conf.set("rtfilter.enabled", False)
    off = collected(df.select("*"))
    spark.conf.set("rtfilter.enabled", True)
    on = collected(df.select("*"))
    spark.conf.set("rtfilter.enabled", False)
    assert on == off and on
    report = rtfilter.last_report(spark)
    assert report is not None
    return list(report.filters)


def reasons(spark: SparkSession, frame: str | DataFrame) -> set[str]:
    return {entry.reason for entry in run(spark, frame)}


def test_never_keeps_the_filter_of_the_query_away(spark: SparkSession) -> None:
    assert reasons(spark, f"select v {FROM}") == {"APPLIED"}
    assert reasons(spark, f"select /*+ RTFILTER(never) */ v {FROM}") == {"HINT_NEVER"}


def test_metrics_show_that_a_hinted_scan_reads_every_pack(spark: SparkSession, check: OnOffDuckDB) -> None:
    plain = f"select v {FROM}"
    check(plain, rejects=True)
    check(f"select /*+ RTFILTER(never) */ v {FROM}", duck_sql=plain, rejects=False)


def test_always_applies_a_filter_that_rejects_nothing(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.keyFirst", "never")
    assert reasons(spark, f"select v {UNCLUSTERED}") == {"REJECTS_NO_PACK"}
    (entry,) = run(spark, f"select /*+ RTFILTER(always) */ v {UNCLUSTERED}")
    assert entry.decision == "applied" and entry.rows_tested


def test_always_has_the_last_word_over_the_session(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.cost", "never")
    assert reasons(spark, f"select v {FROM}") == {"COST_NEVER"}
    assert {entry.decision for entry in run(spark, f"select /*+ RTFILTER(always) */ v {FROM}")} == {"applied"}


@pytest.mark.parametrize("words", ["range", "kinds(range)", "RANGE", "range, f"])
def test_kinds(spark: SparkSession, words: str) -> None:
    (entry,) = run(spark, f"select /*+ RTFILTER({words}) */ v from fact f join dim on k = id where name in ('n5', 'n7')")
    assert (entry.kind, entry.decision) == ("range", "applied")


def test_a_hint_for_a_table_is_for_the_scan_of_that_name_alone(spark: SparkSession) -> None:
    def both(table: str) -> list[str]:
        arms = [
            f"select /*+ RTFILTER(never, {table}) */ v from fact {alias} join dim on k = id where name = 'n{number}'"
            for alias, number in (("a", 5), ("b", 7))
        ]
        return [entry.reason for entry in run(spark, " union all ".join(arms))]

    assert both("a") == ["HINT_NEVER", "APPLIED"]
    assert both("b") == ["APPLIED", "HINT_NEVER"]
    assert both("fact") == ["HINT_NEVER", "HINT_NEVER"]
    assert both("dim") == ["APPLIED", "APPLIED"]


def test_a_hint_is_for_its_own_select_and_what_is_below_it(spark: SparkSession) -> None:
    inner = f"select /*+ RTFILTER(never) */ v {FROM}"
    outer = f"select v from ({inner}) union all select v {FROM.replace('n7', 'n9')}"
    assert sorted(entry.reason for entry in run(spark, outer)) == ["APPLIED", "HINT_NEVER"]


def test_a_hint_reaches_views_subqueries_and_common_tables(spark: SparkSession) -> None:
    spark.sql(f"create or replace temp view hinted_view as select k, v {FROM}")
    assert reasons(spark, "select /*+ RTFILTER(never) */ v from hinted_view") == {"HINT_NEVER"}
    assert reasons(spark, "select v from hinted_view") == {"APPLIED"}
    common = f"with a as (select v {FROM}), b as (select v from a) select {{}} v from b"
    assert reasons(spark, common.format("")) == {"APPLIED"}
    assert reasons(spark, common.format("/*+ RTFILTER(never) */")) == {"HINT_NEVER"}
    assert reasons(spark, common.format("/*+ RTFILTER(never, fact) */")) == {"HINT_NEVER"}
    nested = f"select {{}} name from dim where id in (select cast(v as int) {FROM})"
    assert "APPLIED" in reasons(spark, nested.format(""))
    assert not reasons(spark, nested.format("/*+ RTFILTER(never) */")) & {"APPLIED", "NOT_FILLED"}


def test_hints_hold_for_joins_that_shuffle_both_sides(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    # Left to the cost model no scan of a table this small waits for a shuffle.
    spark.conf.set("rtfilter.cost", "always")

    def narrowed(hint: str) -> set[str]:
        spark.conf.set("rtfilter.enabled", True)
        frame = spark.sql(f"select {hint} v {FROM}")
        assert len(frame.collect()) == 20
        spark.conf.set("rtfilter.enabled", False)
        return {scan["table"] for scan in jvm.scan_metrics(frame) if scan["narrowed"]}

    assert narrowed("") == {"fact"}
    assert narrowed("/*+ RTFILTER(never, fact) */") <= {"dim"}
    assert narrowed("/*+ RTFILTER(never) */") == set()


def test_of_a_nested_table_expression_the_inner_hint_counts_too(spark: SparkSession) -> None:
    inner = f"with a as (select v {FROM}) select {{}} v from a"
    nested = f"select /*+ RTFILTER(never) */ v from ({inner}) b"
    assert reasons(spark, nested.format("/*+ RTFILTER(always) */")) == {"APPLIED"}
    assert reasons(spark, nested.format("")) == {"HINT_NEVER"}


def test_a_hint_inside_a_view_stays_in_it(spark: SparkSession) -> None:
    spark.sql(f"create or replace temp view calm as select /*+ RTFILTER(never) */ k, v {FROM}")
    assert reasons(spark, "select v from calm") == {"HINT_NEVER"}
    assert reasons(spark, "select /*+ RTFILTER(always) */ v from calm") == {"HINT_NEVER"}
    assert reasons(spark, "select /*+ RTFILTER(always, fact) */ v from calm") == {"APPLIED"}


def test_frames_take_the_hint_and_the_frame_itself_stays_without_it(spark: SparkSession, data: Path) -> None:
    fact, dim = spark.read.parquet(str(data / "fact")), spark.read.parquet(str(data / "dim"))
    few = dim.where("name in ('n5', 'n7')")

    def joined(frame: DataFrame) -> DataFrame:
        return frame.join(few, frame.k == few.id).select("v")

    assert reasons(spark, joined(fact.hint("rtfilter", "never"))) == {"HINT_NEVER"}
    assert reasons(spark, joined(fact)) == {"APPLIED"}
    assert reasons(spark, joined(fact).hint("RTFILTER", "never", "fact")) == {"HINT_NEVER"}
    assert reasons(spark, joined(fact.alias("f")).hint("rtfilter", "never", "f")) == {"HINT_NEVER"}
    assert reasons(spark, joined(fact).hint("rtfilter", "never", "dim")) == {"APPLIED"}


def test_of_a_table_that_is_joined_with_itself_each_use_has_its_own_hint(spark: SparkSession) -> None:
    fact = spark.table("fact")
    few = spark.table("dim").where("name in ('n5', 'n7')")
    calm = fact.hint("rtfilter", "never").join(few, fact.k == few.id).select("v")
    both = calm.union(fact.join(few, fact.k == few.id).select("v"))
    assert sorted(entry.reason for entry in run(spark, both)) == ["APPLIED", "HINT_NEVER"]


def test_partitions_that_are_pruned_keep_the_hint(spark: SparkSession) -> None:
    spark.table("fact").selectExpr("k", "v", "v % 2 as part").repartition(4, "k").sortWithinPartitions("k").write.partitionBy(
        "part"
    ).saveAsTable("by_part")
    try:
        sql = "select {} v from by_part join dim on k = id where name in ('n5', 'n7') and part = 1"
        assert (
            "PartitionFilters: [isnotnull(part" in spark.sql(sql.format("/*+ RTFILTER(never) */"))._jdf.queryExecution().toString()
        )
        assert reasons(spark, sql.format("/*+ RTFILTER(never) */")) == {"HINT_NEVER"}
        assert "HINT_NEVER" not in reasons(spark, sql.format(""))
    finally:
        spark.sql("drop table by_part")


def test_a_column_with_the_name_of_a_word_does_not_get_in_its_way(spark: SparkSession) -> None:
    spark.table("fact").withColumnRenamed("d", "never").createOrReplaceTempView("odd")
    assert reasons(spark, "select /*+ RTFILTER(never) */ v from odd join dim on k = id where name = 'n5'") == {"HINT_NEVER"}


def test_an_unknown_word_is_a_warning_in_report_and_why_not_and_the_query_runs(spark: SparkSession) -> None:
    sql = f"select /*+ RTFILTER(nevr) */ v {FROM}"
    assert reasons(spark, sql) == {"APPLIED"}
    report = rtfilter.last_report(spark)
    assert report is not None and len(report.warnings) == 1
    assert "'nevr'" in report.warnings[0] and "Did you mean 'never'?" in report.warnings[0]
    assert "warning: The hint RTFILTER(nevr)" in str(rtfilter.why_not(spark.sql(sql)))
    assert rtfilter.explain(spark.sql(sql)).warnings == report.warnings


def test_why_not_and_explain_know_the_hint(spark: SparkSession) -> None:
    frame = spark.sql(f"select /*+ RTFILTER(never) */ v {FROM}")
    assert [key.reason for key in rtfilter.why_not(frame).keys] == ["HINT_NEVER"]
    assert rtfilter.explain(frame).filters == ()


@pytest.mark.parametrize("words", ["never", "never, fact", "kinds(range)", "nevr, 1, 'x'"])
def test_with_the_layer_off_a_hint_changes_neither_plan_nor_rows(spark: SparkSession, words: str) -> None:
    plain, hinted = spark.sql(f"select v {FROM}"), spark.sql(f"select /*+ RTFILTER({words}) */ v {FROM}")
    plans = [frame._jdf.queryExecution().optimizedPlan() for frame in (plain, hinted)]
    assert plans[0].sameResult(plans[1])
    assert plain.schema == hinted.schema
    assert collected(plain) == collected(hinted)
    assert not any(scan["narrowed"] for scan in jvm.scan_metrics(hinted))


def test_a_cached_frame_is_found_by_the_same_query_with_a_hint(spark: SparkSession) -> None:
    plain = spark.sql(f"select v {FROM}").cache()
    try:
        hinted = spark.sql(f"select /*+ RTFILTER(never) */ v {FROM}")
        assert "InMemoryTableScan" in hinted._jdf.queryExecution().executedPlan().toString()
        assert collected(hinted) == collected(plain)
    finally:
        plain.unpersist()


def test_other_hints_keep_working_beside_it(spark: SparkSession) -> None:
    sql = "select /*+ RTFILTER(never, fact), BROADCAST(dim), COALESCE(1) */ v from fact join dim on k = id where name = 'n5'"
    assert reasons(spark, sql) == {"HINT_NEVER"}
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    assert "BroadcastHashJoin" in spark.sql(sql)._jdf.queryExecution().executedPlan().toString()
    assert spark.sql(sql).rdd.getNumPartitions() == 1
