"""A stage keeps its tasks when rows that filters dropped no longer reach a shuffle that it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.cases import task_of
from tests.spark.shuffled.jobs import packs_rejected, rows_dropped

KEYS, WANTED = 100_000, 500
ADVISORY = 200_000
TASK = "task_of(k) as task"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`probe` and `mixed`: a row for each key; `other`: 40 wide rows for each wanted key and no more; `wanted`: the keys."""
    folder = tmp_path_factory.mktemp("cut")
    draw = np.random.default_rng(1).integers
    keys = np.repeat(np.arange(WANTED, dtype=np.int64), 40)
    each = np.arange(KEYS, dtype=np.int64)
    mixed = np.random.default_rng(2).permutation(each)
    for name, of in {"probe": each, "mixed": mixed, "other": keys, "wanted": each[:WANTED]}.items():
        wide = {f"{name}{i}": draw(0, 1 << 60, len(of)) for i in range(6)}
        pq.write_table(pa.table({"k": of, **wide}), folder / f"{name}.parquet", row_group_size=10_000)
    return folder


@pytest.fixture
def cut(spark: SparkSession, tables: Path) -> Iterator[SparkSession]:
    for path in sorted(tables.iterdir()):
        spark.read.parquet(str(path)).createOrReplaceTempView(path.stem)
    spark.udf.register("task_of", task_of, "int")
    spark.conf.set("spark.sql.shuffle.partitions", "30")
    spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", ADVISORY)
    spark.conf.set("spark.sql.adaptive.coalescePartitions.minPartitionSize", "1000")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.parallelismFirst", "false")
    yield spark


def run(spark: SparkSession, sql: str, on: bool) -> tuple[int, Counter[tuple[Any, ...]], DataFrame]:
    """The tasks that brought rows back, the rows without the task's number, and the frame that ran."""
    spark.conf.set("rtfilter.enabled", on)
    frame = spark.sql(sql)
    rows = frame.collect()
    return len({row[0] for row in rows}), Counter(tuple(row)[1:] for row in rows), frame


@pytest.mark.parametrize("table", ["probe", "mixed"])
@pytest.mark.parametrize(
    "sql",
    [
        f"select {TASK}, * from {{0}} join other using (k) join wanted using (k)",
        f"select {TASK}, {{0}}0, a.other0, b.other1 from {{0}} join other a using (k) join wanted using (k) join other b using (k)",
        f"select {TASK}, * from other left join (select * from {{0}} left semi join wanted using (k)) using (k)",
    ],
    ids=["three tables", "one shuffle twice", "outer join"],
)
def test_a_stage_keeps_its_tasks(cut: SparkSession, sql: str, table: str) -> None:
    tasks_off, rows_off, _ = run(cut, sql.format(table), on=False)
    tasks_on, rows_on, frame = run(cut, sql.format(table), on=True)
    assert rows_on == rows_off and rows_on
    assert (packs_rejected(frame) if table == "probe" else rows_dropped(frame)) > 0
    assert tasks_off > 8
    assert tasks_on >= 8


def test_shuffles_of_a_users_own_are_left_as_they_are(cut: SparkSession) -> None:
    sql = f"select {TASK}, * from mixed join (select /*+ repartition(k) */ * from other) using (k) join wanted using (k)"
    tasks_off, rows_off, _ = run(cut, sql, on=False)
    tasks_on, rows_on, frame = run(cut, sql, on=True)
    assert rows_on == rows_off and rows_on
    assert rows_dropped(frame) > 0
    assert tasks_on < 8 < tasks_off
