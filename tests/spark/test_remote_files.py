"""Tables that only Spark can open: the bridge reads their footers through Hadoop's FileSystem for the planner host."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rtfilter.bridge import jvm

SQL = "select count(*), sum(v) from far join dim on k = id where name in ('n5', 'n2000')"


def test_packs_of_another_file_system_are_rejected(spark: SparkSession, data: Path) -> None:
    spark.sparkContext._jsc.hadoopConfiguration().set("fs.viewfs.mounttable.far.link./tables", data.as_uri())
    spark.read.parquet("viewfs://far/tables/fact").createOrReplaceTempView("far")
    spark.conf.set("rtfilter.enabled", True)
    for _ in range(2):
        frame = spark.sql(SQL)
        assert [tuple(row) for row in frame.collect()] == [(20, sum(range(50, 60)) + sum(range(20000, 20010)))]
        (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["table"] == "fact"]
        assert (scan["packs_total"], scan["packs_read"], scan["files_dropped"]) == (80, 2, 6)
