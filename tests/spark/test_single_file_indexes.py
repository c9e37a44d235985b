"""Indexes of tables that are single files in one folder, and of columns that only an index knows, at work in queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index, MinMax, ValueSet
from rtfilter.bridge import jvm
from tests.spark.cases import collected


def packs_read(spark: SparkSession, sql: str, rows: int) -> list[int]:
    """Packs read by the narrowed scans of a query that gives what it gives without the layer."""
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(sql)
    assert collected(frame) == off and len(off) == rows
    return [scan["packs_read"] for scan in jvm.scan_metrics(frame) if scan["narrowed"]]


def written(spark: SparkSession, path: Path, view: str, columns: dict[str, Any]) -> str:
    pq.write_table(pa.table(columns), path, row_group_size=10)
    spark.read.parquet(str(path)).createOrReplaceTempView(view)
    return str(path)


def test_each_file_uses_the_index_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    for name, step in (("a", 1), ("b", 3)):
        table = written(spark, tmp_path / f"{name}.parquet", name, {"v": [row * step for row in range(100)]})
        Index.create(spark, table, [MinMax("v"), Bloom("v")], name="i")
    assert packs_read(spark, "select v from a where v = 33", 1) == [1]
    assert packs_read(spark, "select v from b where v = 33", 1) == [1]
    # 2 is in the first pack's bounds of the second file, and only its own bloom filter knows that it is not there.
    spark.conf.set("rtfilter.enabled", True)
    assert spark.sql("select v from b where v = 2").count() == 0


def test_unsigned_numbers_of_64_bits(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    numbers = pa.array([2**64 - 1 - row for row in range(50)] + list(range(50)), pa.uint64())
    table = written(spark, tmp_path / "u.parquet", "u", {"u": numbers, "v": list(range(100))})
    Index.create(spark, table, [MinMax("u"), Bloom("u"), ValueSet("u")], name="i")
    assert packs_read(spark, f"select v from u where u = {2**64 - 1}BD", 1) == [1]
    assert packs_read(spark, "select v from u where u < 5BD", 5) == [1]
    assert packs_read(spark, f"select v from u where u in ({2**64 - 41}BD, 49BD)", 2) == [2]


def test_nanoseconds_as_numbers(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    try:
        times = pa.array([1_700_000_000_000_000_000 + row for row in range(100)], pa.timestamp("ns"))
        table = written(spark, tmp_path / "n.parquet", "n", {"t": times, "v": list(range(100))})
        Index.create(spark, table, [MinMax("t"), Bloom("t")], name="i")
        assert packs_read(spark, "select v from n where t = 1700000000000000077", 1) == [1]
    finally:
        spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")


def test_strings_alike_in_their_first_bytes(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    start = "https://" + "x" * 200
    written(spark, tmp_path / "s.parquet", "s", {"s": [f"{start}{row:03}" for row in range(100)], "v": list(range(100))})
    written(spark, tmp_path / "d.parquet", "d", {"k": [f"{start}033", f"{start}077"]})
    spark.conf.set("rtfilter.cost", "always")
    assert packs_read(spark, "select v from s join d on s = k", 2) == [2]
    Index.create(spark, str(tmp_path / "s.parquet"), [MinMax("s")], name="i")
    assert packs_read(spark, f"select v from s where s = '{start}033'", 1) == [1]
