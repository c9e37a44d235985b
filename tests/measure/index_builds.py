"""What indexes of a large shuffled fact cost and reject: build time, sizes, packs read for single keys. Prints figures; no test.

    rtfilter bench --suite joins --sf 10 --layout shuffled --queries customer --runs 1 --modes off   (makes the table)
    python tests/measure/index_builds.py <folder of store_sales> [runs]

Packs are those of Spark's own scan metrics. Keys are drawn at random among the table's rows.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.store.sketches.bloom import bloom_bytes
from rtfilter.store.sketches.kinds import Bloom, Histogram, MinMax, Sketch, ValueSet

KEYS = ("ss_ticket_number", "ss_customer_sk")
FPP = 0.01
SINGLE_KEYS = 20
INDEXES: dict[str, list[Sketch]] = {
    "bloom": [Bloom(column, fpp=FPP) for column in KEYS],
    "value sets": [ValueSet(column, max=1 << 16) for column in KEYS],
    "min/max": [MinMax(column) for column in KEYS],
    "histogram": [Histogram(column) for column in KEYS],
}


def seconds(action: Callable[[], Any]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def create(spark: SparkSession, table: str, sketches: Sequence[Sketch], place: str) -> rtfilter.Index:
    return rtfilter.Index.create(spark, table, sketches, name="measured", location=place)


def build_times(spark: SparkSession, table: str, sketches: Sequence[Sketch], runs: int) -> tuple[list[float], list[float]]:
    """Seconds of an index build and of Spark's own figures of the same columns, in turns."""
    columns = sorted({sketch.column for sketch in sketches})
    figures = ", ".join(f"min({c}), max({c}), approx_count_distinct({c})" for c in columns)
    builds, spark_itself = [], []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as place:
            spark.conf.set("rtfilter.enabled", False)
            spark_itself.append(seconds(lambda: spark.sql(f"select {figures} from t").collect()))
            builds.append(seconds(partial(create, spark, table, sketches, place)))
    return builds[1:], spark_itself[1:]


def packs_read(frame: DataFrame) -> tuple[int, int]:
    """Packs read and packs in all; 1 of 1 where the index was of no use."""
    scans = [each for each in jvm.scan_metrics(frame) if each["narrowed"]]
    return (scans[0]["packs_read"], scans[0]["packs_total"]) if scans else (1, 1)


def share_read(spark: SparkSession, column: str, keys: Sequence[int], sql: str) -> tuple[list[float], float]:
    """Shares of packs read with one key each, and the median seconds of a query."""
    shares, times = [], []
    for key in keys:
        spark.conf.set("rtfilter.enabled", False)
        off = spark.sql(sql.format(column=column, key=key)).collect()
        spark.conf.set("rtfilter.enabled", True)
        frame = spark.sql(sql.format(column=column, key=key))
        times.append(seconds(frame.collect))
        if frame.collect() != off:
            raise AssertionError(f"{column} = {key} gives other rows with the layer on")
        read, total = packs_read(frame)
        shares.append(read / total)
    return shares, statistics.median(times)


def expected_bloom_bytes(table: str, column: str) -> int:
    """By the formula, out of each pack's exact number of distinct values."""
    expected = 0
    for fragment in pq.ParquetDataset(table).fragments:
        file = pq.ParquetFile(fragment.path)
        for pack in range(file.num_row_groups):
            values = file.read_row_group(pack, columns=[column]).column(0).combine_chunks().drop_null()
            expected += bloom_bytes(len(np.unique(values.to_numpy(zero_copy_only=False))), FPP)
    return expected


def main(table: str, runs: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = rtfilter.configure(builder.config("spark.driver.memory", "4g")).getOrCreate()
    spark.conf.set("rtfilter.footers.waitMs", "20000")
    spark.read.parquet(table).createOrReplaceTempView("t")
    drawn = {column: drawn_keys(spark, column) for column in KEYS}
    for name, sketches in INDEXES.items():
        builds, spark_itself = (statistics.median(times) for times in build_times(spark, table, sketches, runs))
        print(f"{name}: built in {builds:.1f} s, Spark's figures {spark_itself:.1f} s: {builds / spark_itself:.2f}", flush=True)
        with tempfile.TemporaryDirectory() as place:
            tell_sizes(create(spark, table, sketches, place), table)
            spark.conf.set("rtfilter.store.location", place)
            for column in KEYS:
                tell_shares(spark, column, drawn[column])
            spark.conf.unset("rtfilter.store.location")
    with tempfile.TemporaryDirectory() as place:
        print("min/max of every column:")
        every = [MinMax(column) for column in spark.table("t").columns]
        tell_sizes(create(spark, table, every, place), table)
    spark.stop()


def drawn_keys(spark: SparkSession, column: str) -> list[int]:
    spark.conf.set("rtfilter.enabled", False)
    some = f"select {column} from t where {column} is not null and rand(5) < 1e-4 limit 2000"
    found = sorted({int(row[0]) for row in spark.sql(some).collect()})
    return [int(key) for key in np.random.default_rng(11).choice(found, SINGLE_KEYS, replace=False)]


def tell_sizes(index: rtfilter.Index, table: str) -> None:
    stats = index.stats()
    share = stats["bytes"] / stats["table_bytes"]
    print(f"  {stats['bytes']:,} bytes for {stats['packs']} packs, {share:.2%} of the table's {stats['table_bytes']:,}")
    for sketch in stats["sketches"]:
        expected = f", by the formula {expected_bloom_bytes(table, sketch['column']):,}" if sketch["kind"] == Bloom.kind else ""
        if expected or len(stats["sketches"]) == len(KEYS):
            print(f"    {sketch['kind']} of {sketch['column']}: {sketch['bytes']:,} bytes{expected}")


def tell_shares(spark: SparkSession, column: str, keys: Sequence[int]) -> None:
    build = "(select explode(array({key})) c) k"
    ways = {
        "where": "select count(*), sum(ss_quantity) from t where {column} = {key}",
        "join": f"select /*+ broadcast(k) */ count(*), sum(ss_quantity) from t join {build} on {{column}} = c",
    }
    for way, sql in ways.items():
        shares, taken_s = share_read(spark, column, keys, sql)
        print(f"  one {column} by {way}: {np.mean(shares):.2%} of packs read, {max(shares):.2%} at most, {taken_s * 1000:.0f} ms")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
