"""What is left of many small files is shared out evenly: Spark counts a file as 4 MB at least, however little of it is read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm
from tests.spark.cases import collected, task_of

FILES, PACKS, PACK_ROWS = 12, 15, 1_000
# Three packs of a file, two whole files, three packs of another one.
FIRST, LAST = 4 * PACKS + 12, 7 * PACKS + 3
KEPT = LAST - FIRST
PER_TASK = "select task_of(k) as task, {} from packs join wanted on k = wanted.id"


@pytest.fixture
def many(spark: SparkSession, tmp_path: Path) -> Path:
    """Files of a pack for each key, and the keys that are wanted."""
    folder = tmp_path / "packs"
    folder.mkdir()
    for file in range(FILES):
        keys = np.repeat(np.arange(file * PACKS, (file + 1) * PACKS, dtype=np.int32), PACK_ROWS)
        values = np.random.default_rng(file).integers(0, 1 << 60, len(keys))
        pq.write_table(pa.table({"k": keys, "v": values}), folder / f"{file:02}.parquet", row_group_size=PACK_ROWS)
    spark.read.parquet(str(folder)).createOrReplaceTempView("packs")
    make_wanted(spark, tmp_path, FIRST, LAST)
    spark.udf.register("task_of", task_of, "int")
    spark.conf.set("rtfilter.enabled", True)
    return folder


def make_wanted(spark: SparkSession, folder: Path, first: int, last: int) -> None:
    path = str(folder / f"wanted-{first}-{last}")
    spark.range(first, last, 1, 1).write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("wanted")


def rows_of_tasks(frame: DataFrame) -> list[int]:
    """How many rows each task brought back, the most first. Of the scan some packs were read, and no other ones."""
    rows: list[tuple[Any, ...]] = collected(frame)
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
    assert 0 < scan["packs_read"] * PACK_ROWS == len(rows) < FILES * PACKS * PACK_ROWS
    return sorted(Counter(row[0] for row in rows).values(), reverse=True)


def test_ends_of_files_and_whole_ones_make_equal_tasks(spark: SparkSession, many: Path) -> None:
    tasks = rows_of_tasks(spark.sql(PER_TASK.format("v")))
    assert sum(tasks) == KEPT * PACK_ROWS
    # Two cores: none of them does more than six tenths when they take tasks as they come.
    assert 2 <= len(tasks) <= 4 and max(tasks[0], sum(tasks) - tasks[0] - tasks[1]) <= 0.6 * sum(tasks)


def test_a_query_that_asks_for_lengths_is_given_those_of_the_files(spark: SparkSession, many: Path) -> None:
    asked = PER_TASK.format("packs._metadata.file_size as bytes, packs._metadata.file_name as name")
    frame = spark.sql(asked.replace("from packs", f"from parquet.`{many}` as packs"))
    assert sum(rows_of_tasks(frame)) == KEPT * PACK_ROWS
    assert {(row.name, row.bytes) for row in frame.collect()} == {
        (path.name, path.stat().st_size) for path in sorted(many.iterdir())[FIRST // PACKS : -(-LAST // PACKS)]
    }


@pytest.mark.parametrize(("packs", "tasks"), [(1, 1), (3, 1), (4, 2)])
def test_a_task_has_two_packs_or_more(spark: SparkSession, many: Path, tmp_path: Path, packs: int, tasks: int) -> None:
    make_wanted(spark, tmp_path, 30, 30 + packs)
    assert len(rows_of_tasks(spark.sql(PER_TASK.format("v")))) == tasks


def test_more_cores_than_packs_do_not_make_a_task_for_each_core(spark: SparkSession, many: Path) -> None:
    spark.conf.set("spark.sql.files.minPartitionNum", "200")
    frame = spark.sql(PER_TASK.format("v"))
    tasks = rows_of_tasks(frame)
    # A piece at the end of a file may have the start of no pack in it.
    assert KEPT // 4 <= len(tasks) <= narrowed_scan(frame).inputRDD().getNumPartitions() <= KEPT // 2 + 4
    assert tasks[0] <= 3 * PACK_ROWS


def test_no_partition_size_is_too_large(spark: SparkSession, many: Path) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(2**63 - 1))
    frame = spark.sql(PER_TASK.format("v"))
    assert sum(rows_of_tasks(frame)) == KEPT * PACK_ROWS
    assert 2 <= narrowed_scan(frame).inputRDD().getNumPartitions() <= 4


def test_what_the_scan_says_of_bytes_is_what_is_kept(spark: SparkSession, many: Path) -> None:
    frame = spark.sql(PER_TASK.format("v"))
    frame.collect()
    whole = sum(path.stat().st_size for path in many.iterdir())
    assert narrowed_scan(frame).metrics().apply("filesSize").value() == pytest.approx(whole * KEPT / (FILES * PACKS), rel=0.1)


def narrowed_scan(frame: DataFrame) -> Any:
    """The scan of a plan that has run, in the JVM."""
    plan = frame._jdf.queryExecution().executedPlan().executedPlan()  # the final plan of an adaptive one
    open_nodes = [plan]
    while open_nodes:
        node = open_nodes.pop()
        if node.getClass().getSimpleName() == "NarrowedScan":
            return node
        if node.getClass().getSimpleName() == "ResultQueryStageExec":
            open_nodes.append(node.plan())
        children = node.children()
        open_nodes += [children.apply(number) for number in range(children.size())]
    raise AssertionError("no scan was narrowed")
