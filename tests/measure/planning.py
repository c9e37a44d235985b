"""What planning takes in TPC-DS queries: decisions, and their milliseconds. Prints a line for each run; no test.

python tests/measure/planning.py SF QUERIES [runs], for example: python tests/measure/planning.py 0.05 7,14,25,64 4
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bench.engines.spark_engine import register_tables
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bridge import jvm
from tpcds.data import tpcds_tables
from tpcds.suite import SPARK_CONF, tpcds_queries


def main(sf: float, ids: set[str], runs: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false")
    for key, value in {**SPARK_CONF, "spark.sql.shuffle.partitions": "4", "rtfilter.planner.timeoutMs": "30000"}.items():
        builder = builder.config(key, value)
    spark = rtfilter.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    tables = tpcds_tables(DataCache(data_directory(None)), sf).path
    register_tables(spark, {file.stem: file for file in tables.glob("*.parquet")})
    spark.conf.set("rtfilter.enabled", True)
    for query in (each for each in tpcds_queries() if each.id in ids):
        for _ in range(runs):
            began = time.perf_counter()
            spark.sql(query.spark_sql).collect()
            took_ms = (time.perf_counter() - began) * 1000
            record = jvm.last_record(spark)
            decisions = [] if record is None else [decision["ms"] for decision in record["decisions"]]
            shown = ", ".join(f"{ms:.0f}" for ms in decisions)
            print(f"{query.id}: {took_ms:,.0f} ms, {len(decisions)} decisions in {sum(decisions):,.0f} ms ({shown})", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(float(sys.argv[1]), set(sys.argv[2].split(",")), int(sys.argv[3]) if len(sys.argv) > 3 else 4)
