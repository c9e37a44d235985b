"""Whatever goes wrong with the planner host, the query runs as Spark planned it, and the report says why."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Bloom, Index
from rtfilter.bridge import jvm
from tests.spark.cases import fact_table

SQL = "select count(*), sum(v) from fact join dim on k = id where name in ('n5', 'n7')"
EXPECTED = [(20, 1290)]

Scans = list[dict[str, Any]]
Start = Callable[[str], SparkSession]
Interpreter = Callable[[str], str]


def run(spark: SparkSession, seconds: float = 60) -> Scans:
    """Runs the query, which must be right and in time; the metrics of its scans."""
    frame = spark.sql(SQL)
    began = time.monotonic()
    assert [tuple(row) for row in frame.collect()] == EXPECTED
    assert time.monotonic() - began < seconds
    return jvm.scan_metrics(frame)


def narrowed(scans: Scans) -> bool:
    return any(scan["narrowed"] and scan["packs_read"] < scan["packs_total"] for scan in scans)


def warm(spark: SparkSession) -> None:
    """Code generation and the host's start are not what is timed."""
    spark.conf.set("rtfilter.enabled", False)
    spark.sql(SQL).collect()
    spark.conf.set("rtfilter.enabled", True)


@pytest.mark.parametrize("op", ["plan", "fill"])
@pytest.mark.parametrize(
    ("behaviour", "word"),
    [
        ("raise RuntimeError('no idea')", "no idea"),
        ("return {'scans': 7, 'filters': 'x', 'placeholders': [{}]}, b''", ""),
        ("time.sleep(3600)", "timeoutMs"),
        ("[os.write(fd, b'rubbish' * 9) for fd in (3, 4)]; time.sleep(3600)", ""),
        ("[os.write(fd, struct.pack('>ii', 400, 0) + b'half') for fd in (3, 4)]; os._exit(0)", ""),
        ("os.kill(os.getpid(), signal.SIGKILL)", ""),
    ],
    ids=["raises", "nonsense", "hangs", "rubbish", "half a frame", "killed"],
)
def test_a_host_that_fails_leaves_the_plan_alone(
    application: Start, interpreter: Interpreter, op: str, behaviour: str, word: str
) -> None:
    spark = application(interpreter(f"if op == '{op}': {behaviour}"))
    warm(spark)
    spark.conf.set("rtfilter.planner.timeoutMs", "1500")
    assert not narrowed(run(spark))
    report = rtfilter.last_report(spark)
    assert report is not None
    assert report.warnings
    assert word in str(report)
    assert not any(entry.decision == "applied" for entry in report.filters)
    assert not narrowed(run(spark)), "the second query must not wait for a host that is gone"


def test_a_host_that_prints_does_no_harm(application: Start, interpreter: Interpreter) -> None:
    spark = application(interpreter("print('hello', op); os.write(1, b'raw'); sys.stdout.write('more'); sys.stdout.flush()"))
    spark.conf.set("rtfilter.planner.timeoutMs", "30000")
    assert narrowed(run(spark))


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/false", "/bin/cat"])
def test_a_host_that_cannot_be_started(application: Start, python: str) -> None:
    spark = application(python)
    warm(spark)
    began = time.monotonic()
    assert not narrowed(run(spark))
    assert not narrowed(run(spark))
    assert time.monotonic() - began < 120


def test_a_killed_host_is_started_again(application: Start) -> None:
    spark = application(sys.executable)
    spark.conf.set("rtfilter.planner.timeoutMs", "30000")
    assert narrowed(run(spark))
    os.kill(jvm.host_pid(spark), signal.SIGKILL)
    run(spark)
    time.sleep(1.5)  # the first back-off is one second
    assert narrowed(run(spark))


def test_a_host_that_reads_nothing_any_more_holds_up_no_query(application: Start) -> None:
    spark = application(sys.executable)
    spark.conf.set("rtfilter.planner.timeoutMs", "30000")
    assert narrowed(run(spark))
    stopped = jvm.host_pid(spark)
    os.kill(stopped, signal.SIGSTOP)
    spark.conf.set("rtfilter.planner.timeoutMs", "5000")
    assert not narrowed(run(spark))
    began = time.monotonic()
    assert not narrowed(run(spark))
    assert time.monotonic() - began < 5, "who said nothing is not waited for again"
    time.sleep(10)
    run(spark)
    assert jvm.host_pid(spark) != stopped, "who is silent for ten seconds is taken for hung"


def test_a_host_that_answers_late_is_not_killed(application: Start, interpreter: Interpreter, tmp_path: Path) -> None:
    """It may be another session that has no patience, and what the host knows of files would be lost."""
    slow = tmp_path / "slow"
    slow.touch()
    spark = application(interpreter(f"if op == 'plan' and os.path.exists({str(slow)!r}): time.sleep(3)"))
    warm(spark)
    spark.conf.set("rtfilter.planner.timeoutMs", "30000")
    run(spark)
    pid = jvm.host_pid(spark)
    assert pid > 0, "the first query with a join starts it"
    spark.conf.set("rtfilter.planner.timeoutMs", "500")
    assert not narrowed(run(spark))
    slow.unlink()
    time.sleep(4)
    spark.conf.set("rtfilter.planner.timeoutMs", "30000")
    assert narrowed(run(spark))
    assert jvm.host_pid(spark) == pid


def test_a_build_side_that_is_filled_in_two_ways_holds_up_no_query(
    application: Start, interpreter: Interpreter, tmp_path: Path
) -> None:
    """The gate's copy of an exchange and the join's own are one stage unless their scans were filled differently, as when an index
    comes in between. Adaptive execution then listens to the join's own alone."""
    pq.write_table(fact_table(), tmp_path / "indexed", row_group_size=500)
    Index.create(None, str(tmp_path / "indexed"), [Bloom("r")], name="i")
    armed = tmp_path / "armed"
    spark = application(
        interpreter(f"if op == 'fill' and os.path.exists({str(armed)!r}): os.remove({str(armed)!r}); raise RuntimeError('once')")
    )
    spark.read.parquet(str(tmp_path / "indexed")).createOrReplaceTempView("indexed")
    sql = "select f.v, x.v from indexed f join (select k, v from indexed where r = 17) x on f.k = x.k"
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for key, value in {"cost": "always", "planner.timeoutMs": "30000"}.items():
        spark.conf.set(f"rtfilter.{key}", value)
    # The session has looked for indexes before.
    for _ in range(20):
        spark.sql("select * from indexed where r = 17").explain()
        time.sleep(0.1)
    frame = spark.sql(sql)
    armed.touch()
    with ThreadPoolExecutor(1) as thread:
        try:
            rows = thread.submit(frame.collect).result(timeout=60)
        except FutureTimeoutError:
            spark.sparkContext.cancelAllJobs()
            spark.stop()
            raise
    assert not armed.exists()
    report = rtfilter.last_report(spark)
    assert report is not None and any(filter_.gate for filter_ in report.filters), report
    spark.conf.set("rtfilter.enabled", False)
    assert sorted(rows) == sorted(spark.sql(sql).collect()) and len(rows) > 0
