"""On = off = DuckDB for the queries that users write, and packs are rejected where they can be, by Spark's own metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.cases import FACT_ROWS, PACK_ROWS, OnOffDuckDB

PACKS = FACT_ROWS // PACK_ROWS


def test_inner_join_reads_only_packs_that_hold_a_key(check: OnOffDuckDB) -> None:
    got = check("select fact.v, dim.name from fact join dim on k = id where name in ('n5', 'n7', 'n3999')", rejects=True)
    (fact,) = [scan for scan in got.scans if scan["table"] == "fact"]
    assert (fact["packs_total"], fact["packs_read"]) == (PACKS, 2)
    assert fact["numOutputRows"] == 2 * PACK_ROWS
    assert fact["files_dropped"] == 6
    assert len(got.rows) == 30


@pytest.mark.parametrize(
    "join",
    [
        "fact join dim on k = id",
        "fact join dim on kl = idl",
        "fact join dim on ks = id",  # widening: smallint to int
        "fact join dim on kn = id",
        "fact join dim on kn = idn",
        "fact join dim on fact.d = dim.day",
        "fact join dim on k = id and fact.d = dim.day",
        "fact join dim on k = id and kl = idl",
        "fact join dim on k = id and v > grp",
        "fact left semi join dim on k = id and dim.name in ('n5', 'n600')",
    ],
)
def test_joins_that_may_be_filtered(check: OnOffDuckDB, join: str) -> None:
    where = "" if "semi" in join else "where name in ('n5', 'n600')"
    duck = join.replace("left semi join", "semi join")
    sql = f"select count(*), sum(v), count(kn), count(distinct k) from {{}} {where}"
    check(sql.format(join), rejects=True, duck_sql=sql.format(duck))


@pytest.mark.parametrize(
    "join",
    [
        "fact left join dim on k = id and name = 'n5'",
        "dim right join fact on k = id and name = 'n5'",
        "fact left anti join dim on k = id and name = 'n5'",
        "fact full join (select * from dim where name = 'n5') dim on k = id",
    ],
)
def test_joins_that_keep_the_probe_side_are_not_filtered(check: OnOffDuckDB, join: str) -> None:
    duck = join.replace("left anti join", "anti join")
    check(f"select count(*), sum(v) from {join}", rejects=False, duck_sql=f"select count(*), sum(v) from {duck}")


@pytest.mark.parametrize("predicate", ["id / 5000 <= 0.01", "id % 5000 = 7", "id div 100 = 3"])
def test_a_condition_that_cannot_fail_is_no_hindrance(check: OnOffDuckDB, predicate: str) -> None:
    """Spark infers the same condition for the fact's key; ANSI division by a literal other than zero never fails."""
    duck = predicate.replace(" div ", " // ")
    sql = "select count(*), sum(v) from fact join dim on k = id where {}"
    check(sql.format(predicate), rejects=True, duck_sql=sql.format(duck))


def test_a_condition_that_may_fail_keeps_every_row_that_could_fail(check: OnOffDuckDB) -> None:
    check("select count(*), sum(v) from fact join dim on k = id where 1000 / (k + 1) > 500", rejects=False)


def test_null_safe_equality_keeps_rows_with_null_keys(check: OnOffDuckDB) -> None:
    duck = "select count(*), sum(v) from fact join dim on kn is not distinct from idn where grp = 3"
    check("select count(*), sum(v) from fact join dim on kn <=> idn where grp = 3", rejects=False, duck_sql=duck)


def test_empty_build_side_rejects_all_packs_or_the_whole_join(check: OnOffDuckDB) -> None:
    check("select v from fact join dim on k = id where name = 'nobody'", rejects=False, rows=False)
    check("select count(*) from fact where k in (select id from dim where name = 'nobody')", rejects=False)


def test_all_packs_rejected(check: OnOffDuckDB) -> None:
    got = check("select v from fact join dim on k = id where id >= 4500 and name like 'n4%'", rejects=True, rows=False)
    (fact,) = [scan for scan in got.scans if scan["table"] == "fact"]
    assert (fact["packs_read"], fact["numOutputRows"], fact["files_dropped"]) == (0, 0, 8)


def test_duplicate_build_keys_multiply_rows(check: OnOffDuckDB) -> None:
    twice = "(select * from dim union all select * from dim)"
    check(f"select v, name from fact join {twice} d on k = id where name = 'n77'", rejects=True)


def test_unclustered_key_rejects_nothing_and_the_scan_is_left_alone(check: OnOffDuckDB) -> None:
    check.spark.conf.set("rtfilter.keyFirst", "never")
    got = check("select count(*), sum(v) from fact join dim on r = id where grp = 1", rejects=False)
    assert not any(scan["narrowed"] for scan in got.scans)


def test_two_filters_on_one_scan_intersect(check: OnOffDuckDB) -> None:
    sql = (
        "select count(*), sum(v) from fact join dim a on k = a.id join dim b on fact.d = b.day "
        "where a.id between 100 and 900 and a.name like 'n%' and b.id between 800 and 1500 "
        "and b.name like 'n%' and b.grp >= 0 and a.grp >= 0"
    )
    got = check(sql, rejects=True)
    (fact,) = [scan for scan in got.scans if scan["table"] == "fact"]
    assert fact["packs_read"] < 10


@pytest.mark.parametrize(
    "sql",
    [
        "select a.v, b.v from fact a join fact b on a.k = b.k where b.v = 12345",
        "select count(*) from fact where k in (select id from dim where name = 'n9')",
        "select sum(v) from fact join dim on k = id where grp = (select max(grp) from dim where id < 3) and id < 40",
        "select count(*) from fact where exists (select 1 from dim where id = k and name = 'n2000')",
        "select k, sum(v) from (select k, v from fact union all select k + 1 as k, v from fact) u join dim on u.k = id "
        "where name = 'n10' group by k",
        "with few as (select id from dim where name in ('n8', 'n88')) "
        "select 'a', sum(v) from fact join few on k = id union all select 'b', count(*) from fact join few on k = id",
        "select name, total from (select k, sum(v) as total from fact group by k) f join dim on f.k = id "
        "where name in ('n1', 'n2')",
        "select * from (select k, v, row_number() over (order by v) as n from fact) f join dim on f.k = id "
        "where name = 'n3' and n < 99",
        "select count(*) from (select k from fact order by v limit 100) f join dim on f.k = id where name = 'n4'",
    ],
)
def test_other_query_shapes_agree(check: OnOffDuckDB, sql: str) -> None:
    on = check.spark.sql
    check.spark.conf.set("rtfilter.enabled", True)
    frame = on(sql)
    frame.collect()
    rejected = any(scan["narrowed"] and scan["packs_read"] < scan["packs_total"] for scan in jvm.scan_metrics(frame))
    check(sql, rejects=rejected)


def test_chain_of_dimensions_filters_the_fact_through_the_lower_joins(check: OnOffDuckDB) -> None:
    sql = (
        "select count(*), sum(v) from fact join dim a on k = a.id left join dim b on fact.r = b.id and b.grp = 1 "
        "join dim c on fact.kl = c.idl where c.name in ('n42', 'n43')"
    )
    check(sql, rejects=True)


def test_partition_column_as_key_is_left_to_spark(check: OnOffDuckDB, tmp_path: Path, spark: SparkSession) -> None:
    spark.sql("select *, k % 5 as p from fact").write.partitionBy("p").parquet(str(tmp_path / "parted"))
    spark.read.parquet(str(tmp_path / "parted")).createOrReplaceTempView("parted")
    check.add("parted", tmp_path / "parted")
    check("select count(*), sum(v) from parted join dim on p = id where name = 'n3'", rejects=False)
    assert "PARTITION_COLUMN" in str(rtfilter.why_not(spark.sql("select v from parted join dim on p = id where name = 'n3'")))
    # Dynamic partition pruning and a runtime filter on the same scan.
    both = "from parted join dim on p = grp join dim b on k = b.id where dim.name = 'n3' and b.name = 'n8'"
    check(f"select count(*), sum(v) {both}", rejects=True)
