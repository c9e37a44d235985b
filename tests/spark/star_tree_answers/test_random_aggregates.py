"""Random aggregates with the layer on and off and in DuckDB, while files of the table come, go and are replaced."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter import StarTree
from tests.cases_share import cases
from tests.spark.star_tree_answers.aggregates import random_aggregate
from tests.spark.star_tree_answers.judge import decided, duckdb_rows, same_as_duckdb, spark_rows
from tests.spark.star_tree_answers.tables import DIMENSIONS, NUMBERS, Files, small

SEED = int(os.environ.get("RTFILTER_FUZZ_SEED", "57"))
QUERIES = int(os.environ.get("RTFILTER_FUZZ_CASES", "200"))
QUERIES_OF_A_TABLE = 20
# Each has nearly all that queries ask for, so that most are served; a few ask for what no tree holds.
MEASURES = {
    "x": ("sum(x)", "avg(x)", "min(x)", "max(x)", "count(x)"),
    "y": ("sum(y)", "avg(y)", "min(y)", "max(y)"),
    "big": ("sum(big)", "avg(big)", "min(big)", "max(big)"),
    "price": ("sum(price)", "avg(price)", "min(price)", "max(price)"),
    "wide": ("avg(wide)", "min(wide)"),
    "s": ("min(s)", "max(s)", "count(s)"),
    "day": ("min(day)", "max(day)"),
}


def test_random_aggregates_are_the_tables_own(spark: SparkSession, tmp_path: Path) -> None:
    tried, considered, served, hybrid, failed = 0, 0, Counter[str](), 0, 0
    total = cases(QUERIES)
    for table in range(-(-total // QUERIES_OF_A_TABLE)):
        r = np.random.default_rng([SEED, table])
        files = Files(tmp_path / f"fact{table}", r)
        for _ in range(int(r.integers(1, 5))):
            files.add(int(r.integers(100, 1500)))
        joined = tmp_path / f"small{table}.parquet"
        pq.write_table(small(r), joined)
        spark.read.parquet(str(joined)).createOrReplaceTempView("small")
        dimensions, measures, tree = _random_tree(spark, files, r)
        spark.conf.set("spark.sql.ansi.enabled", bool(r.random() < 0.4))
        for number in range(QUERIES_OF_A_TABLE):
            if number and number % 5 == 0:
                _change(files, tree, r)
            spark.read.parquet(str(files.folder)).createOrReplaceTempView("fact")
            query = random_aggregate(r, dimensions, measures)
            where = f"seed {SEED}, table {table}, query {number}: {query.sql}"
            off = spark_rows(spark, query.sql, layer=False)
            on = spark_rows(spark, query.sql, layer=True)
            entries = decided(spark)
            # Spark may see that no row passes.
            considered += bool(entries)
            assert on == off, f"{where}\n  on: {on[:5]}\n off: {off[:5]}\n{entries}"
            served.update(entry["reason"] for entry in entries)
            hybrid += any(entry["used"] and entry["raw_files"] for entry in entries)
            tried += 1
            if isinstance(off, str):
                failed += 1
            elif off or not query.has_sets:
                # Of no row at all a cube has a grand total in DuckDB, and none in Spark.
                theirs = duckdb_rows(query.sql, {"fact": files.pattern, "small": joined})
                assert same_as_duckdb(off, theirs, query), f"{where}\n  Spark: {off[:5]}\n DuckDB: {theirs[:5]}"
    print(tried, considered, hybrid, failed, served)
    assert served["USED"] >= tried / 2, served
    assert considered > 0.95 * tried
    assert hybrid >= tried / 20 and failed < tried / 10


def _random_tree(spark: SparkSession, files: Files, r: np.random.Generator) -> tuple[tuple[str, ...], tuple[str, ...], StarTree]:
    dimensions = tuple(str(each) for each in r.choice(DIMENSIONS, int(r.integers(2, 5)), replace=False))
    if r.random() < 0.6 and "k" not in dimensions:
        dimensions = (*dimensions, "k")
    chosen = [str(each) for each in r.choice([*NUMBERS, "s", "day"], int(r.integers(2, 5)), replace=False)]
    if not set(chosen) & set(NUMBERS):
        chosen.append("x")
    measures = ["count(*)", *(text for each in chosen for text in MEASURES[each])]
    no_star = [each for each in dimensions if r.random() < 0.15]
    max_leaf = int(r.choice([1, 5, 50, 10_000]))
    tree = StarTree.create(
        spark,
        str(files.folder),
        dimensions=dimensions,
        measures=measures,
        name="cube",
        max_leaf=max_leaf,
        no_star=no_star,
        max_rows=1_000_000,
    )
    return dimensions, tuple(chosen), tree


def _change(files: Files, tree: StarTree, r: np.random.Generator) -> None:
    change = int(r.integers(7))
    if change in (0, 1):
        files.add(int(r.integers(50, 400)))
    elif change == 2:
        files.remove()
    elif change == 3:
        files.replace(int(r.integers(50, 400)))
    if change in (2, 3) and r.random() < 0.6:
        tree.refresh(mode="incremental")
    if change == 4:
        tree.refresh(mode="incremental")
    elif change == 5:
        tree.refresh(mode="full")
    elif change == 6:
        tree.optimize()
