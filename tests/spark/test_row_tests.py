"""Rows are tested before a filter's own join, where nothing else is ahead of them, if that is quicker than the join's look-up."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.cases import OnOffDuckDB

ROWS, KEYS = 2_000_000, 20_000
# Each value is in every pack. `apart` and `near` are whole numbers up to 20,000, `far` up to 10^13.
KEY = f"(i * 7919 % {KEYS})"
COLUMNS = f"{KEY} as apart, {KEY} as near, {KEY} * 1000000007 as far, 'word ' || {KEY} as word"
# One key in 200, or the first 1 in 200.
SOME, FIRST = "f % 200 = 7", "f < 100"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    for name, rows, columns in (("wide", ROWS, COLUMNS), ("keys", KEYS, f"{COLUMNS}, {KEY} as f")):
        (folder / name).mkdir()
        made = f"select i as v, {columns} from range({rows}) t(i)"
        duckdb.execute(f"copy ({made}) to '{folder}/{name}/all.parquet' (format parquet, row_group_size 100000)")
    return folder


@pytest.mark.parametrize(
    ("key", "where", "tested"),
    [("apart", SOME, True), ("near", FIRST, False), ("far", SOME, False), ("word", SOME, True)],
    ids=["a hash table of numbers", "an array of numbers", "a hash table like the filter's", "a hash table of texts"],
)
def test_where_a_test_is_quicker_than_the_look_up(
    spark: SparkSession, check: OnOffDuckDB, large: Path, key: str, where: str, tested: bool
) -> None:
    for name in ("wide", "keys"):
        spark.read.parquet(str(large / name)).createOrReplaceTempView(name)
        check.add(name, large / name)
    spark.conf.set("rtfilter.keyFirst", "never")
    check(f"select count(*), sum(wide.v) from wide join keys on wide.{key} = keys.{key} where {where}", rejects=False)
    report = rtfilter.last_report(spark)
    assert report is not None
    (entry,) = report.filters
    assert (entry.decision == "applied", entry.reason == "ROWS_ONLY") == (tested, tested), entry
    assert entry.rows_dropped == (ROWS * 199 // 200 if tested else None), entry
