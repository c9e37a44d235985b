"""What the query log adds to a small query with the layer off: the same query with and without a log, by turns.

Beside the time that passed it shows the processor time of the driver's thread that plans and waits. On a busy machine only
that counts.

    python -m tests.measure.log_overhead [ROUNDS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from tests.spark.applications import application, show_tables
from tests.spark.cases import dim_table, fact_table, write_files

QUERIES = {
    "a scan": "select v from fact where k = 5",
    "an aggregate": "select s, sum(v) from fact where k = 5 group by s",
    "a join": "select name, sum(v) from fact join dim on k = id where grp = 3 group by name",
}


def ms_of(spark: SparkSession, sql: str) -> tuple[float, float]:
    """Passed time, and processor time of the thread, which is that of all calls from here."""
    assert spark._jvm is not None
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    began, busy = time.perf_counter(), threads.getCurrentThreadCpuTime()
    spark.sql(sql).collect()
    return (time.perf_counter() - began) * 1000, (threads.getCurrentThreadCpuTime() - busy) / 1e6


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(fact_table().slice(0, 2000), folder / "fact", 1)
        write_files(dim_table(), folder / "dim", 1)
        with application("log overhead", {"spark.sql.shuffle.partitions": "1"}, scratch=folder) as spark:
            show_tables(spark, folder, ("fact", "dim"))
            plain, logged = spark, spark.newSession()
            show_tables(logged, folder, ("fact", "dim"))
            logged.conf.set("rtfilter.log.path", str(folder / "log.jsonl"))
            for what, sql in QUERIES.items():
                for each in (plain, logged) * 20:
                    ms_of(each, sql)
                pairs = [(ms_of(plain, sql), ms_of(logged, sql)) for _ in range(rounds)]
                for place, word in enumerate(("passed", "of the thread")):
                    without = statistics.median(early[place] for early, _ in pairs)
                    more = statistics.median(late[place] - early[place] for early, late in pairs)
                    print(f"{what}: {without:.2f} ms {word} without a log, {more:+.2f} ms with one")


if __name__ == "__main__":
    main()
