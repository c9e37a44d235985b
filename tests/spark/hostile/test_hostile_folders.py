"""Queries over tables whose index folders are damaged or hostile: rows are right, and the planner host stays the same process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.index.hostile.all_kinds import KINDS
from tests.index.hostile.index_folder import IndexFolder, make_table
from tests.spark.cases import OnOffDuckDB

# Of one pack each, by the sixth and by the second file: footers keep all ten.
ASKED = "select count(*), sum(a) from t where a = 7003"
JOINED = "select /*+ broadcast(wanted) */ count(*), sum(a), max(s) from t join wanted on a = id"
GOOD = "good"


def damaged(spark: SparkSession, check: OnOffDuckDB, folder: Path, name: str) -> IndexFolder:
    index = make_table(folder)
    if name != GOOD:
        KINDS[name](index)
    table = index.path.parents[1]
    spark.read.parquet(str(table)).createOrReplaceTempView("t")
    spark.sql("select id from values (2004L), (7003L), (9999999L) as k(id)").createOrReplaceTempView("wanted")
    check.duck.execute(f"create or replace view t as select * from read_parquet('{table}/*.parquet')")
    check.duck.execute("create or replace view wanted as select * from (values (2004), (7003), (9999999)) k(id)")
    return index


def test_with_the_good_index_packs_are_rejected(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> None:
    damaged(spark, check, tmp_path / "table", GOOD)
    assert check(ASKED, rejects=True).packs_rejected == 9
    assert check(JOINED, rejects=True, duck_sql=JOINED.replace("/*+ broadcast(wanted) */", "")).packs_rejected == 8


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_right_and_the_host_lives(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path, name: str) -> None:
    spark.conf.set("rtfilter.enabled", True)
    damaged(spark, check, tmp_path / "good", GOOD)
    spark.sql(JOINED).collect()
    host = jvm.host_pid(spark)
    assert host > 0
    damaged(spark, check, tmp_path / "bad", name)
    for sql in (ASKED, JOINED):
        spark.conf.set("rtfilter.enabled", False)
        off = [tuple(row) for row in spark.sql(sql).collect()]
        spark.conf.set("rtfilter.enabled", True)
        assert [tuple(row) for row in spark.sql(sql).collect()] == off
        assert off[0][0] == (1 if sql is ASKED else 2)
    assert jvm.host_pid(spark) == host
