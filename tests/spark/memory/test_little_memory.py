"""Executors with next to no memory: tasks that collect keys ask Spark for it, and do without a filter when there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.applications import LITTLE_MEMORY, application, give_time, show_tables

BUILD_ROWS, PROBE_ROWS = 150_000, 400_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in (("build", BUILD_ROWS), ("probe", PROBE_ROWS)):
        numbers = np.arange(rows) * 3
        texts = pa.array([f"a text that is rather long {x}" for x in numbers])
        pq.write_table(pa.table({"n": numbers, "s": texts, "flag": numbers % 2}), folder / name, row_group_size=20_000)
    return folder


@pytest.fixture(scope="module")
def poor(tables: Path) -> Iterator[SparkSession]:
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        **LITTLE_MEMORY,
        # A task that leaves memory behind fails.
        "spark.unsafe.exceptionOnMemoryLeak": "true",
    }
    with application("rtfilter with little memory", conf) as spark:
        give_time(spark)
        spark.conf.set("rtfilter.cost", "always")
        show_tables(spark, tables, ("build", "probe"))
        yield spark


def counted(spark: SparkSession, key: str, where: str, on: bool) -> int:
    spark.conf.set("rtfilter.enabled", on)
    return int(spark.sql(f"select count(*) from probe join build on probe.{key} = build.{key} where {where}").collect()[0][0])


def outcomes(spark: SparkSession) -> set[str]:
    """What became of the last query's filters: `applied`, or why not."""
    report = rtfilter.last_report(spark)
    return set() if report is None else {each.decision if each.decision == "applied" else each.reason for each in report.filters}


def test_keys_that_do_not_fit_are_not_collected(poor: SparkSession) -> None:
    expected = counted(poor, "s", "build.n % 4 = 0", on=False)
    assert counted(poor, "s", "build.n % 4 = 0", on=True) == expected > 0
    assert outcomes(poor) == {"applied"}
    expected = counted(poor, "s", "build.flag >= 0", on=False)
    assert counted(poor, "s", "build.flag >= 0", on=True) == expected > 0
    assert outcomes(poor) == {"NO_MEMORY"}


def test_what_was_asked_for_is_given_back(poor: SparkSession) -> None:
    expected = counted(poor, "n", "build.n < 3000", on=False)
    for _ in range(3):
        assert counted(poor, "n", "build.n < 3000", on=True) == expected > 0
        assert outcomes(poor) == {"applied"}
