"""Queries of TPC-DS name their conditions, keys and aggregates in the query log."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

pytest.importorskip("duckdb")

from rtfilter.bench.suites.data_cache import DataCache  # after the check that the bench extra is there
from tests.spark.query_log.conftest import Logged
from tpcds.data import tpcds_tables
from tpcds.suite import SPARK_CONF, tpcds_queries

TABLES = ("store_sales", "date_dim", "item", "customer_demographics", "promotion")


@pytest.fixture
def tpcds(spark: SparkSession, tmp_path: Path) -> dict[str, str]:
    folder = tpcds_tables(DataCache(tmp_path / "data"), 0.01, TABLES).path
    for name in TABLES:
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    for key, value in SPARK_CONF.items():
        spark.conf.set(key, value)
    return {query.id: query.spark_sql for query in tpcds_queries()}


def test_query_7(log: Logged, tpcds: dict[str, str]) -> None:
    (line,) = log.lines(tpcds["7"])
    found = {scan["table"].removesuffix(".parquet"): scan for scan in line["shape"]["scans"]}
    assert set(found) == set(TABLES) and not line["shape"]["partial"] and line["shape"]["limit"] == 100
    conditions = found["customer_demographics"]["predicate"]["all"]
    columns = ("cd_gender", "cd_marital_status", "cd_education_status")
    assert conditions == [{"column": column, "op": "=", "values": 1} for column in columns]
    assert found["promotion"]["predicate"] == {
        "any": [{"column": column, "op": "=", "values": 1} for column in ("p_channel_email", "p_channel_event")]
    }
    assert found["date_dim"]["predicate"] == {"column": "d_year", "op": "=", "values": 1}
    assert found["item"]["group_keys"] == ["i_item_id"]
    sales = found["store_sales"]
    keys = {"ss_promo_sk", "ss_item_sk", "ss_sold_date_sk", "ss_cdemo_sk"}
    assert {join["column"] for join in sales["joins"]} == keys
    averages = {(each["function"], *each["columns"]) for each in sales["aggregates"]}
    assert averages == {("avg", name) for name in ("ss_quantity", "ss_list_price", "ss_coupon_amt", "ss_sales_price")}
    for literal in ("College", ":2000", '"N"', '"M"'):
        assert literal not in log.path.read_text()
