"""Runs a suite's queries in Spark, in one of the modes that set its conf."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtfilter.bench.engines.deadline import deadline
from rtfilter.bench.engines.execution import Execution, query_error, require_in_time, unreadable_table
from rtfilter.bench.engines.modes import LAYER_MODES, MODE_KEYS, SPARK_CONF_BY_MODE
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError, first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rtfilter.report import Report

# How a run reads whose bytes are counted. The reads of Hadoop's vectored I/O are in threads of their own, whose bytes Spark does
# not see. Each look into a local file fills a buffer, of 64 KiB as Spark has it, and counts in full: where row groups are small
# that is more than the table. A filesystem that is kept open keeps its buffer's size, so each stream gets a new one.
COUNTING_CONF = {
    "parquet.hadoop.vectored.io.enabled": "false",
    "io.file.buffer.size": "512",
    "fs.file.impl.disable.cache": "true",
}


def register_tables(spark: SparkSession, tables: Mapping[str, Path]) -> None:
    """Makes every table a temporary view of the session.

    Raises:
        BenchError: a table is no Parquet.
    """
    for name, path in tables.items():
        try:
            spark.read.parquet(str(path)).createOrReplaceTempView(name)
        except Exception as error:  # whatever Py4J or Spark raises
            raise unreadable_table(name, path, error) from error


class SparkEngine:
    """One mode of a session that is shared by all Spark modes; the conf is set anew before every run."""

    _run_numbers = itertools.count(1)

    def __init__(self, spark: SparkSession, mode: str, timeout_s: float | None = None) -> None:
        self._spark = spark
        self._timeout_s = timeout_s
        self._mode = mode

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        """Plans and collects the query; the time covers both, as a user would wait for both.

        With `count_bytes` files are read so that Spark counts what is asked of them, which takes longer (COUNTING_CONF).

        Raises:
            QueryFailedError: Spark cannot run it in this mode; QueryTimeoutError: not in the time that it is given.
            BenchError: Spark itself has died.
        """
        from rtfilter.bridge.jvm import is_gone

        try:
            return self._run(query, count_bytes)
        except Exception as error:  # Py4J's own, or one that was raised for it
            if not is_gone(self._spark):
                raise
            raise BenchError(
                f"Spark died in query {query.id!r} in mode {self._mode!r}: {first_line(error)}. What is finished is kept: "
                "start again with the same options to go on."
            ) from error

    def _run(self, query: Query, count_bytes: bool) -> Execution:
        from rtfilter.bridge.jvm import is_gone

        before = self._last_execution()
        self._set_mode()
        for key, value in COUNTING_CONF.items():
            self._set(key, value if count_bytes else None)
        job_group = f"rtfilter-bench-{next(self._run_numbers)}"
        context = self._spark.sparkContext
        context.setJobGroup(job_group, f"{query.id} [{self._mode}]", interruptOnCancel=True)
        with deadline(self._timeout_s, lambda: context.cancelJobGroup(job_group)) as limit:
            begin = time.perf_counter()
            try:
                frame = self._spark.sql(query.spark_sql)
                rows = [tuple(row) for row in frame.collect()]
                ms = (time.perf_counter() - begin) * 1000
            except Exception as error:  # whatever Py4J or Spark raises, the run's name is what the reader needs first
                if is_gone(self._spark):
                    raise
                raise query_error(query, self._mode, error, self._timeout_s if limit.passed else None) from error
            finally:
                context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
        require_in_time(query, self._mode, ms, self._timeout_s)
        try:
            return self._counted(ms, rows, frame, job_group if count_bytes else None, before)
        except Exception as error:  # a listener that is late, say
            if is_gone(self._spark):
                raise
            raise query_error(query, self._mode, error, None) from error

    def _set_mode(self) -> None:
        wanted = SPARK_CONF_BY_MODE[self._mode]
        for key in MODE_KEYS:
            self._set(key, wanted.get(key))

    def _set(self, key: str, value: str | None) -> None:
        if value is None:
            self._spark.conf.unset(key)
        else:
            self._spark.conf.set(key, value)

    def _counted(
        self, ms: float, rows: list[tuple[object, ...]], frame: DataFrame, job_group: str | None, before: int | None
    ) -> Execution:
        from rtfilter.bridge.jvm import bytes_read, scan_metrics

        scans = scan_metrics(frame)
        report = self._report_since(before)
        filters = [] if report is None else list(report.to_dict()["filters"])
        packs_total, packs_kept = packs_read(scans, filters)
        return Execution(
            ms=ms,
            rows=rows,
            scan_rows=sum(int(scan.get("numOutputRows", 0)) for scan in scans),
            bytes_read=bytes_read(self._spark, job_group) if job_group else None,
            packs_total=packs_total,
            packs_kept=packs_kept,
            filters=filters,
            columns=frame.columns,
            report="" if report is None else str(report),
            star_trees=[] if report is None else [tree.to_dict() for tree in report.star_trees],
        )

    def _last_execution(self) -> int | None:
        from rtfilter.bridge.jvm import last_record

        record = last_record(self._spark) if self._mode in LAYER_MODES else None
        return None if record is None else record["execution"]

    def _report_since(self, before: int | None) -> Report | None:
        """The latest report, which must not be that of execution `before`: a query without a join leaves none."""
        if self._mode not in LAYER_MODES:
            return None
        from rtfilter.inspection import last_report

        report = last_report(self._spark)
        return None if report is None or report.execution == before else report


def packs_read(scans: Sequence[Mapping[str, Any]], filters: Sequence[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """Packs that the scans had and packs that they opened, from the scans' own metrics.

    A scan that was left as Spark planned it counts no packs. When a candidate knows how many its table has, all of them
    count as read; a table of which nobody knows is left out, and the answer is None when there is no other.
    """
    known: dict[str, int] = {}
    for candidate in filters:
        # A filter of several columns names its table with each of them.
        table = str(candidate.get("probe", "")).partition(", ")[0].rpartition(".")[0]
        known[table] = max(known.get(table, 0), int(candidate.get("packs_total") or 0))
    total = kept = 0
    for scan in scans:
        own = int(scan.get("packs_total", 0))
        whole = 0 if own else known.get(str(scan.get("table")), 0)
        total += own + whole
        kept += (int(scan["packs_read"]) if own else 0) + whole
    return (total, kept) if total else (None, None)
