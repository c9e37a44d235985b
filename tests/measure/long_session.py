"""What stays behind after many queries: `python tests/measure/long_session.py [QUERIES [off|rtfilter]]`, both where none is named.

One session runs a mix of (by default) 10,000: joins, pruned frames, joins with a cached frame, joins that fail, joins that are
cancelled, joins with tables that were just appended to or overwritten. After a tenth of the queries and at the end it collects
garbage and counts: MB of the planner host, MB of the JVM's heap, threads of JVM and host, descriptors of JVM, host and Python,
and temporary files. Prints a table; the status is 1 where the end is more than a tenth above the count after a tenth.
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from tests.measure.hosts import marked, planner_hosts

FACT_ROWS, DIM_ROWS, PACK_ROWS = 40_000, 400, 1_000
MODES = ("off", "rtfilter")
# Spark's pools (broadcasts, shuffles, stages) keep a thread for 60 s (ThreadUtils.newDaemonCachedThreadPool, checked on 4.3), and
# have hundreds while queries come fast.
IDLE_S = 65
# The small numbers jump by one or two.
GROWTH, SLACK = 1.10, {"host_mb": 4, "heap_mb": 4, "threads": 4, "host_threads": 1, "descriptors": 8, "files": 4}


class Mix:
    """The queries, by what is done; each takes some tens of milliseconds."""

    def __init__(self, spark: SparkSession, folder: Path, layer: bool) -> None:
        self.spark, self.folder, self.layer = spark, folder, layer
        self.random = random.Random(1)
        # One thread of Python, and so one of the JVM, for all of them.
        self.canceller = ThreadPoolExecutor(1)
        self.kinds: list[tuple[int, Callable[[], object]]] = [
            (60, self.plain),
            (10, self.pruned),
            (6, self.cached),
            (6, self.failing),
            (3, self.cancelled),
            (6, self.appended),
            (3, self.overwritten),
            (6, self.nested),
        ]

    def run(self) -> str:
        """Runs one and says which."""
        (kind,) = self.random.choices([each for _, each in self.kinds], [weight for weight, _ in self.kinds])
        kind()
        return kind.__name__

    def joined(self, fact: str = "fact", what: str = "sum(v)") -> DataFrame:
        low = self.random.randrange(DIM_ROWS)
        return self.spark.sql(f"select {what} as r from {fact} join dim on k = id where n between {low} and {low + 5}")

    def plain(self) -> None:
        self.joined().collect()

    def pruned(self) -> None:
        frame = self.joined(what="v")
        (rtfilter.prune(frame, kinds=self.random.choice(["set", "range", "bloom"])) if self.layer else frame).collect()

    def cached(self) -> None:
        frame = self.joined(what="v").cache()
        frame.count()
        frame.where("r > 3").count()
        frame.unpersist(blocking=True)

    def failing(self) -> None:
        with suppress(PySparkException, Py4JError):
            self.joined(what="sum(assert_true(v < 0))").collect()
            raise AssertionError("it should have failed")

    def cancelled(self) -> None:
        context = self.spark.sparkContext
        tag = f"cancelled-{self.random.random()}"
        context.addJobTag(tag)
        done = self.canceller.submit(self.cancel, tag, self.random.random() / 10)
        try:
            with suppress(PySparkException, Py4JError):
                self.joined(what="sum(length(sha2(repeat(cast(v as string), 4000), 512)))").collect()
        finally:
            done.result()
            context.clearJobTags()

    def cancel(self, tag: str, after_s: float) -> None:
        time.sleep(after_s)
        self.spark.sparkContext.cancelJobsWithTag(tag)

    def appended(self) -> None:
        self.spark.sql("insert into changing select * from fact where v < 100")
        self.joined("changing").collect()

    def overwritten(self) -> None:
        self.spark.sql("insert overwrite changing select * from fact where k < 50")
        self.joined("changing").collect()

    def nested(self) -> None:
        self.joined("(select * from fact union all select k + 1, v from fact where v % 2 = 0)").collect()


def seen(spark: SparkSession, planner: int | None, folder: Path) -> dict[str, float]:
    """What is held now, after garbage was collected and Spark's pools have let go of idle threads."""
    time.sleep(IDLE_S)
    jvm = spark._jvm
    assert jvm is not None
    gc.collect()
    for _ in range(4):
        jvm.System.gc()
        time.sleep(0.5)
    beans = jvm.java.lang.management.ManagementFactory
    java = jvm.ProcessHandle.current().pid()
    found = {
        "heap_mb": beans.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 2**20,
        "threads": float(beans.getThreadMXBean().getThreadCount()),
        "descriptors": float(sum(descriptors(each) for each in (java, os.getpid(), planner) if each)),
        "files": float(sum(len(names) for _, _, names in os.walk(folder))),
    }
    if planner:
        found["host_mb"] = resident_mb(planner)
        found["host_threads"] = float(len(os.listdir(f"/proc/{planner}/task")))
    return found


def descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def resident_mb(process: int) -> float:
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def run(mode: str, queries: int, folder: Path) -> None:
    """In a process of its own; prints one line of JSON at a tenth of the queries and one at the end."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.local.dir", str(folder / "temporary"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.rtfilter.feedback.path", str(folder / "feedback.json"))
        .config("spark.rtfilter.log.path", str(folder / "log.jsonl"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder} -Djava.io.tmpdir={folder / 'temporary'}")
        # Spark keeps what the last queries were; it is full before the first count.
        .config("spark.sql.ui.retainedExecutions", "100")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.ui.retainedTasks", "1000")
    )
    spark = (rtfilter.configure(builder) if mode == "rtfilter" else builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    if mode == "rtfilter":
        spark.conf.set("rtfilter.enabled", True)
        spark.conf.set("rtfilter.cost", "always")
    for name in ("fact", "dim"):
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    spark.sql("create table changing using parquet as select * from fact where k < 50")
    mix = Mix(spark, folder, mode == "rtfilter")
    ran: Counter[str] = Counter()
    begun = time.monotonic()
    for number in range(1, queries + 1):
        ran[mix.run()] += 1
        if number in (queries // 10, queries):
            held = seen(spark, next(iter(planner_hosts()), None), folder / "temporary")
            print(
                json.dumps({"mode": mode, "queries": number, "seconds": time.monotonic() - begun, "held": held, "ran": ran}),
                flush=True,
            )
    spark.stop()


def write_tables(folder: Path) -> None:
    row = np.arange(FACT_ROWS)
    pq.write_table(pa.table({"k": row // 100, "v": row}), folder / "fact.parquet", row_group_size=PACK_ROWS)
    pq.write_table(pa.table({"id": np.arange(DIM_ROWS), "n": np.arange(DIM_ROWS)}), folder / "dim.parquet")


def main(arguments: list[str]) -> int:
    if len(arguments) == 3:
        run(arguments[0], int(arguments[1]), Path(arguments[2]))
        return 0
    queries = int(arguments[0]) if arguments else 10_000
    worst = 0
    for mode in arguments[1:] or MODES:
        with tempfile.TemporaryDirectory(prefix="rtfilter-long-") as name:
            folder = Path(name)
            (folder / "temporary").mkdir()
            write_tables(folder)
            command = [sys.executable, __file__, mode, str(queries), name]
            environment = {**marked(name), "TMPDIR": str(folder / "temporary")}
            said = subprocess.run(command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        first, last = (json.loads(line) for line in said.splitlines()[-2:])
        print(f"{mode}: {queries} queries in {last['seconds']:.0f} s, {dict(sorted(last['ran'].items()))}")
        for what, before in first["held"].items():
            after = last["held"][what]
            kept = after <= max(before * GROWTH, before + SLACK[what])
            worst |= not kept
            print(f"  {what:13} {before:8.1f} {after:8.1f}  {'' if kept else 'MORE'}")
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
