"""Our own log and Spark's event log of the same queries give the same fingerprints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rtfilter.advice.logs.own_lines import OwnLines, OwnQuery
from tests.advice.event_logs.expected import TABLES
from tests.advice.event_logs.golden_logs import golden_log
from tests.spark.event_logs.make_logs import QUERIES, make_tables
from tests.spark.event_logs.test_live_logs import fingerprints
from tests.spark.query_log.conftest import Logged

# Of the texts of an IN list an event log does not tell where one ends. It does not follow a key through a union.
TOLD_BY_OURS = ("texts", "union")


@pytest.fixture
def data(tmp_path: Path, spark: SparkSession) -> Path:
    make_tables(spark, tmp_path)
    for name in ("sales", "item", "shop", "price", "visits"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return tmp_path


def test_the_fingerprints_are_the_same(data: Path, spark: SparkSession, tmp_path: Path) -> None:
    known = {name: replace(table, path=str(data / name)) for name, table in TABLES.items() if name != "saved_sales"}
    expected, _ = fingerprints(golden_log("spark-4.3.zstd"), TABLES)
    names = [
        name for name in QUERIES if name in expected and "saved" not in name and name not in ("failing", "copy", *TOLD_BY_OURS)
    ]
    log, own = Logged(spark, tmp_path / "log.jsonl"), OwnLines(known)
    found = {}
    for name in names:
        (line,) = log.lines(QUERIES[name])
        query = own.query(line)
        assert isinstance(query, OwnQuery), query
        found[name] = query.shape.fingerprint
    assert len(names) > 15
    assert found == {name: expected[name] for name in names}
