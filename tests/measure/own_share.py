"""What of a query's CPU time is the layer's: its share of the samples of Java's Flight Recorder, and the host's time. No test.

python tests/measure/own_share.py SUITE SF LAYOUT QUERIES [runs]
For example: python tests/measure/own_share.py tpcds 1 natural 1,38 100

Every query runs a third as often before it is looked at, so that filters that lose twice are no longer tried.
Needs a JDK's jcmd and jfr.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.measure.layer_session import layer_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = "/rtfilter/"


def main(name: str, sf: float, layout: str, ids: list[str], runs: int) -> None:
    with layer_session(name, sf, layout) as (spark, queries):
        for query in (each for each in queries if each.id in ids):
            for _ in range(runs // 3):
                spark.sql(query.spark_sql).collect()
            print(f"Q{query.id}: {looked_at(spark, query.spark_sql, runs)}", flush=True)


def looked_at(spark: SparkSession, sql: str, runs: int) -> str:
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as scratch:
        recording = Path(scratch, "own.jfr")
        subprocess.run(["jcmd", str(pid), "JFR.start", "name=own", "settings=profile"], check=True, capture_output=True)
        before, took_ms = cpu_ms(spark), []
        for _ in range(runs):
            began = time.perf_counter()
            spark.sql(sql).collect()
            took_ms.append((time.perf_counter() - began) * 1000)
        after = cpu_ms(spark)
        subprocess.run(["jcmd", str(pid), "JFR.stop", "name=own", f"filename={recording}"], check=True, capture_output=True)
        own, samples = own_samples(recording)
    in_jvm, compiling, in_host = ((b - a) / runs for a, b in zip(before, after, strict=True))
    return (
        f"{median(took_ms):,.0f} ms a run; CPU ms a run: Spark {in_jvm:,.0f} ({compiling:,.0f} of compilers), "
        f"the host {in_host:.1f}; the layer's code in {own} of {samples:,} samples, {own / max(1, samples):.1%}"
    )


def cpu_ms(spark: SparkSession) -> tuple[float, float, float]:
    """So far: of Spark's process, of the compilers in it, of the processes that it has started."""
    java = spark._jvm.java.lang  # type: ignore[union-attr]
    this = java.ProcessHandle.current()
    spent = [each.info().totalCpuDuration().get().toMillis() for each in (this, *this.children().toList())]
    return spent[0], java.management.ManagementFactory.getCompilationMXBean().getTotalCompilationTime(), sum(spent[1:])


def own_samples(recording: Path) -> tuple[int, int]:
    """Samples that have the layer's code anywhere in their stack, and all of them."""
    command = ["jfr", "print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample", str(recording)]
    events = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["recording"]["events"]
    stacks = [
        [frame["method"]["type"]["name"] for frame in (event["values"]["stackTrace"] or {"frames": []})["frames"]]
        for event in events
    ]
    return sum(any(PACKAGE in name.replace(".", "/") for name in stack) for stack in stacks), len(stacks)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4].split(","), int(sys.argv[5]) if len(sys.argv) > 5 else 100)
