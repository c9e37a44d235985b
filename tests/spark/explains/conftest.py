"""A Spark application of a fixed number of cores in which nothing is remembered from query to query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.explains.tables import TABLES, create_index, write_tables


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explains")
    write_tables(folder)
    return folder


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("rtfilter explains")
        .config("spark.ui.enabled", "false")
        .config("spark.rtfilter.feedback.enabled", "false")
        .config("spark.rtfilter.planner.timeoutMs", "30000")
        .config("spark.rtfilter.footers.waitMs", "20000")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={scratch}")
    )
    spark = rtfilter.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    create_index(spark, data)
    for name in TABLES:
        spark.read.parquet(str(data / name)).createOrReplaceTempView(name)
    yield spark
    spark.stop()


@pytest.fixture
def spark(session: SparkSession) -> Iterator[SparkSession]:
    """The session with its tables; what a query sets or caches is gone after it."""
    before = session.conf.getAll
    yield session
    for name, value in session.conf.getAll.items():
        if name not in before:
            session.conf.unset(name)
        elif value != before[name]:
            session.conf.set(name, before[name])
    session.catalog.clearCache()
