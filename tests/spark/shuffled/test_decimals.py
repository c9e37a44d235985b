"""Arithmetic on decimals that have digits enough never fails: filters pass it, and stop where a row could be an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.shuffled.jobs import jobs_of, packs_rejected, rows_dropped

CANNOT_FAIL = [
    "sum(price)",
    "avg(price)",
    "sum(amount)",
    "avg(amount)",
    "0.2 * avg(amount)",
    "avg(price) * 1.2",
    "sum(amount * (1 - price))",
    "sum(-price), sum(abs(amount))",
    "max(price / 3)",
    "max(amount - price)",
]
MAY_FAIL = [
    "sum(large)",
    "max(large * amount)",
    "max(large + 1)",
    "max(amount / price)",
    "max(amount % price)",
    "max(amount div 0.5)",
    "max(-whole)",
]


@pytest.fixture(scope="module")
def files(session: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("decimals") / "prices")
    rows = session.read.parquet(str(data / "fact")).selectExpr(
        "k",
        "cast(v % 1000 + 1 as decimal(7, 2)) as price",
        "cast(v + 1 as decimal(15, 2)) as amount",
        "cast(v + 1 as decimal(38, 2)) as large",
        "v as whole",
    )
    rows.repartitionByRange(4, "k").write.parquet(folder)
    return folder


@pytest.fixture
def prices(spark: SparkSession, files: str) -> SparkSession:
    spark.read.parquet(files).createOrReplaceTempView("prices")
    return spark


def joined(results: str) -> str:
    groups = f"(select k, {results} from prices group by k) p"
    return f"select /*+ merge(dim) */ p.* from {groups} join dim on p.k = id where grp = 3 and id < 900"


@pytest.mark.parametrize("results", CANNOT_FAIL)
def test_a_filter_passes_decimals_with_digits_enough(prices: SparkSession, results: str) -> None:
    off, _, _ = jobs_of(prices, joined(results), on=False)
    on, _, frame = jobs_of(prices, joined(results), on=True)
    assert on == off and off
    assert packs_rejected(frame) + rows_dropped(frame) > 0


@pytest.mark.parametrize("results", MAY_FAIL)
def test_a_filter_stops_where_a_row_could_be_an_error(prices: SparkSession, results: str) -> None:
    off, _, _ = jobs_of(prices, joined(results), on=False)
    on, _, frame = jobs_of(prices, joined(results), on=True)
    assert on == off and off
    assert packs_rejected(frame) + rows_dropped(frame) == 0
    report = rtfilter.last_report(prices)
    assert report is not None and "MAY_RAISE" in {entry.reason for entry in report.filters}


@pytest.mark.parametrize("average", ["avg(price)", "avg(amount)"])
def test_an_average_of_decimals_is_the_same_in_any_order(prices: SparkSession, average: str) -> None:
    groups = f"(select k as id, {average} as a from prices where k < 900 group by k having a > 500) g"
    sql = f"select /*+ merge(g) */ fact.k, v, a from fact join {groups} on k = g.id"
    off, _, _ = jobs_of(prices, sql, on=False)
    on, _, _ = jobs_of(prices, sql, on=True)
    assert on == off and off
    report = rtfilter.last_report(prices)
    assert report is not None and "NOT_DETERMINISTIC" not in {entry.reason for entry in report.filters}
