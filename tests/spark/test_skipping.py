"""Rejected row groups are never read: rubbish in their bytes goes unnoticed, rubbish in a kept one does not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

SQL = "select count(*), sum(v) from spoiled join dim on k = id where name = 'n1234'"
ROWS, PACK_ROWS, WANTED = 4000, 100, 1234


@pytest.fixture(params=["true", "false"], ids=["vectorized", "row-based"])
def spoiled(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Path:
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", request.param)
    table = pa.table({"k": pa.array(range(ROWS), pa.int32()), "v": pa.array(range(ROWS), pa.int64())})
    path = tmp_path / "one.parquet"
    pq.write_table(table, path, row_group_size=PACK_ROWS, compression="snappy")
    return path


def overwrite(path: Path, spoil_kept: bool) -> int:
    """Overwrites the data of every rejected pack, or of the kept one, and keeps size and mtime; returns how many packs."""
    metadata, before = pq.read_metadata(path), path.stat()
    done = 0
    with open(path, "r+b") as file:
        for number in range(metadata.num_row_groups):
            if (number == WANTED // PACK_ROWS) != spoil_kept:
                continue
            for column in range(metadata.num_columns):
                chunk = metadata.row_group(number).column(column)
                offsets = [chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset]
                file.seek(min(offsets))
                file.write(b"\xff" * chunk.total_compressed_size)
            done += 1
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return done


def test_rubbish_in_rejected_packs_is_never_seen(spark: SparkSession, spoiled: Path) -> None:
    assert overwrite(spoiled, spoil_kept=False) == ROWS // PACK_ROWS - 1
    spark.read.parquet(str(spoiled)).createOrReplaceTempView("spoiled")
    spark.conf.set("rtfilter.enabled", True)
    assert [tuple(row) for row in spark.sql(SQL).collect()] == [(1, WANTED)]
    spark.conf.set("rtfilter.enabled", False)
    with pytest.raises(Exception, match=r"(?i)parquet|snappy|corrupt|read|fail"):
        spark.sql(SQL).collect()


def test_rubbish_in_a_kept_pack_fails_the_query(spark: SparkSession, spoiled: Path) -> None:
    assert overwrite(spoiled, spoil_kept=True) == 1
    spark.read.parquet(str(spoiled)).createOrReplaceTempView("spoiled")
    spark.conf.set("rtfilter.enabled", True)
    with pytest.raises(Exception, match=r"(?i)parquet|snappy|corrupt|read|fail"):
        spark.sql(SQL).collect()


def narrowed_scans(plan: Any) -> list[Any]:
    """The scans of an executed plan, in the JVM, that read less than Spark's own would."""
    kind = plan.getClass().getSimpleName()
    if kind == "NarrowedScan":
        return [plan]
    below = [plan.executedPlan()] if kind == "AdaptiveSparkPlanExec" else [plan.plan()] if kind.endswith("QueryStageExec") else None
    children = plan.children() if below is None else None
    nodes = below if children is None else [children.apply(i) for i in range(children.size())]
    return [scan for node in nodes or [] for scan in narrowed_scans(node)]


def test_tasks_hear_of_the_files_that_they_may_read(spark: SparkSession, tmp_path: Path) -> None:
    """Of thousands of files the whole list, sent to every executor, takes longer than reading the few that are left."""
    for number in range(30):
        keys = pa.array(range(100 * number, 100 * number + 100), pa.int32())
        pq.write_table(pa.table({"k": keys, "v": keys}), tmp_path / f"{number:02}.parquet", row_group_size=50)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("spoiled")
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    assert [tuple(row) for row in frame.collect()] == [(1, WANTED)]
    (scan,) = narrowed_scans(frame._jdf.queryExecution().executedPlan())
    selection = scan.relation().fileFormat().selection()
    assert (selection.files().size(), selection.droppedFiles()) == (30, 29)
    kept = selection.forTasks().files()
    assert kept.size() == 1 and kept.contains(f"file:{tmp_path}/12.parquet")
    assert kept.apply(f"file:{tmp_path}/12.parquet").keptBytes() > 0
