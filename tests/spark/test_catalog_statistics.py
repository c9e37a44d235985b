"""What ANALYZE TABLE has left in the catalog is what the planner counts with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyspark.sql import SparkSession

import rtfilter


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for name in ("fact", "dim"):
        spark.table(name).write.saveAsTable(f"counted_{name}")
    yield spark
    for name in ("fact", "dim"):
        spark.sql(f"drop table counted_{name}")


def why_not(spark: SparkSession) -> str:
    return str(rtfilter.why_not(spark.sql("select count(*), sum(v) from counted_fact join counted_dim on k = id")))


def test_rows_are_guessed_until_they_are_counted(tables: SparkSession) -> None:
    guessed = why_not(tables)
    assert "WAIT_DOES_NOT_PAY" in guessed and "5,000 build rows" not in guessed
    tables.sql("analyze table counted_dim compute statistics")
    assert "Waiting for 5,000 build rows" in why_not(tables)


def test_counted_values_of_columns_do_no_harm(tables: SparkSession) -> None:
    for name in ("fact", "dim"):
        tables.sql(f"analyze table counted_{name} compute statistics for all columns")
    assert "Waiting for 5,000 build rows" in why_not(tables)


def test_a_partitioned_table_that_nobody_has_analysed_is_as_large_as_its_files(spark: SparkSession) -> None:
    """Spark says 8 EiB of it, and any wait would pay."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.sql("select *, k % 3 as p from fact").repartition(1).write.partitionBy("p").saveAsTable("parted_fact")
    try:
        sql = "select count(*), sum(v) from parted_fact join dim on k = id where name < 'n5'"
        assert "WAIT_DOES_NOT_PAY" in str(rtfilter.why_not(spark.sql(sql)))
        (scan,) = [node for node in snapshot_of(spark, sql) if node.get("table") == "parted_fact"]
        assert scan["bytes"] == sum(file.stat().st_size for file in files_of(spark, "parted_fact"))
    finally:
        spark.sql("drop table parted_fact")


def snapshot_of(spark: SparkSession, sql: str) -> list[dict[str, Any]]:
    """The nodes of a plan as the planner gets them."""
    bridge = spark._jvm.org.apache.spark.sql.execution.rtfilter  # type: ignore[union-attr]
    root = bridge.Snapshot.number(spark.sql(sql)._jdf.queryExecution().sparkPlan())
    nodes = bridge.Snapshot.nodes(root)
    return [json.loads(nodes.apply(number).toString()) for number in range(nodes.length())]


def files_of(spark: SparkSession, table: str) -> list[Path]:
    return [Path(unquote(urlsplit(name).path)) for name in spark.table(table).inputFiles()]
