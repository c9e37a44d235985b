"""A Spark session for tests of star-trees."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import application


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    conf = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    with application("rtfilter star-tree tests", conf, scratch=scratch) as session:
        yield session
