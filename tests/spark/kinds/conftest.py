from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.kinds.application import start


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    spark = start()
    yield spark
    spark.stop()
