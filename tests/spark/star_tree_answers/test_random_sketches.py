"""Random sketches of trees, byte by byte those that Spark makes of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import StarTree
from tests.spark.star_tree_answers.judge import decided, spark_rows

TABLES, QUERIES = 6, 8
DIMENSIONS = ("a", "b", "c")
CONDITIONS = ("", "where a = 1", "where b in (0, 2)", "where c is null", "where a <> 2 and b > 0", "where a = 99")
KINDS = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


def _values(r: np.random.Generator, kind: str, rows: int) -> pa.Array:
    drawn = r.integers(0, int(r.choice([1, 20, 300, 3_000])), rows)
    nulls = r.random(rows) < r.choice([0.0, 0.3])
    if kind in ("string", "binary"):
        return pa.array([str(each) for each in drawn], pa.string(), mask=nulls).cast(KINDS[kind])
    if kind in ("float", "double"):
        # 0.0, -0.0 and NaN are among them.
        return pa.array(np.where(drawn == 1, np.nan, np.where(drawn == 2, -0.0, drawn / 8)), KINDS[kind], mask=nulls)
    return pa.array(drawn - 3, KINDS[kind], mask=nulls)


@pytest.mark.parametrize("number", range(TABLES))
def test_sketches_of_a_tree_are_the_tables_own(spark: SparkSession, tmp_path: Path, number: int) -> None:
    r = np.random.default_rng([57, number])
    place, rows, used = tmp_path / "t", int(r.integers(300, 4_000)), 0
    place.mkdir()
    kinds = [str(each) for each in r.choice(list(KINDS), 3, replace=False)]
    for file in range(2):
        keys = {name: pa.array(r.integers(0, 4, rows), pa.int32(), mask=r.random(rows) < 0.1) for name in DIMENSIONS}
        positions = {"p": pa.array(r.integers(0, 32_768, rows), pa.int32(), mask=r.random(rows) < 0.2)}
        columns = {**keys, **positions, **{f"x_{kind}": _values(r, kind, rows) for kind in kinds}}
        pq.write_table(pa.table(columns), place / f"{file}.parquet")
    spark.read.parquet(str(place)).createOrReplaceTempView("t")
    sketches = [f"theta_sketch_agg(x_{kind}, {int(r.integers(4, 9))})" for kind in kinds]
    measures = [*sketches, "bitmap_construct_agg(p)"]
    max_leaf = int(r.choice([1, 10, 10_000]))
    StarTree.create(spark, str(place), DIMENSIONS, measures, name="cube", max_leaf=max_leaf, max_rows=1_000_000)
    for _ in range(QUERIES):
        groups = [str(each) for each in r.choice(DIMENSIONS, int(r.integers(0, 3)), replace=False)]
        cells = [str(each) for each in r.choice(measures, 2, replace=False)]
        by = f"group by {', '.join(groups)}" if groups else ""
        sql = f"select {', '.join([*groups, *cells])} from t {r.choice(CONDITIONS)} {by}"
        off, on = (spark_rows(spark, sql, layer=layer) for layer in (False, True))
        assert on == off and isinstance(on, list), sql
        used += any(entry["used"] for entry in decided(spark))
    assert used >= QUERIES - 2
