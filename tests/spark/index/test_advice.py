"""`rtfilter.advise` with a session: tables of the catalog, Spark's own parser, and sorted copies."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

import rtfilter
from rtfilter.advisor.sorted_copy import write_sorted_copy

ROWS = 60_000


@pytest.fixture(scope="module")
def sales(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rows of a table of the catalog, in an order that has nothing to do with the customer, in small row groups."""
    folder = tmp_path_factory.mktemp("sales")
    rows = spark.range(ROWS).select(
        ((col("id") * 7919) % 20_011).alias("customer"), (col("id") % 7).alias("shop"), lit("x").alias("a b")
    )
    rows.coalesce(2).write.option("parquet.block.size", 20_000).option("parquet.page.size", 2_000).parquet(str(folder / "t"))
    spark.sql(f"create table advised_sales using parquet location '{folder / 't'}'")
    return "advised_sales"


def packs_with(folder: str, column: str, value: int) -> tuple[int, int]:
    """Row groups whose bounds have the value between them, and all."""
    found = total = 0
    for file in Path(folder).rglob("*.parquet"):
        footer = pq.read_metadata(file)
        place = footer.schema.names.index(column)
        for number in range(footer.num_row_groups):
            bounds = footer.row_group(number).column(place).statistics
            total += 1
            found += bounds.min <= value <= bounds.max
    return found, total


def sales_folder(spark: SparkSession, sales: str) -> str:
    return str(Path(spark.table(sales).inputFiles()[0].removeprefix("file:")).parent)


def test_a_table_of_the_catalog_and_its_sorted_copy(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    statements = tmp_path / "month.sql"
    statements.write_text(
        "select shop from advised_sales where customer = 17;\nselect shop from advised_sales where customer = 18 and;"
    )
    advice = rtfilter.advise(spark, [sales], sql=statements, budget="100%")
    assert "Spark's parser refuses it" in str(advice) and len(advice.items) >= 1
    order = next(item for item in advice.items if item.kind == "cluster_by")
    assert list(order.columns) == ["customer"]
    (applied,) = advice.apply([order.rank], to=str(tmp_path / "copy"))
    assert applied.built
    copy, table = spark.read.parquet(str(tmp_path / "copy")), spark.table(sales)
    assert copy.schema == table.schema and copy.count() == ROWS and copy.exceptAll(table).count() == 0
    (now, of_now), (before, of_before) = (
        packs_with(folder, "customer", 17) for folder in (str(tmp_path / "copy"), sales_folder(spark, sales))
    )
    assert before > 0.8 * of_before > 3 and now == 1 < of_now
    with pytest.raises(rtfilter.AdviceError, match="not empty"):
        advice.apply([order.rank], to=str(tmp_path / "copy"))


def test_a_copy_keeps_partitions_compression_and_odd_names(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    parts = str(tmp_path / "parts")
    spark.table(sales).write.partitionBy("shop").option("compression", "gzip").parquet(parts)
    write_sorted_copy(spark, parts, ["a b", "customer"], str(tmp_path / "copy"))
    assert {each.name for each in (tmp_path / "copy").glob("shop=*")} == {f"shop={number}" for number in range(7)}
    one = next((tmp_path / "copy").rglob("*.parquet"))
    assert pq.read_metadata(one).row_group(0).column(0).compression == "GZIP"
    copy, table = spark.read.parquet(str(tmp_path / "copy")), spark.read.parquet(parts)
    assert copy.count() == ROWS and copy.exceptAll(table).count() == 0


def test_a_copy_that_can_not_be_written_leaves_nothing(spark: SparkSession, sales: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(rtfilter.RtFilterError):
        write_sorted_copy(spark, sales, ["customer"], str(tmp_path / "file" / "copy"))
    with pytest.raises(rtfilter.RtFilterError):
        write_sorted_copy(spark, sales, ["gone"], str(tmp_path / "copy"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file"]
