"""The size of a scan's table is added up once for a query, and anew for the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

EXECUTION = "spark.sql.execution.id"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.sparkContext.setLocalProperty(EXECUTION, None)  # type: ignore[arg-type]


def write(folder: Path, name: str, rows: int) -> int:
    """The size of a new file."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": list(range(rows))}), folder / name)
    return (folder / name).stat().st_size


def scan_bytes(spark: SparkSession, frame: DataFrame, query: str) -> int:
    """What the snapshot of a frame's plan says of its only scan, asked in a query's name."""
    spark.sparkContext.setLocalProperty(EXECUTION, query)
    assert spark._jvm is not None
    snapshot = spark._jvm.org.apache.spark.sql.execution.rtfilter.Snapshot
    nodes = snapshot.nodes(snapshot.number(frame._jdf.queryExecution().sparkPlan()))
    (found,) = [node["bytes"] for node in json.loads(nodes.mkString("[", ",", "]")) if node["kind"] == "scan"]
    return int(found)


def test_files_that_came_since_the_last_query_count(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "growing"
    first = write(folder, "a.parquet", 10)
    session.read.parquet(str(folder)).createOrReplaceTempView("growing")
    assert scan_bytes(session, session.table("growing"), "71") == first
    both = first + write(folder, "b.parquet", 1_000)
    session.catalog.refreshTable("growing")
    frame = session.table("growing")
    assert scan_bytes(session, frame, "72") == both


def test_a_query_adds_up_once(session: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "replanned"
    first = write(folder, "a.parquet", 10)
    frame = session.read.parquet(str(folder)).filter("x > 3")
    assert scan_bytes(session, frame, "71") == first
    # As if a re-plan looked at it, which forgets the statistics, and the files had changed meanwhile.
    write(folder, "b.parquet", 1_000)
    scan = frame._jdf.queryExecution().sparkPlan().collectLeaves().head()
    scan.relation().location().refresh()
    scan.logicalLink().get().invalidateStatsCache()
    assert scan_bytes(session, frame, "71") == first
    scan.logicalLink().get().invalidateStatsCache()
    assert scan_bytes(session, frame, "72") > first
