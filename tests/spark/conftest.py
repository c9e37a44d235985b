"""One Spark session for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import application, give_time, show_tables
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
    conf = {"spark.sql.shuffle.partitions": "4", "spark.local.dir": str(scratch / "local")}
    with application("rtfilter tests", conf, scratch=scratch) as spark:
        yield spark


@pytest.fixture
def spark(session: SparkSession, data: Path) -> Iterator[SparkSession]:
    """A session of its own for each test: options set in it are gone after it. The planner gets plenty of time."""
    own = session.newSession()
    give_time(own)
    show_tables(own, data, ("fact", "dim"))
    yield own


@pytest.fixture
def check(spark: SparkSession, data: Path) -> OnOffDuckDB:
    return OnOffDuckDB(spark, {"fact": data / "fact", "dim": data / "dim"})
