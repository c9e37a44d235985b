"""A driver that cannot read what executors wrote: keys of build sides are collected by jobs, and it is not tried again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge.jar import find_spark, scala_compiler
from tests.spark.applications import application, give_time, show_tables
from tests.spark.cases import FACT_FILES, dim_table, fact_table, write_files
from tests.spark.shuffled.jobs import jobs_on_and_off, packs_rejected

SOURCE = Path(__file__).with_name("ExecutorsOnlyShuffleManager.scala")
MANAGER = "org.apache.spark.shuffle.sort.ExecutorsOnlyShuffleManager"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder, classes = tmp_path_factory.mktemp("tables"), tmp_path_factory.mktemp("classes")
    subprocess.run([*scala_compiler(find_spark()), "-d", str(classes), str(SOURCE)], check=True, timeout=240)
    write_files(fact_table(), folder / "fact", FACT_FILES)
    write_files(dim_table(), folder / "dim", 1)
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.extraClassPath": str(classes),
        "spark.shuffle.manager": MANAGER,
    }
    with application("rtfilter on a driver of its own", conf) as spark:
        give_time(spark)
        spark.conf.set("rtfilter.cost", "always")
        show_tables(spark, folder, ("fact", "dim"))
        yield spark


def test_a_job_collects_what_the_driver_cannot_read(alone: SparkSession) -> None:
    for group in (3, 4):
        sql = f"select count(*), sum(v) from fact join dim on k = id where grp = {group} and id < 900"
        rows, frame, jobs_off, jobs_on = jobs_on_and_off(alone, sql)
        assert rows[0][0] > 0
        assert packs_rejected(frame) > 0
        assert jobs_on == jobs_off + 1
        assert getattr(alone._jvm, MANAGER).refused() == 1
