"""What real queries say of their scans in the query log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index
from tests.spark.query_log.conftest import Logged

EQUAL_K = {"column": "k", "op": "=", "values": 1}


def scan_of(scans: list[dict[str, Any]], table: str) -> dict[str, Any]:
    (found,) = [scan for scan in scans if scan["table"] == table]
    return found


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("k = 5", EQUAL_K),
        ("5 = k", EQUAL_K),
        ("k <=> 5", {"column": "k", "op": "<=>", "values": 1}),
        ("k <=> null", {"column": "k", "op": "is null", "values": 0}),
        ("kn is null", {"column": "kn", "op": "is null", "values": 0}),
        ("kn is not null", {"column": "kn", "op": "is not null", "values": 0}),
        ("k <> 5", {"not": EQUAL_K}),
        ("k in (1, 2, 3)", {"column": "k", "op": "in", "values": 3}),
        (f"k in ({', '.join(map(str, range(1200)))})", {"column": "k", "op": "in", "values": 1200}),
        ("k not in (1, 2, 3)", {"not": {"column": "k", "op": "in", "values": 3}}),
        ("7 > k", {"column": "k", "op": "<", "values": 1}),
        (
            "k between 3 and 9",
            {"all": [{"column": "k", "op": ">=", "values": 1}, {"column": "k", "op": "<=", "values": 1}]},
        ),
        ("s like 'text%'", {"column": "s", "op": "starts with", "values": 1}),
        ("s like 't_x%'", {"column": "s", "op": "like", "values": 1}),
        ("k + r = 7", {"op": "other", "columns": ["k", "r"]}),
        ("k = 5 or s = 'a'", {"any": [EQUAL_K, {"column": "s", "op": "=", "values": 1}]}),
        (
            "d = date'2020-01-05' and (k = 5 or k + 1 = r)",
            {"all": [{"column": "d", "op": "=", "values": 1}, {"any": [EQUAL_K, {"op": "other", "columns": ["k", "r"]}]}]},
        ),
    ],
)
def test_a_condition_is_told_with_columns_operators_and_numbers_of_values(log: Logged, condition: str, expected: object) -> None:
    (scan,) = log.scans(f"select v from fact where {condition}")
    assert scan["predicate"] == expected and not scan["partial"]
    assert scan["table"] == "fact" and scan["path"].endswith("/fact") and scan["rows"]


def test_literals_make_no_other_shape_and_are_not_in_the_line(log: Logged) -> None:
    sql = "select v from fact where s = '{}' and k in ({}) and r between {} and 4321"
    one, same, other, column = [
        log.lines(text)[0]
        for text in (
            sql.format("a word of mine", "1234567", 17),
            sql.format("a word of mine", "1234567", 17),
            sql.format("another", "7654321", 18),
            sql.format("another", "7654321", 18).replace("r between", "kl between"),
        )
    ]
    assert one["shape"]["digest"] == same["shape"]["digest"] == other["shape"]["digest"] != column["shape"]["digest"]
    assert one["shape"]["scans"][0]["literals"] == same["shape"]["scans"][0]["literals"]
    assert one["shape"]["scans"][0]["literals"] != other["shape"]["scans"][0]["literals"]
    for secret in ("word of mine", "1234567", "4321"):
        assert secret not in log.path.read_text()


def test_with_the_option_literals_are_in_the_line(log: Logged, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.log.literals", True)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    sql = (
        "select v from fact where d > date'2020-01-05' and s in ('a', 'b') and k = 5 and kl < 12345678901 "
        "and cast(null as boolean) is null and s like '_%x'"
    )
    (line,) = log.lines(sql)
    found = {(each["column"], each["op"]): each["literals"] for each in line["shape"]["scans"][0]["predicate"]["all"]}
    assert found == {
        ("d", ">"): ["2020-01-05"],
        ("s", "in"): ["a", "b"],
        ("k", "="): [5],
        ("kl", "<"): [12345678901],
        ("s", "like"): ["_%x"],
    }
    spark.conf.set("rtfilter.log.literals", False)
    assert log.lines(sql)[0]["shape"]["digest"] == line["shape"]["digest"]


def test_a_join_with_an_aggregate_names_keys_groups_and_functions(log: Logged) -> None:
    scans = log.scans(
        "select name, count(*), sum(v), min(d), avg(kl), count(distinct r) from fact join dim on k = id and kn > idn "
        "where grp in (3, 4) group by name having sum(v) > 7"
    )
    fact, dim = scan_of(scans, "fact"), scan_of(scans, "dim")
    assert fact["joins"] == [{"column": "k", "with": "dim.id", "type": "Inner"}]
    assert dim["joins"] == [{"column": "id", "with": "fact.k", "type": "Inner"}]
    assert dim["group_keys"] == ["name"] and fact["group_keys"] == []
    assert {(each["function"], *each["columns"], each["distinct"]) for each in fact["aggregates"]} == {
        ("count", False),
        ("sum", "v", False),
        ("min", "d", False),
        ("avg", "kl", False),
        ("count", "r", True),
    }
    assert dim["predicate"] == {"column": "grp", "op": "in", "values": 2}
    # The condition on columns of both is nobody's own.
    assert fact["partial"] and dim["partial"] and not fact["rows"]
    assert fact["columns"] == ["d", "k", "kl", "kn", "r", "v"]


def test_keys_are_followed_through_names_and_casts_and_computed_ones_are_left_out(log: Logged) -> None:
    scans = log.scans("select count(*) from (select kl as x, v from fact) join dim on x = id and v + 1 = grp + 1")
    assert [join["column"] for join in scan_of(scans, "fact")["joins"]] == ["kl"]


@pytest.mark.parametrize("threshold", ["10485760", "-1"])
def test_a_scan_beside_an_empty_one_is_not_lost(log: Logged, spark: SparkSession, threshold: str) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    scans = log.scans("select v from fact join dim on k = id where name = 'of nobody'")
    assert [scan["table"] for scan in scans] == ["fact", "dim"] and scan_of(scans, "fact")["joins"]


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_what_runs_once_for_several_joins_stands_once_with_all_its_joins(log: Logged, spark: SparkSession, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    scans = log.scans("select sum(v) from fact join dim b on k = b.id join dim c on r = c.id where b.grp = 5 and c.grp = 5")
    assert {join["with"] for join in scan_of(scans, "dim")["joins"]} == {"fact.k", "fact.r"}
    assert {join["column"] for join in scan_of(scans, "fact")["joins"]} == {"k", "r"}


def test_a_table_joined_with_itself_is_two_scans(log: Logged) -> None:
    scans = log.scans("select a.v from fact a join fact b on a.k = b.r where b.v = 5 and a.s = 'x'")
    assert {(scan["predicate"]["column"], scan["joins"][0]["column"]) for scan in scans} == {("v", "r"), ("s", "k")}


def test_subqueries_and_unions_are_told_and_a_condition_on_a_subquery_is_partial(log: Logged) -> None:
    scans = log.scans("select v from fact where k = 5 and v > (select avg(id) from dim where grp = 2) union all select id from dim")
    assert [scan["table"] for scan in scans].count("dim") == 2
    assert scan_of(scans, "fact")["partial"]
    assert [scan["partial"] for scan in scans if scan["table"] == "dim"] == [False, False]


def test_conditions_on_partitions_stand_apart_and_pruning_by_a_join_is_no_scan_of_its_own(
    log: Logged, spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql("select v, k, k % 7 as part from fact").write.partitionBy("part").parquet(str(tmp_path / "parts"))
    spark.read.parquet(str(tmp_path / "parts")).createOrReplaceTempView("parts")
    (scan,) = log.scans("select sum(v) from parts where part in (2, 3) and k > 5")
    assert scan["partitions"] == {"column": "part", "op": "in", "values": 2}
    assert scan["predicate"] == {"column": "k", "op": ">", "values": 1} and scan["columns"] == ["k", "v"]
    scans = log.scans("select sum(v) from parts join dim on part = id where grp = 3")
    assert [scan["table"] for scan in scans] == ["parts", "dim"]


def test_group_keys_of_distinct_rows_and_of_distinct_values(log: Logged) -> None:
    (scan,) = log.scans("select distinct s, ks from fact")
    assert scan["group_keys"] == ["ks", "s"] and not scan["rows"]
    (scan,) = log.scans("select s, count(distinct k) from fact group by s")
    assert scan["group_keys"] == ["s"]
    (scan,) = log.scans("select s, ks, sum(v) from fact group by rollup(s, ks)")
    assert set(scan["group_keys"]) == {"s", "ks"}


def test_measured_packs_stand_with_their_join_key(log: Logged, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    sql = "select sum(v) from fact join dim on k = id where name in ('n5', 'n7')"
    (on,) = log.lines(sql)
    spark.conf.set("rtfilter.enabled", False)
    (off,) = log.lines(sql)
    joins = scan_of(on["shape"]["scans"], "fact")["joins"]
    assert joins == [{"column": "k", "with": "dim.id", "type": "Inner", "packs_total": 80, "packs_kept": 1}]
    assert (
        on["shape"]["digest"] == off["shape"]["digest"] and "packs_kept" not in scan_of(off["shape"]["scans"], "fact")["joins"][0]
    )


def test_packs_that_an_index_left_to_the_query_itself_stand_with_the_scan(
    log: Logged, spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    Index.create(None, str(data / "fact"), [Bloom("r")], name="i", location=str(tmp_path / "store"))
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    spark.conf.set("rtfilter.enabled", True)
    (scan,) = log.scans("select sum(v) from fact where r = 1234")
    assert scan["packs_total"] == 80 and 0 < scan["packs_kept"] < 40


def test_a_condition_of_many_arms_is_told(log: Logged) -> None:
    many = " or ".join(f"(k = {number} and r <> {number})" for number in range(1500))
    (scan,) = log.scans(f"select v from fact where {many}")
    assert len(scan["predicate"]["any"]) == 1500
