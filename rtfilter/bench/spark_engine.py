"""Runs a suite's queries in Spark, in one of the modes that set its conf."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtfilter.bench.deadline import deadline
from rtfilter.bench.modes import LAYER_MODES, MODE_KEYS, SPARK_CONF_BY_MODE
from rtfilter.bench.run import Execution, query_error
from rtfilter.bench.suite import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VECTORED_IO = "parquet.hadoop.vectored.io.enabled"


def register_tables(spark: SparkSession, tables: Mapping[str, Path]) -> None:
    """Makes every table a temporary view of the session."""
    for name, path in tables.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


class SparkEngine:
    """One mode of a session that is shared by all Spark modes; the conf is set anew before every run."""

    _run_numbers = itertools.count(1)

    def __init__(self, spark: SparkSession, mode: str, timeout_s: float | None = None) -> None:
        self._spark = spark
        self._timeout_s = timeout_s
        self._mode = mode
        self._reported_execution: int | None = None

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        """Plans and collects the query; the time covers both, as a user would wait for both.

        With `count_bytes` Parquet is read without Hadoop's vectored I/O: its reads run in threads of their own, whose
        bytes Spark does not see (it would count little more than the footers).

        Raises:
            QueryFailedError: Spark cannot run it in this mode; QueryTimeoutError: not in the time that it is given.
        """
        self._set_mode()
        self._set(VECTORED_IO, "false" if count_bytes else None)
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
                raise query_error(query, self._mode, error, self._timeout_s if limit.passed else None) from error
            finally:
                context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
        return self._counted(ms, rows, frame, job_group if count_bytes else None)

    def _set_mode(self) -> None:
        wanted = SPARK_CONF_BY_MODE[self._mode]
        for key in MODE_KEYS:
            self._set(key, wanted.get(key))

    def _set(self, key: str, value: str | None) -> None:
        if value is None:
            self._spark.conf.unset(key)
        else:
            self._spark.conf.set(key, value)

    def _counted(self, ms: float, rows: list[tuple[object, ...]], frame: DataFrame, job_group: str | None) -> Execution:
        from rtfilter.bridge.jvm import bytes_read, scan_metrics

        scans = scan_metrics(frame)
        filters = self._filters_of_this_run()
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
        )

    def _filters_of_this_run(self) -> list[dict[str, Any]]:
        if self._mode not in LAYER_MODES:
            return []
        from rtfilter.inspection import last_report

        report = last_report(self._spark)
        # A query without a join leaves no report: the latest one is then an earlier query's.
        if report is None or report.execution == self._reported_execution:
            return []
        self._reported_execution = report.execution
        return list(report.to_dict()["filters"])


def packs_read(scans: Sequence[Mapping[str, Any]], filters: Sequence[Mapping[str, Any]]) -> tuple[int | None, int | None]:
    """Packs that the scans had and packs that they opened, from the scans' own metrics.

    A scan that was left as Spark planned it counts no packs. When a candidate knows how many its table has, all of them
    count as read; where nobody knows, the answer is None.
    """
    narrowed = [scan for scan in scans if int(scan.get("packs_total", 0)) > 0]
    total = sum(int(scan["packs_total"]) for scan in narrowed)
    kept = sum(int(scan["packs_read"]) for scan in narrowed)
    if narrowed:
        return total, kept
    known: dict[str, int] = {}
    for candidate in filters:
        # A filter of several columns names its table with each of them.
        table = str(candidate.get("probe", "")).partition(", ")[0].rpartition(".")[0]
        known[table] = max(known.get(table, 0), int(candidate.get("packs_total") or 0))
    untouched = sum(known.values())
    return (untouched, untouched) if untouched else (None, None)
