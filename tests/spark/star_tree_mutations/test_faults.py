"""Queries of the golden cases find each fault: all are right without one, and with it one of them is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import StarTree
from tests.spark.star_tree_answers.judge import decided, spark_rows
from tests.spark.star_tree_mutations.faults import IN_BRIDGE, IN_HOST, NOTHING
from tests.star_tree.seed import SEED

TIMES = 10
SALES = ("country", "browser", "locale")
# By golden case. `sales` has leaves of one row, `leaves` of all rows below the first dimension.
QUERIES = {
    "S3": "select browser, sum(n) from sales group by browser",
    "S4": "select sum(n) from sales where country in ('CA', 'MX')",
    "S5": "select country, sum(n) from sales where browser in ('Firefox', 'Safari') and locale in ('en', 'es') group by country",
    "S9, a filter": "select country, sum(n) filter (where browser = 'Safari') from sales group by country",
    "S11": "select d0, count(x), count(*) from nulls group by d0",
    "S12": "select theta_sketch_estimate(theta_sketch_agg(user, 8)) from sales",
    "S13": "select theta_sketch_agg(user, 5), theta_sketch_estimate(theta_sketch_agg(user, 5)) from sales",
    "S15": "select count(*), sum(n) from sales where country = 'DE'",
    "S17": "select d0, sum(x) from nulls group by d0",
    "S18": "select country, sum(n) from leaves where locale = 'es' group by country",
    "S20": "select country, min(n), max(n) from leaves where locale <> 'fr' group by country",
    "S26": "select name, sum(w), sum(n) from sales join places using (country) group by name",
    "nulls between measures": "select sum(x + z) from nulls",
}
# No tree answers them.
REFUSED = ("S12", "nulls between measures")


def _table(spark: SparkSession, folder: Path, name: str, table: pa.Table) -> str:
    place = folder / name
    place.mkdir()
    pq.write_table(table, place / "0.parquet")
    spark.read.parquet(str(place)).createOrReplaceTempView(name)
    return str(place)


@pytest.fixture(scope="module")
def right(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The answers of the queries without the layer."""
    folder = tmp_path_factory.mktemp("tables")
    columns = dict(zip((*SALES, "n"), map(list, zip(*SEED * TIMES, strict=True)), strict=True))
    users = {"user": [f"u{number}" for number in range(len(SEED) * TIMES)]}
    for name, max_leaf in (("sales", 1), ("leaves", 10_000)):
        place = _table(spark, folder, name, pa.table({**columns, **users}))
        measures = ["count(*)", "sum(n)", "min(n)", "max(n)", *(["theta_sketch_agg(user, 5)"] if name == "sales" else [])]
        StarTree.create(spark, place, SALES, measures, name="cube", max_leaf=max_leaf, max_rows=1_000_000)
    nulls = {
        "d0": [None, None, "a", "a", "b"] * TIMES,
        "d1": ["x", "y", "x", "x", "y"] * TIMES,
        "x": [1, None, 4, 8, 16] * TIMES,
        "z": [1, 2, None, 4, 5] * TIMES,
    }
    place = _table(spark, folder, "nulls", pa.table(nulls))
    StarTree.create(spark, place, ["d0", "d1"], ["sum(x)", "sum(z)"], name="cube", max_leaf=1, max_rows=1_000_000)
    places = {"country": ["CA", "MX", "MX", "USA"], "name": ["p", "p", "q", "q"], "w": [1, 10, 100, 1_000]}
    _table(spark, folder, "places", pa.table(places))
    return {case: spark_rows(spark, sql, layer=False) for case, sql in QUERIES.items()}


def test_without_a_fault_all_are_right(spark: SparkSession, right: dict[str, object], switch: Callable[[str], None]) -> None:
    switch(NOTHING)
    for case, sql in QUERIES.items():
        assert spark_rows(spark, sql, layer=True) == right[case], case
        assert [entry["used"] for entry in decided(spark)] == [case not in REFUSED], case


@pytest.mark.parametrize("fault", [*IN_HOST, *IN_BRIDGE])
def test_a_fault_is_found(spark: SparkSession, right: dict[str, object], switch: Callable[[str], None], fault: str) -> None:
    switch(fault)
    found = {case: spark_rows(spark, sql, layer=True) for case, sql in QUERIES.items()}
    wrong = [case for case, rows in found.items() if rows != right[case]]
    print(f"\n{fault}: {', '.join(wrong)}")
    assert wrong, "all queries are right although there is a fault"
    assert all(isinstance(found[case], list) for case in wrong), f"a query has failed: {found}"
