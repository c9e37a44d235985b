"""What a query cost and left: how many Spark jobs (a build side that ran twice shows there), packs, rows, shuffle files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm

SQL_OF_PACKS_AND_ROWS = "select /*+ merge(dim) */ k, v, name from fact join dim on k = id where grp = 3 and id < 900"

_numbers = itertools.count()


def jobs_of(spark: SparkSession, sql: str, *, on: bool) -> tuple[list[tuple[Any, ...]], int, DataFrame]:
    """Rows, number of jobs, and the frame that ran."""
    group = f"jobs {next(_numbers)}"
    spark.conf.set("rtfilter.enabled", on)
    spark.sparkContext.setJobGroup(group, group)
    try:
        frame = spark.sql(sql)
        rows = sorted((tuple(row) for row in frame.collect()), key=repr)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(jvm.LISTENER_WAIT_MS)
        return rows, len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)), frame
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", "")
        spark.conf.set("rtfilter.enabled", False)


def jobs_on_and_off(spark: SparkSession, sql: str) -> tuple[list[tuple[Any, ...]], DataFrame, int, int]:
    """Runs a query both ways, and fails where rows differ: the rows, the filtered frame, and the jobs of both, off before on."""
    off, jobs_off, _ = jobs_of(spark, sql, on=False)
    on, jobs_on, frame = jobs_of(spark, sql, on=True)
    assert on == off
    return on, frame, jobs_off, jobs_on


def on_and_off(spark: SparkSession, sql: str) -> tuple[list[tuple[Any, ...]], DataFrame]:
    """Runs a query both ways, and fails where rows differ: the rows and the filtered frame."""
    return jobs_on_and_off(spark, sql)[:2]


def shuffle_files(spark: SparkSession) -> set[Path]:
    folder = Path(spark.sparkContext.getConf().get("spark.local.dir") or "")
    return {path for path in folder.rglob("shuffle_*") if path.is_file()}


def rows_dropped(frame: DataFrame) -> int:
    return sum(each["rows_dropped"] for each in jvm.row_metrics(frame))


def packs_rejected(frame: DataFrame) -> int:
    return sum(scan["packs_total"] - scan["packs_read"] for scan in jvm.scan_metrics(frame) if scan["narrowed"])
