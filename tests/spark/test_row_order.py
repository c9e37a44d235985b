"""Samples, parts of files, and what goes by chance: the same rows with the layer on, from scans that are left as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

import rtfilter
from rtfilter.bridge import jvm

JOINED = "select fact.* from fact join dim on k = id where name in ('n5', 'n7')"


def reasons(df: DataFrame, probe: str = "fact.k") -> set[str]:
    return {entry["reason"] for entry in rtfilter.why_not(df).to_dict()["keys"] if entry["probe"] == probe}


def on_and_off(spark: SparkSession, query: Callable[[], list[Any]]) -> list[Any]:
    """The rows, equal in both; the join itself is one that a filter narrows."""
    off = query()
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    plain = spark.sql(JOINED)
    assert len(plain.collect()) == 20 and any(scan["narrowed"] for scan in jvm.scan_metrics(plain))
    assert query() == off
    return off


def test_a_repeatable_sample_of_a_join_is_the_same_with_filters(spark: SparkSession) -> None:
    sampled = f"select v from ({JOINED}) tablesample (50 percent) repeatable (7)"
    rows = on_and_off(spark, lambda: sorted(row.v for row in spark.sql(sampled).collect()))
    assert 0 < len(rows) < 20
    assert reasons(spark.sql(sampled)) == {"NOT_DETERMINISTIC"}


def test_the_parts_of_a_random_split_are_those_without_filters(spark: SparkSession) -> None:
    def parts() -> list[Any]:
        return [sorted(row.v for row in part.collect()) for part in spark.sql(JOINED).randomSplit([0.5, 0.5], seed=11)]

    first, second = on_and_off(spark, parts)
    assert first and second and len(first) + len(second) == 20


def test_parts_of_files_above_a_join_are_those_of_the_whole_file(spark: SparkSession) -> None:
    blocks = "select v, input_file_block_start() s, input_file_block_length() l from fact join (values (5), (7)) d(id) on k = id"
    assert len(on_and_off(spark, lambda: sorted(map(tuple, spark.sql(blocks).collect())))) == 20
    assert reasons(spark.sql(blocks)) == {"NOT_DETERMINISTIC"}


def test_ids_of_a_query_that_is_used_twice_are_the_same_in_both(spark: SparkSession) -> None:
    ids = f"select v, monotonically_increasing_id() as i from ({JOINED})"
    twice = f"with t as ({ids}) select count(*) as n from t a join t b using (i) where a.v = b.v"
    assert on_and_off(spark, lambda: [row.n for row in spark.sql(twice).collect()]) == [20]


def test_a_shuffled_build_side_with_a_function_of_chance_builds_nothing(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", -1)
    for coin, expected in ((F.udf(lambda _: True, BooleanType()), "PLANNED"), (None, "NOT_DETERMINISTIC")):
        chance = coin or F.udf(lambda _: True, BooleanType()).asNondeterministic()
        build = spark.table("dim").where(chance("grp")).where("name in ('n5', 'n7')")
        assert reasons(spark.table("fact").join(build, F.expr("k = id"))) == {expected}


@pytest.mark.parametrize(("by", "expected"), [("k", "PLANNED"), ("1 div k", "MAY_RAISE")])
def test_a_shuffle_by_what_can_fail_is_not_passed(spark: SparkSession, by: str, expected: str) -> None:
    spark.conf.set("rtfilter.enabled", True)
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.ansi.enabled", True)
    build = F.broadcast(spark.table("dim").where("name in ('n5', 'n7')"))
    frame = spark.table("fact").repartition(4, F.expr(by)).join(build, F.expr("k = id"))
    assert reasons(frame) == {expected}
