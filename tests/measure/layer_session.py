"""A Spark session with the layer on, nothing learned yet and a suite's tables in it, for the scripts beside this one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rtfilter.bench.engines.spark_engine import register_tables
from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest, Query, load_suite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def layer_session(name: str, sf: float, layout: str) -> Iterator[tuple[SparkSession, tuple[Query, ...]]]:
    """The session and the suite's queries; the tables are made when they are not in the cache."""
    suite = load_suite(name)
    data = suite.prepare(DataRequest(sf, suite.default_zipf, layout, DataCache(data_directory(None)), print))
    with tempfile.TemporaryDirectory() as scratch:
        conf = {**suite.spark_conf, **nothing_learned(Path(scratch)), "spark.rtfilter.enabled": "true"}
        spark = start_session("measure", "local[2]", conf=conf)
        register_tables(spark, data.tables)
        yield spark, tuple(data.queries)
        spark.stop()
