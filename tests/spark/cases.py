"""Small tables with many packs, and the check that on = off = DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge import jvm

FACT_FILES = 8
FACT_ROWS = 40_000
PACK_ROWS = 500
KEYS = 4_000
DIM_ROWS = 5_000


def day(number: int) -> date:
    return date(2020, 1, 1) + timedelta(days=number)


def fact_table() -> pa.Table:
    """40,000 rows clustered by k: k repeats ten times; kn is k with nulls; d is a date that goes with k; r is random."""
    row = np.arange(FACT_ROWS)
    k = row // 10
    nothing = row % 7 == 0
    return pa.table(
        {
            "k": pa.array(k, pa.int32()),
            "kl": pa.array(k.astype(np.int64) * 1_000_000_007, pa.int64()),
            "ks": pa.array(k % 30_000, pa.int16()),
            "kn": pa.array(k, pa.int32(), mask=nothing),
            "r": pa.array(np.random.default_rng(7).integers(0, KEYS, FACT_ROWS), pa.int32()),
            "d": pa.array([day(int(x) // 4) for x in k], pa.date32()),
            "v": pa.array(row, pa.int64()),
            "s": pa.array([f"text {x % 13}" for x in row]),
        }
    )


def dim_table() -> pa.Table:
    """5,000 rows, ids 0 to 4,999 in random order: more than the fact has keys."""
    ids = np.random.default_rng(3).permutation(DIM_ROWS)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "idl": pa.array(ids.astype(np.int64) * 1_000_000_007, pa.int64()),
            "idn": pa.array(ids, pa.int32(), mask=ids % 3 == 0),
            "day": pa.array([day(int(x) // 4) for x in ids], pa.date32()),
            "grp": pa.array(ids % 50, pa.int32()),
            "name": pa.array([f"n{x}" for x in ids]),
        }
    )


def write_files(table: pa.Table, folder: Path, files: int, pack_rows: int = PACK_ROWS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    share = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * share, share), folder / f"part-{number:03}.parquet", row_group_size=pack_rows)


@dataclass(frozen=True)
class Checked:
    """What one query gave with the layer on: its rows and the metrics of its file scans."""

    rows: list[tuple[Any, ...]]
    scans: list[dict[str, Any]]

    @property
    def packs_rejected(self) -> int:
        return sum(scan["packs_total"] - scan["packs_read"] for scan in self.scans if scan["narrowed"])


def task_of(_: int) -> int:
    """The task of a row, as a user's function: below spark_partition_id() scans are left alone."""
    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def collected(df: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


class OnOffDuckDB:
    """Runs a query with the layer on, off and in DuckDB; the three must agree."""

    def __init__(self, spark: SparkSession, tables: dict[str, Path]) -> None:
        self.spark = spark
        self.duck = duckdb.connect()
        for name, path in tables.items():
            self.add(name, path)

    def add(self, name: str, path: Path) -> None:
        files = f"read_parquet('{path}/**/*.parquet', hive_partitioning=true)"
        self.duck.execute(f"create or replace view {name} as select * from {files}")

    def __call__(self, sql: str, *, rejects: bool, rows: bool = True, duck_sql: str | None = None) -> Checked:
        """`rejects`: whether the filters must (or must not) reject packs; `rows`: whether rows must come back."""
        self.spark.conf.set("rtfilter.enabled", False)
        off = collected(self.spark.sql(sql))
        self.spark.conf.set("rtfilter.enabled", True)
        frame = self.spark.sql(sql)
        on = collected(frame)
        checked = Checked(on, jvm.scan_metrics(frame))
        self.spark.conf.set("rtfilter.enabled", False)
        assert on == off
        assert on == sorted(self.duck.execute(duck_sql or sql).fetchall(), key=repr)
        assert bool(on) == rows
        assert (checked.packs_rejected > 0) == rejects, checked.scans
        return checked
