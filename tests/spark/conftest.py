"""One Spark session for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.cases import FACT_FILES, OnOffDuckDB, dim_table, fact_table, write_files


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_files(fact_table(), folder / "fact", FACT_FILES)
    write_files(dim_table(), folder / "dim", 1)
    return folder


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("rtfilter tests")
        .config("spark.ui.enabled", "false")
        .config("spark.rtfilter.feedback.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={scratch}")
    )
    spark = rtfilter.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield spark
    spark.stop()


@pytest.fixture
def spark(session: SparkSession, data: Path) -> Iterator[SparkSession]:
    """A session of its own for each test: options set in it are gone after it. The planner gets plenty of time."""
    own = session.newSession()
    own.conf.set("rtfilter.planner.timeoutMs", "30000")
    own.conf.set("rtfilter.footers.waitMs", "20000")
    for name in ("fact", "dim"):
        own.read.parquet(str(data / name)).createOrReplaceTempView(name)
    yield own


@pytest.fixture
def check(spark: SparkSession, data: Path) -> OnOffDuckDB:
    return OnOffDuckDB(spark, {"fact": data / "fact", "dim": data / "dim"})
