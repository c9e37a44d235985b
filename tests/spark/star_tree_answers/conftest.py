"""A Spark session with the layer, for queries that star-trees answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import application, give_time


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    }
    with application("rtfilter star-tree answers", conf, scratch=scratch) as spark:
        yield spark


@pytest.fixture
def spark(session: SparkSession) -> SparkSession:
    own = session.newSession()
    give_time(own)
    own.conf.set("rtfilter.enabled", True)
    return own
