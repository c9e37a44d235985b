"""What a filter of many keys adds to the live heap of the driver, kind by kind. Prints megabytes; no test.

python tests/measure/filter_memory.py [keys] [rounds]

A thread collects garbage and reads what is left, again and again while a query runs, with the layer off and with it on; between
two collections the query has PAUSE times as long for itself as one of them took. With `local[2]` tasks live in the driver's heap
too, so what they hold of the filter is in the figure. Spark's own sorts are told to use memory outside of the heap: with 1.5 GB
of theirs in it, which come and go, figures of one kind differed by 100 MB. A figure is the median of the rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import rtfilter

MEGABYTE = 1 << 20
# A probe side must be larger than its build side, or nothing waits; its packs are few, for they are not what is measured.
PROBE_ROWS_PER_KEY = 2
FAR_APART = 1009
# Without it the query takes minutes where it takes seconds.
PAUSE = 2.0
# The kind that is asked for, the column, what becomes of it with many keys.
KINDS = {
    "set of dense numbers (a bitmap)": ("set", "dense"),
    "bloom filter of numbers far apart": ("set,bloom", "wide"),
    "ranges of numbers far apart": ("range", "wide"),
    "bloom filter of texts": ("set,bloom", "text"),
}


@dataclass
class Peak:
    """The largest number of bytes that a garbage collection left, and how often it was looked at."""

    bytes: int = 0
    looks: int = 0


def write_tables(folder: Path, keys: int) -> None:
    _write(folder / "build.parquet", np.random.default_rng(1).permutation(keys) * PROBE_ROWS_PER_KEY)
    _write(folder / "probe.parquet", np.arange(keys * PROBE_ROWS_PER_KEY))


def _write(file: Path, numbers: Any) -> None:
    wide = pa.array(numbers * FAR_APART)
    columns = {"dense": pa.array(numbers), "wide": wide, "text": wide.cast(pa.string())}
    pq.write_table(pa.table(columns), file, row_group_size=1_000_000)


@contextmanager
def sampled(spark: SparkSession) -> Iterator[Peak]:
    """Watches the driver's live heap until the block ends."""
    heap = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    peak, ended = Peak(), threading.Event()

    def watch() -> None:
        took_s = 0.0
        while not ended.wait(PAUSE * took_s):
            began = time.monotonic()
            heap.gc()
            took_s = time.monotonic() - began
            peak.bytes = max(peak.bytes, int(heap.totalMemory()) - int(heap.freeMemory()))
            peak.looks += 1

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def peak_of(spark: SparkSession, sql: str, *, on: bool) -> Peak:
    spark.conf.set("rtfilter.enabled", on)
    with sampled(spark) as peak:
        spark.sql(sql).collect()
    return peak


def main(keys: int, rounds: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    builder = builder.config("spark.memory.offHeap.enabled", "true").config("spark.memory.offHeap.size", "4g")
    spark = rtfilter.configure(builder.config("spark.driver.memory", "4g")).getOrCreate()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("rtfilter.planner.timeoutMs", "60000")
    with tempfile.TemporaryDirectory() as scratch:
        write_tables(Path(scratch), keys)
        for name in ("build", "probe"):
            spark.read.parquet(str(Path(scratch) / f"{name}.parquet")).createOrReplaceTempView(name)
        for title, (kinds, column) in KINDS.items():
            spark.conf.set("rtfilter.kinds", kinds)
            sql = f"select /*+ merge(build) */ count(*) from probe join build on probe.{column} = build.{column}"
            peak_of(spark, sql, on=True)
            pairs = [(peak_of(spark, sql, on=False), peak_of(spark, sql, on=True)) for _ in range(rounds)]
            report = rtfilter.last_report(spark)
            filters = [] if report is None else [f"{each.kind} of {each.keys:,} keys, {each.decision}" for each in report.filters]
            extras = [round((on.bytes - off.bytes) / MEGABYTE) for off, on in pairs]
            looks = sum(off.looks for off, _ in pairs), sum(on.looks for _, on in pairs)
            off_mb = round(statistics.median(off.bytes for off, _ in pairs) / MEGABYTE)
            extra = f"{statistics.median(extras):+.0f} MB on {off_mb} MB, single rounds {extras}"
            print(f"{title}: {extra}, {looks} looks, {filters}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
