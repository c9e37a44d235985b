"""A Spark application of a fixed number of cores in which nothing is remembered from query to query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import application, show_tables
from tests.spark.explains.tables import TABLES, create_index, write_tables


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explains")
    write_tables(folder)
    return folder


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.rtfilter.planner.timeoutMs": "30000",
        "spark.rtfilter.footers.waitMs": "20000",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.local.dir": str(scratch / "local"),
    }
    with application("rtfilter explains", conf, scratch=scratch) as spark:
        create_index(spark, data)
        show_tables(spark, data, TABLES)
        yield spark


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
