"""An index built by executors in processes of their own, which get our code from the driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index, IndexStorageError, MinMax
from rtfilter.index import api


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("rtfilter index tests")
        session: SparkSession = builder.config("spark.ui.enabled", "false").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture(autouse=True)
def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "SPARK_JOB_FROM_BYTES", 0)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for number in range(4):
        values = np.arange(number * 1000, number * 1000 + 1000)
        pq.write_table(pa.table({"a": values}), tmp_path / f"p{number}.parquet", row_group_size=100)
    return tmp_path


def test_executors_sketch_what_they_read(spark: SparkSession, table: Path) -> None:
    index = Index.create(spark, str(table), [Bloom("a"), MinMax("a")], name="i")
    assert index.last_build is not None
    assert (index.last_build.files, index.last_build.packs, index.last_build.problems) == (4, 40, ())


def test_a_job_that_fails_says_why_and_leaves_no_index(spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'")

    broken.__module__ = "__main__"
    monkeypatch.setattr("rtfilter.index.spark_runner.sketch_portion", broken)
    with pytest.raises(IndexStorageError, match=r"No module named 'pyarrow'.*PYSPARK_PYTHON"):
        Index.create(spark, str(table), [Bloom("a")], name="j")
    assert Index.create(None, str(table), [Bloom("a")], name="j").state == "ACTIVE"
