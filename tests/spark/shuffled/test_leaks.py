"""What is left of thirty filtered queries: nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.shuffled.jobs import SQL_OF_PACKS_AND_ROWS, jobs_of, packs_rejected, shuffle_files

QUERIES = 30


def settled(read: Callable[[], int], bound: int, spark: SparkSession) -> int:
    """What is read once garbage is collected and Spark has let go of what belonged to it; the last of some tries."""
    assert spark._jvm is not None
    found = bound + 1
    for _ in range(40):
        # Frames are in cycles of Python's, and hold their plans in the JVM.
        gc.collect()
        spark._jvm.java.lang.System.gc()
        found = read()
        if found <= bound:
            break
        time.sleep(0.25)
    return found


def test_thirty_queries_leave_no_block_no_file_and_no_thread_behind(spark: SparkSession) -> None:
    assert spark._jvm is not None
    inspect, threads_of = jvm.inspector(spark), spark._jvm.java.lang.Thread

    def stored_bytes() -> int:
        return int(inspect.storageBytes())

    def threads() -> int:
        # Spark's own pools for shuffles and broadcasts grow to 128 threads before one is used again.
        return sum(str(thread.getName()).startswith("rtfilter") for thread in threads_of.getAllStackTraces())

    for _ in range(5):
        jobs_of(spark, SQL_OF_PACKS_AND_ROWS, on=True)
    host = jvm.host_pid(spark)
    held_by_some = stored_bytes()
    bound, threads_before = settled(stored_bytes, 0, spark) + held_by_some, threads()
    for _ in range(QUERIES):
        _, _, frame = jobs_of(spark, SQL_OF_PACKS_AND_ROWS, on=True)
        assert packs_rejected(frame) > 0
    del frame
    assert settled(stored_bytes, bound, spark) <= bound
    assert 0 < settled(threads, threads_before, spark) <= threads_before
    assert settled(lambda: len(shuffle_files(spark)), 100, spark) <= 100
    assert jvm.host_pid(spark) == host
