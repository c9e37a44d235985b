"""`rtfilter.verify` compares star-trees with their tables: floating-point sums to within a tolerance, all else to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.errors import ResultMismatchError
from tests.spark.applications import give_time
from tests.spark.star_tree.made_trees import make_tree_of_rows, sales, write_table

DIMENSIONS = ("store", "day")
MEASURES = ("count(*)", "sum(x)", "sum(weight)", "avg(price)")


def changed(table: pa.Table, column: str, factor: float) -> pa.Table:
    """The same table with a column's values changed by a factor."""
    number = table.column_names.index(column)
    of = table.schema.field(number)
    return table.set_column(number, of, pc.multiply(table.column(number).cast(pa.float64()), factor).cast(of.type, safe=False))


def verified(spark: SparkSession, folder: Path, made_of: pa.Table, measures: Sequence[str] = MEASURES) -> SparkSession:
    """A session that verifies, with a view of a table whose tree is made of these rows."""
    write_table(folder, sales())
    make_tree_of_rows(folder, "cube", DIMENSIONS, measures, made_of)
    own = spark.newSession()
    give_time(own)
    own.read.parquet(str(folder)).createOrReplaceTempView("sales")
    for option in ("enabled", "verify", "startree.floats"):
        own.conf.set(f"rtfilter.{option}", True)
    return own


def is_used(spark: SparkSession) -> bool:
    report = rtfilter.last_report(spark)
    return report is not None and any(tree.used for tree in report.star_trees)


@pytest.mark.parametrize(
    "sql",
    [
        "select store, sum(weight), avg(weight), sum(x) from sales group by store",
        "select sum(weight), cast(sum(weight) as float) from sales where day < 40",
        "select sum(weight) from sales where store = 'none'",
        "select store, day, sum(weight) w from sales group by store, day order by w limit 5",
    ],
)
def test_sums_of_floats_pass_by_tolerance(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    own = verified(spark, tmp_path / "sales", sales())
    assert own.sql(sql).collect()
    assert is_used(own)


@pytest.mark.parametrize(
    ("column", "factor", "sql"),
    [
        ("weight", 1.000001, "select store, sum(weight) from sales group by store"),
        ("x", 1.1, "select store, sum(weight), sum(x) from sales group by store"),
        ("x", 1.1, "select store, sum(x) from sales group by store"),
        ("day", 0.5, "select day, sum(weight) from sales group by day"),
        ("x", 1.1, "select day from sales where x > (select avg(x) from sales where store = 's1') group by day, x having x = 25"),
    ],
)
def test_a_wrong_tree_is_found(spark: SparkSession, tmp_path: Path, column: str, factor: float, sql: str) -> None:
    own = verified(spark, tmp_path / "sales", changed(sales(), column, factor))
    with pytest.raises(ResultMismatchError):
        own.sql(sql).collect()


def test_without_a_tree_floats_are_compared_to_the_last_bit(spark: SparkSession, tmp_path: Path) -> None:
    """Of a plan that reads no tree's sums of floats nothing is rounded."""
    own = verified(spark, tmp_path / "sales", changed(sales(), "x", 1.0 + 1e-12))
    bridge = own._jvm.org.apache.spark.sql.execution.rtfilter  # type: ignore[union-attr]
    by_tree = own.sql("select store, sum(weight) from sales group by store")
    by_table = own.sql("select name, sum(weight) from sales group by name")
    no_floats = own.sql("select store, sum(x), avg(price) from sales group by store")
    wanted = [bridge.CloseRows.wanted(each._jdf.queryExecution().executedPlan()) for each in (by_tree, by_table, no_floats)]
    assert wanted == [True, False, False]
