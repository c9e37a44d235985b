"""What ANALYZE TABLE has left in the catalog is what the planner counts with."""

from __future__ import annotations

from collections.abc import Iterator

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
