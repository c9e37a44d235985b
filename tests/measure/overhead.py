"""What the layer itself costs: planning round trips, fills, queries without a join. Prints medians; no test.

python tests/measure/overhead.py [runs]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm

PACKS, PACK_ROWS, FILES = 6400, 512, 16
# Until then much of planning, Spark's own too, runs in code that the JVM has not compiled to its best.
WARMUP = 150


def write_tables(folder: Path) -> None:
    rows = PACKS * PACK_ROWS
    fact = pa.table({"k": pa.array(np.arange(rows) // 8, pa.int32()), "v": pa.array(np.arange(rows))})
    (folder / "fact").mkdir()
    for number in range(FILES):
        part = fact.slice(number * rows // FILES, rows // FILES)
        pq.write_table(part, folder / "fact" / f"{number}.parquet", row_group_size=PACK_ROWS)
    keys = np.arange(0, rows // 8, 2)
    pq.write_table(pa.table({"id": pa.array(keys, pa.int32()), "u": pa.array(keys % 1000)}), folder / "dim.parquet")


def record_of(spark: SparkSession, sql: str) -> dict[str, Any]:
    spark.sql(sql).collect()
    record = jvm.last_record(spark)
    assert record is not None
    return record


def median_and_worst(values: list[float]) -> str:
    worst_tenth = sorted(values)[int(len(values) * 0.9)]
    return f"median {statistics.median(values):6.2f} ms, 90th percentile {worst_tenth:6.2f} ms, {len(values)} runs"


def planning_of(records: list[dict[str, Any]]) -> list[float]:
    return [decision["ms"] for record in records for decision in record["decisions"]]


def joins(spark: SparkSession, name: str, where: str, runs: int) -> None:
    sql = f"select count(*), sum(v) from fact join dim on k = id where {where}"
    early, records = ([record_of(spark, sql) for _ in range(count)] for count in (WARMUP, runs))
    fills = [fill for record in records for fill in record["fills"]]
    print(f"{name}: {fills[0]['filters'][0]['keys']:,} keys, {len(fills) / len(records):g} fills a query")
    print("  planning, snapshot to placeholders:", median_and_worst(planning_of(records)))
    print(f"    of the {WARMUP} queries before:      ", median_and_worst(planning_of(early)))
    print("  fill, keys collected and answered: ", median_and_worst([fill["ms"] for fill in fills]))
    print("    of it reading the build side:    ", median_and_worst([fill["collect_ms"] for fill in fills]))
    print("    of it the round trip:            ", median_and_worst([fill["round_trip_ms"] for fill in fills]))


def without_join(spark: SparkSession, runs: int) -> None:
    """Planning and running a query without a join, on and off in turns."""
    taken: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * (runs + 20)):
        enabled = number % 2 == 0
        spark.conf.set("rtfilter.enabled", enabled)
        frame = spark.sql("select count(*) from dim where u = 3")
        began = time.perf_counter()
        frame._jdf.queryExecution().executedPlan()
        if number >= 40:
            taken[enabled].append((time.perf_counter() - began) * 1000)
    spark.conf.set("rtfilter.enabled", True)
    print("no join, planning with the layer off:", median_and_worst(taken[False]))
    print("no join, planning with the layer on: ", median_and_worst(taken[True]))


def main(runs: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    spark = rtfilter.configure(builder.config("spark.sql.shuffle.partitions", "4")).getOrCreate()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_tables(folder)
        spark.read.parquet(str(folder / "fact")).createOrReplaceTempView("fact")
        spark.read.parquet(str(folder / "dim.parquet")).createOrReplaceTempView("dim")
        spark.conf.set("rtfilter.enabled", True)
        joins(spark, "few keys", "u = 8", runs)
        joins(spark, "many keys", "u >= 0 and id < 200000", runs)
        without_join(spark, runs)
    print(json.dumps({"packs": PACKS, "files": FILES, "spark": spark.version}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
