from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.differential.application import begin


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    spark = begin("rtfilter fuzz")
    yield spark
    spark.stop()
