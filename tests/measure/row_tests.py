"""What testing rows gains, by the joins that they still have ahead and the share with a partner. Prints a line for each; no test.

python tests/measure/row_tests.py DIRECTORY [runs]: a directory that `rtfilter bench --suite imci-micro --layout shuffled` has made,
where no pack can be rejected. The layer is off and on with rtfilter.cost=always in turns; what `auto` decides stands behind.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm

# A quarter of the table at SF10: 33 million rows.
FILES = 4
SHARES = (0.01, 0.1, 0.3, 0.5, 0.7, 0.95)
# By the number of joins ahead of the one with items: the joins, and what makes Spark keep them.
AHEAD = (
    ("", "0"),
    ("join dates on inv_date_sk = d", "sum(y)"),
    ("join dates on inv_date_sk = d join warehouses on inv_warehouse_sk = w", "sum(y) + sum(n)"),
)


def write_build_sides(folder: Path, items: int) -> None:
    """Items with a number between 0 and 1 each; days and warehouses, which all rows find."""
    numbers = np.random.default_rng(1).random(items)
    days, warehouses = np.arange(2_400_000, 2_500_000), np.arange(1, 100)
    pq.write_table(pa.table({"i": pa.array(np.arange(1, items + 1), pa.int32()), "u": numbers}), folder / "items.parquet")
    pq.write_table(pa.table({"d": pa.array(days, pa.int32()), "y": days // 365}), folder / "dates.parquet")
    pq.write_table(pa.table({"w": pa.array(warehouses, pa.int32()), "n": warehouses * 2}), folder / "warehouses.parquet")


def timed_ms(spark: SparkSession, sql: str, enabled: bool, cost: str) -> float:
    spark.conf.set("rtfilter.enabled", enabled)
    spark.conf.set("rtfilter.cost", cost)
    began = time.perf_counter()
    spark.sql(sql).collect()
    return (time.perf_counter() - began) * 1000


def decided(spark: SparkSession) -> list[str]:
    record = jvm.last_record(spark)
    filters = [] if record is None else [each for fill in record["fills"] for each in fill["filters"]]
    return [f"{each['reason']} {each['rows_reason']} {each['estimated_gain_ms']:,.0f} ms" for each in filters]


def main(folder: Path, runs: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g").config("spark.log.level", "ERROR")
    spark = rtfilter.configure(builder.config("spark.ui.showConsoleProgress", "false")).getOrCreate()
    files = sorted(str(file) for file in (folder / "inventory").glob("*.parquet"))[:FILES]
    spark.read.parquet(*files).createOrReplaceTempView("inventory")
    (most,) = spark.sql("select max(inv_item_sk) from inventory").collect()[0]
    with tempfile.TemporaryDirectory() as scratch:
        write_build_sides(Path(scratch), int(most))
        for name in ("items", "dates", "warehouses"):
            spark.read.parquet(f"{scratch}/{name}.parquet").createOrReplaceTempView(name)
        for number, (joins, extra) in enumerate(AHEAD):
            for share in SHARES:
                sql = (
                    f"select count(*), sum(inv_quantity_on_hand), {extra} from inventory {joins} "
                    f"join items on inv_item_sk = i where u < {share}"
                )
                series = [(timed_ms(spark, sql, False, "auto"), timed_ms(spark, sql, True, "always")) for _ in range(runs + 1)]
                off, always = (statistics.median(times) for times in zip(*series[1:], strict=True))
                timed_ms(spark, sql, True, "auto")
                what = f"{number} joins ahead, {share:.0%} with a partner: off {off:,.0f} ms, always {always:,.0f} ms"
                print(f"{what}, {off / always:.2f}; auto: {'; '.join(decided(spark))}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
