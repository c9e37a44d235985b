"""Random files read by ranges of rows: the same rows as Spark's own reader gives, and DuckDB."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.cases_share import cases
from tests.spark.row_ranges.files import COLUMNS, KEY_TYPES, as_key, write_random_file

SEED = int(os.environ.get("RTFILTER_FUZZ_SEED", "58"))
CASES = int(os.environ.get("RTFILTER_FUZZ_CASES", "120"))
CASES_OF_A_TABLE = 8
SHOWN_ALIKE = {"k", "i", "l", "few", "d", "s", "b", "day", "p9", "p18", "p30"}


def test_rows_are_those_of_the_plain_reader(spark: SparkSession, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    total = cases(CASES)
    for number in range(-(-total // CASES_OF_A_TABLE)):
        r = np.random.default_rng([SEED, number])
        key_type, names = KEY_TYPES[int(r.integers(len(KEY_TYPES)))], _some_columns(r)
        folder = tmp_path / f"t{number}"
        folder.mkdir()
        files = [
            write_random_file(r, folder / f"{file}.parquet", key_type, names, int(r.integers(1, 4_000)))
            for file in range(int(r.integers(1, 3)))
        ]
        _settings(spark, r)
        table = spark.read.parquet(str(folder))
        table.createOrReplaceTempView("t")
        table.select("*", "_metadata.row_index").createOrReplaceTempView("placed")
        for case in range(CASES_OF_A_TABLE):
            _show_keys(spark, r, key_type, tmp_path / "keys.parquet")
            sql = _query(r, names)
            spark.conf.set("rtfilter.enabled", False)
            off = sorted(map(repr, spark.sql(sql).collect()))
            spark.conf.set("rtfilter.enabled", True)
            frame = spark.sql(sql)
            rows = frame.collect()
            on = sorted(map(repr, rows))
            where = f"seed {SEED}, table {number}, case {case}: {sql}\n{[file.how for file in files]}"
            assert on == off, where
            by_duckdb = _as_duckdb(folder, tmp_path / "keys.parquet", sql)
            if by_duckdb is not None:
                assert sorted(repr(tuple(row)) for row in rows) == by_duckdb, where
                seen["in DuckDB"] += 1
            seen.update(_counted(jvm.scan_metrics(frame)))
            seen["cases"] += 1
            seen["with rows"] += bool(on)
    spark.conf.set("rtfilter.enabled", False)
    assert seen["cases"] >= total and seen["with rows"] > seen["cases"] / 2, seen
    # Rows were chosen in about half; the others have no rows with a partner, no index of pages, or are not read by columns.
    assert seen["rows chosen"] > seen["cases"] / 4 and seen["pages left out"] > seen["cases"] / 8, seen
    assert seen["packs left out"] > seen["cases"] / 8 and seen["in DuckDB"] > seen["cases"] / 20, seen


def _some_columns(r: np.random.Generator) -> tuple[str, ...]:
    return tuple(str(name) for name in r.permutation(list(COLUMNS))[: int(r.integers(1, 7))])


def _settings(spark: SparkSession, r: np.random.Generator) -> None:
    spark.conf.set("rtfilter.keyFirst", "always")
    spark.conf.set("spark.sql.parquet.columnarReaderBatchSize", int(r.choice([7, 100, 4096])))
    spark.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", bool(r.random() < 0.8))
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", bool(r.random() < 0.9))
    spark.conf.set("spark.sql.columnVector.offheap.enabled", bool(r.random() < 0.3))
    spark.conf.set("spark.sql.files.maxPartitionBytes", int(r.choice([2_000, 1 << 27])))
    spark.conf.set("spark.sql.codegen.wholeStage", bool(r.random() < 0.8))


def _show_keys(spark: SparkSession, r: np.random.Generator, key_type: pa.DataType, path: Path) -> None:
    most = 100 if key_type == pa.int8() else int(r.choice([20, 300, 5_000]))
    keys = sorted({int(number) for number in r.integers(0, most, int(r.choice([1, 3, 10, 100])))})
    if r.random() < 0.3:
        keys = list(range(keys[0], keys[0] + len(keys)))
    if key_type == pa.int8():
        keys = [key for key in keys if key < 100] or [1]
    pq.write_table(pa.table({"id": pa.array([as_key(key, key_type) for key in keys], key_type), "w": keys}), path)
    spark.read.parquet(str(path)).createOrReplaceTempView("b")


def _query(r: np.random.Generator, names: tuple[str, ...]) -> str:
    shown = ", ".join(name for name in names if r.random() < 0.8) or names[0]
    where = str(r.choice(["", "", " where k is not null", f" where {names[0]} is not null", " where w < 100"]))
    if r.random() < 0.15:
        return f"select /*+ broadcast(b) */ k, {shown}, row_index from placed join b on k = id{where}"
    return f"select /*+ broadcast(b) */ k, {shown} from t join b on k = id{where}"


def _as_duckdb(folder: Path, keys: Path, sql: str) -> list[str] | None:
    """The rows by DuckDB, for queries of columns that both show alike; None for others."""
    columns = sql.split("*/ ")[1].split(" from ")[0].split(", ")
    if not set(columns) <= SHOWN_ALIKE:
        return None
    duck = sql.replace(" from t ", f" from '{folder}/*.parquet' t ").replace("join b", f"join '{keys}' b")
    return sorted(repr(row) for row in duckdb.execute(duck).fetchall())


def _counted(scans: list[dict[str, Any]]) -> Counter[str]:
    seen: Counter[str] = Counter()
    for scan in scans:
        if scan["narrowed"]:
            seen["narrowed"] += 1
            seen["rows chosen"] += (scan["rows_wanted"] or 0) > 0 or (scan["packs_by_keys"] or 0) > 0
            seen["pages left out"] += (scan["pages_kept"] or 0) < (scan["pages_total"] or 0)
            seen["packs left out"] += (scan["packs_by_keys"] or 0) > 0
    return seen
