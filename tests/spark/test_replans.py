"""The planner is asked at the re-plans that start a scan, where it may answer something else than before."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from rtfilter.inspection import last_report
from tests.spark.cases import OnOffDuckDB

STAR = (
    "select count(*), sum(v) from fact join dim a on k = a.id join dim b on fact.d = b.day join dim c on kl = c.idl "
    "where a.name like 'n1%' and b.grp = 3 and c.grp < 40"
)


def asked(spark: SparkSession) -> list[str]:
    """The names of the decisions of the last query."""
    record = jvm.last_record(spark)
    assert record is not None
    return [decision["decision"] for decision in record["decisions"]]


def test_a_star_join_is_asked_about_once(spark: SparkSession, check: OnOffDuckDB) -> None:
    """With three broadcasts there are up to three re-plans, of which one starts the scan; no build side is larger than expected."""
    checked = check(STAR, rejects=True)
    (only,) = asked(spark)
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["narrowed"] and {name.split(".")[0] for name in fact["placeholders"]} == {only}


def test_a_build_side_that_turns_out_large_is_asked_about_again(spark: SparkSession, check: OnOffDuckDB) -> None:
    """Some 1,100 rows were expected, and there are a hundred times as many."""
    build = "select id from (select id, explode(sequence(1, 100)) from dim where name like 'n1%')"
    duck = "select id from (select id, unnest(range(100)) from dim where name like 'n1%')"
    sql = "select {hint} count(*), sum(v) from fact join ({build}) b on k = b.id"
    check(sql.format(hint="/*+ BROADCAST(b) */", build=build), rejects=False, duck_sql=sql.format(hint="", build=duck))
    assert len(asked(spark)) == 2


def test_what_was_refused_for_its_size_is_asked_about_again(spark: SparkSession, check: OnOffDuckDB) -> None:
    """The wait for b is not worth it as far as sizes are known; the scan starts when a is there."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    tables = "fact join dim a on k = a.id join dim b on r = b.id"
    where = "a.name like 'n1%' and b.grp = 3"
    check(f"select /*+ BROADCAST(a), MERGE(b) */ count(*), sum(v) from {tables} where {where}", rejects=True)
    report = last_report(spark)
    assert report is not None
    assert [entry.reason for entry in report.filters if entry.probe == "fact.r"] == ["WAIT_DOES_NOT_PAY"]
    first, last = asked(spark)
    assert first != last


def test_what_was_refused_for_its_size_is_settled_once_its_scan_has_started(spark: SparkSession, check: OnOffDuckDB) -> None:
    """The wait of a for b is not worth it; when the fact's scan starts both have been read."""
    tables = "fact join dim a on k = a.id join dim b on a.grp = b.id"
    sql = f"select count(*), sum(v) from {tables} where a.name like 'n2%' and b.grp = 4"
    checked = check(sql, rejects=True)
    report = last_report(spark)
    assert report is not None
    assert "WAIT_DOES_NOT_PAY" in [entry.reason for entry in report.filters if entry.probe == "dim.grp"]
    (only,) = asked(spark)
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["narrowed"] and {name.split(".")[0] for name in fact["placeholders"]} == {only}


def test_scans_of_several_stages_all_get_theirs(spark: SparkSession, check: OnOffDuckDB) -> None:
    """Two stars whose scans start at different re-plans, and a join of the two."""
    spark.conf.set("rtfilter.cost", "always")
    one = "select k, sum(v) s from fact join dim on k = id where name like 'n1%' group by k"
    few = "select a.id from dim a join dim b on a.id = b.id where b.grp = 3"
    two = f"select /*+ BROADCAST(ab) */ k, count(*) n from fact join ({few}) ab on k = id group by k"
    checked = check(f"select x.k, s, n from ({one}) x join ({two}) y on x.k = y.k", rejects=True)
    facts = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert len(facts) == 2 and all(scan["narrowed"] for scan in facts)


def test_a_query_that_is_used_twice_keeps_its_filters_and_runs_once(spark: SparkSession, check: OnOffDuckDB) -> None:
    """The broadcast lies before the scan in the plan, and the second use repeats the first one's."""
    used = "select k, count(*) n from dim join fact on id = k where name like 'n1%' group by k"
    checked = check(f"with used as ({used}) select a.k, a.n, b.n from used a join used b on a.k = b.k + 1", rejects=True)
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["narrowed"]
    report = last_report(spark)
    assert report is not None
    ran = [entry.ran for entry in report.filters if entry.decision == "applied" and entry.probe == "fact.k"]
    assert ran.count(True) == 1 and set(ran) <= {True, False}, "each use has its filter, and one of them its scan"


# A build side of two stages: rows by idl, then by the join's key.
TWO_STAGES = "select max(id) m from dim where grp = {grp} and id between {least} and {least} + 500 group by idl"


def test_a_scan_that_waits_is_not_asked_about_again_until_what_it_waits_for_is_there(
    spark: SparkSession, check: OnOffDuckDB
) -> None:
    """The end of the build side's first stage changes nothing for the probe side."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("rtfilter.cost", "always")
    checked = check(f"select count(*), sum(v) from fact join ({TWO_STAGES.format(grp=3, least=0)}) on k = m", rejects=True)
    (only,) = asked(spark)
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["narrowed"] and {name.split(".")[0] for name in fact["placeholders"]} == {only}


def test_scans_that_wait_for_different_things_keep_their_filters(spark: SparkSession, check: OnOffDuckDB) -> None:
    """One scan starts while another one still waits; below a union a node's children are a list."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("rtfilter.cost", "always")
    short = "select id from dim where grp = 3 and id < 500"
    long = TWO_STAGES.format(grp=7, least=3000)
    union = f"select k, v from fact join ({short}) on k = id union all select k, -v from fact join ({long}) on k = m"
    checked = check(f"select k % 10 g, count(*), sum(v) from ({union}) group by k % 10", rejects=True)
    facts = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert len(facts) == 2 and all(scan["narrowed"] for scan in facts)


def test_a_plan_of_another_shape_gets_an_answer_of_its_own(spark: SparkSession, check: OnOffDuckDB) -> None:
    """Once the build side's first stage is known to be small the join broadcasts: no gate any more."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.adaptive.autoBroadcastJoinThreshold", "10MB")
    spark.conf.set("rtfilter.cost", "always")
    checked = check(f"select count(*), sum(v) from fact join ({TWO_STAGES.format(grp=3, least=0)}) on k = m", rejects=True)
    (fact,) = [scan for scan in checked.scans if scan["table"] == "fact"]
    assert fact["narrowed"] and {name.split(".")[0] for name in fact["placeholders"]} == {asked(spark)[-1]}
    report = last_report(spark)
    assert report is not None and [entry.strategy for entry in report.filters if entry.decision == "applied"] == ["broadcast"]


@pytest.mark.parametrize("cost", ["auto", "always"])
def test_a_plan_that_adaptive_execution_keeps_keeps_its_filters(spark: SparkSession, check: OnOffDuckDB, cost: str) -> None:
    """A re-plan with more shuffles than the plan that runs is thrown away, and with it what was placed in it."""
    spark.conf.set("rtfilter.cost", cost)
    inner = "select a.grp, x.k from dim a join (select distinct k from fact where v between 1000 and 1400) x on a.id = x.k"
    sql = f"select count(*), sum(v) from fact left semi join ({inner}) z on fact.k = z.k"
    checked = check(sql, rejects=True, duck_sql=sql.replace("left semi", "semi"))
    assert any(scan["table"] == "fact" and scan["narrowed"] for scan in checked.scans)
