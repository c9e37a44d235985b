"""How users switch the layer on and ask it what it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark import RDD
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.bridge.session_clones import MOST_CLONES

SQL = "select fact.v from fact join dim on k = id where name in ('n5', 'n7')"


def narrowed(df: DataFrame) -> bool:
    return any(scan["narrowed"] for scan in jvm.scan_metrics(df))


def test_off_by_default(spark: SparkSession) -> None:
    frame = spark.sql(SQL)
    assert frame.count() == 20
    assert not narrowed(frame)
    assert "rtfilter(" not in frame._jdf.queryExecution().executedPlan().toString()


def test_configure_keeps_what_is_there(session: SparkSession) -> None:
    builder = SparkSession.builder.config("spark.jars", "a.jar").config("spark.sql.extensions", "x.Y")
    builder._options = {"spark.jars": "a.jar", "spark.sql.extensions": "x.Y"}
    options = dict(rtfilter.configure(builder)._options)
    ours = rtfilter.spark_conf()
    assert options["spark.jars"] == f"a.jar,{ours['spark.jars']}"
    assert options["spark.sql.extensions"] == f"x.Y,{ours['spark.sql.extensions']}"
    again = dict(rtfilter.configure(builder)._options)
    assert again["spark.jars"] == options["spark.jars"]


def test_attach_says_what_is_missing(session: SparkSession) -> None:
    assert rtfilter.attach(session) is session


def test_report_of_the_last_query(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    assert spark.sql(SQL).count() == 20
    report = rtfilter.last_report(spark)
    assert report is not None
    (entry,) = report.filters
    assert (entry.build, entry.probe, entry.join_type, entry.strategy) == ("dim.id", "fact.k", "inner", "broadcast")
    assert (entry.decision, entry.kind, entry.keys, entry.build_rows) == ("applied", "set", 2, 2)
    assert (entry.packs_total, entry.packs_kept, entry.rows_total, entry.rows_kept) == (80, 1, 40_000, 500)
    assert entry.fill_ms is not None and entry.fill_ms > 0
    assert "dim.id" in str(report)
    assert "<" in report._repr_html_()
    json.dumps(report.to_dict())


def test_report_of_a_filter_that_rejects_nothing(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.sql("select count(*) from fact join dim on r = id where grp = 3").collect()
    report = rtfilter.last_report(spark)
    assert report is not None
    (entry,) = report.filters
    assert (entry.decision, entry.reason) == ("skipped", "REJECTS_NO_PACK")


def test_cost_always_keeps_a_filter_that_rejects_nothing_and_never_plans_none(spark: SparkSession) -> None:
    frame = spark.sql("select count(*) from fact join dim on r = id where grp = 3")
    always = rtfilter.prune(frame, cost="always")
    never = rtfilter.prune(spark.sql(SQL), cost="never")
    assert always.collect() == frame.collect()
    assert narrowed(always)
    assert never.count() == 20
    assert not narrowed(never)
    assert "COST_NEVER" in str(rtfilter.last_report(spark))


def test_range_only(spark: SparkSession) -> None:
    frame = rtfilter.prune(spark.sql("select v from fact join dim on k = id where name in ('n5', 'n2007')"), kinds="range")
    assert len(frame.collect()) == 20
    report = rtfilter.last_report(spark)
    assert report is not None
    assert report.filters[0].kind == "range"
    # Two keys far apart are two ranges with a gap between them.
    assert report.filters[0].packs_kept == 2


def test_more_keys_than_are_held_one_by_one_stay_exact_in_a_bitmap(spark: SparkSession) -> None:
    many = spark.sql("select v from fact join dim on k = id where id between 100 and 300 and name like 'n%'")
    frame = rtfilter.prune(many, set_maxKeys=50)
    assert len(frame.collect()) == 2010
    report = rtfilter.last_report(spark)
    assert report is not None
    assert (report.filters[0].kind, report.filters[0].decision) == ("set", "applied")
    assert report.filters[0].keys == 201


def test_prune_holds_for_the_frame_and_what_comes_of_it_only(spark: SparkSession) -> None:
    plain = spark.sql(SQL)
    fast = rtfilter.prune(plain, kinds="set")
    derived = fast.groupBy().sum("v")
    assert derived.collect() == plain.groupBy().sum("v").collect()
    assert narrowed(derived)
    plain.collect()
    assert not narrowed(plain)
    assert spark.conf.get("rtfilter.enabled", "false") == "false"
    mixed = fast.join(plain, "v")
    assert mixed.count() == 20


def test_pruned_decorates_with_and_without_options(spark: SparkSession) -> None:
    @rtfilter.pruned
    def bare(session: SparkSession) -> DataFrame:
        """Top items."""
        return session.sql(SQL)

    @rtfilter.pruned(kinds="range,set", cost="always")
    def with_options(session: SparkSession) -> DataFrame:
        return session.sql(SQL)

    for function in (bare, with_options):
        frame = function(spark)
        assert len(frame.collect()) == 20
        assert narrowed(frame)
    assert bare.__doc__ == "Top items."


@pytest.mark.parametrize(
    ("options", "words"),
    [({"kindz": "set"}, "rtfilter.kinds"), ({"kinds": "zet"}, "zet"), ({"set_maxKeys": "many"}, "many")],
)
def test_options_given_to_a_function_are_checked(spark: SparkSession, options: dict[str, str], words: str) -> None:
    with pytest.raises(rtfilter.OptionError, match=words):
        rtfilter.prune(spark.sql(SQL), **options)
    with pytest.raises(rtfilter.OptionError, match=words):
        rtfilter.pruned(**options)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("rtfilter.enabeld", "true", "rtfilter.enabled"),
        ("rtfilter.kinds", "zet", "zet"),
        ("rtfilter.set.maxKeys", "x", "whole number"),
    ],
)
def test_options_in_the_session_are_checked_at_the_query(spark: SparkSession, key: str, value: str, words: str) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set(key, value)
    frame = spark.sql(SQL)
    assert len(frame.collect()) == 20
    assert not narrowed(frame)
    report = rtfilter.last_report(spark)
    assert report is not None
    assert words in " ".join(report.warnings)


def test_enabled_must_be_a_boolean(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", "perhaps")
    frame = spark.sql(SQL)
    assert len(frame.collect()) == 20
    assert not narrowed(frame)


def test_explain_runs_nothing_and_needs_no_switch(spark: SparkSession) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("explain", "explain")
    shown = rtfilter.explain(spark.sql(SQL))
    assert "fact.k" in str(shown) and "dim.id" in str(shown)
    assert list(tracker.getJobIdsForGroup("explain")) == []
    spark.sparkContext.setJobGroup("none", "none")


def test_why_not_names_every_key_and_its_reason(spark: SparkSession) -> None:
    sql = "select count(*) from fact join dim on k = id and s || '' = name left join dim b on fact.r = b.id where dim.grp = 1"
    text = str(rtfilter.why_not(spark.sql(sql)))
    for word in ("fact.k", "NOT_A_PLAIN_COLUMN", "PRESERVED_SIDE", "fact.r"):
        assert word in text, text


def test_why_not_without_adaptive_execution(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", False)
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    spark.conf.set("rtfilter.enabled", False)
    assert "rtfilter(" not in plan
    assert "ADAPTIVE_OFF" in str(rtfilter.why_not(frame))


def test_placeholders_show_in_explain_and_filters_in_the_final_plan(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    plan = frame._jdf.queryExecution().executedPlan()
    assert "dim.id: not filled)" in plan.toString()
    frame.collect()
    assert "dim.id: set of 2 keys, 1 of 80 packs)" in plan.toString()


def test_query_log_gets_a_line_of_json_per_query(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "queries.jsonl"
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.log.path", str(log))
    for _ in range(2):
        spark.sql(SQL).collect()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 2
    assert lines[0]["filters"][0]["decision"] == "applied"


def test_verify_runs_the_query_both_ways(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.verify", True)
    spark.sparkContext.setJobGroup("verify", "verify")
    frame = spark.sql(SQL)
    assert len(frame.collect()) == 20
    assert narrowed(frame)
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup("verify"))
    spark.conf.set("rtfilter.verify", False)
    spark.sparkContext.setJobGroup("plain", "plain")
    spark.sql(SQL).collect()
    plain = len(spark.sparkContext.statusTracker().getJobIdsForGroup("plain"))
    spark.sparkContext.setJobGroup("none", "none")
    assert jobs == 3 * plain


def test_verify_fails_a_query_whose_rows_differ(spark: SparkSession) -> None:
    """What differs between the two runs here is the query itself: it is not deterministic."""
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.verify", True)
    frame = spark.sql(
        "select fact.v, reflect('java.util.UUID', 'randomUUID') from fact join dim on k = id where name in ('n5', 'n7')"
    )
    # Making a session installs pyspark's own handler of exceptions anew.
    spark.newSession()
    for _ in range(2):
        with pytest.raises(rtfilter.ResultMismatchError, match=r"^rtfilter\.verify: the query gives \d+ rows") as raised:
            frame.collect()
        assert "\n" not in str(raised.value)
    with pytest.raises(AnalysisException):
        spark.sql("select no_such_column from fact")


def test_metrics_reach_the_sql_tab_of_the_ui(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.sql(SQL).collect()
    report = rtfilter.last_report(spark)
    assert report is not None
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    values = store.executionMetrics(report.execution)
    found = {}
    for metric in iterated(store.execution(report.execution).get().metrics()):
        value = values.get(metric.accumulatorId())
        if value.isDefined():
            found[metric.name()] = value.get()
    assert found["packs total"] == "80"
    assert found["packs kept by runtime filters"] == found["packs read"] == "1"
    assert found["files dropped by runtime filters"] == "7"
    assert "runtime filter fill time" in found


def iterated(scala_collection: Any) -> Any:
    iterator = scala_collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def test_a_frame_with_the_layer_on_leaves_the_rdds_of_the_process_alone(spark: SparkSession) -> None:
    before = RDD.toDF
    rtfilter.prune(spark.sql(SQL)).collect()
    assert RDD.toDF is before


def test_frames_with_equal_options_share_a_clone_until_something_changes(spark: SparkSession) -> None:
    def clone(kinds: str = "set") -> SparkSession:
        return rtfilter.prune(spark.sql(SQL), kinds=kinds).sparkSession

    first = clone()
    first.sql(SQL).collect()
    assert all(clone() is first for _ in range(3))
    assert clone("range") is not first and clone("range").conf.get("rtfilter.kinds") == "range"
    assert spark.conf.get("rtfilter.kinds", None) is None

    spark.conf.set("spark.sql.shuffle.partitions", "7")
    second = clone()
    assert second.conf.get("spark.sql.shuffle.partitions") == "7" and second is clone()
    spark.sql("select 1 as one").createOrReplaceTempView("made_later")
    assert clone().table("made_later").collect() == [(1,)]
    for number in (5, 6):
        spark.udf.register("registered_later", lambda number=number: number, "int")
        assert clone().sql("select registered_later()").collect() == [(number,)]
    spark.catalog.dropTempView("made_later")
    with pytest.raises(AnalysisException):
        clone().table("made_later")


def test_what_is_made_in_a_clone_stays_there_and_is_in_no_other(spark: SparkSession) -> None:
    frame = rtfilter.prune(spark.sql("select 1 as one"))
    frame.createOrReplaceTempView("of_the_clone")
    spark.sql("select 2 as one").createOrReplaceTempView("of_the_clone")
    other = rtfilter.prune(spark.sql(SQL)).sparkSession
    assert other.table("of_the_clone").collect() == [(2,)]
    assert frame.sparkSession.table("of_the_clone").collect() == [(1,)]
    other.conf.set("spark.sql.shuffle.partitions", "3")
    third = rtfilter.prune(spark.sql(SQL)).sparkSession
    assert third.conf.get("spark.sql.shuffle.partitions") == spark.conf.get("spark.sql.shuffle.partitions") != "3"


def test_clones_of_many_sets_of_options_are_bounded(spark: SparkSession) -> None:
    for number in range(MOST_CLONES + 4):
        rtfilter.prune(spark.sql(SQL), set_maxKeys=number + 1)
    assert len(vars(spark)["_rtfilter_clones"]) == MOST_CLONES
