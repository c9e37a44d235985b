"""Trees of tables in a folder of a test, and what a query says of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter import StarTree
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.index.star_tree_base import LocalReader
from rtfilter.star_tree.actions.table_reader import footers_of
from rtfilter.star_tree.base_rows import grouped_rows
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.tree_files import write_segment
from rtfilter.star_tree.tree_table import tree_of_base
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_files.tree_snapshot import TREES_FOLDER, TreeDefinition, TreeSnapshot

SALES_ROWS = 20_000


def sales(rows: int = SALES_ROWS, seed: int = 1) -> pa.Table:
    """Whole numbers, decimals, floats and strings, with nulls."""
    drawn = np.random.default_rng(seed)
    return pa.table(
        {
            "day": pa.array(drawn.integers(0, 60, rows), pa.int32()),
            "store": pa.array([f"s{number}" for number in drawn.integers(0, 8, rows)]),
            "item": pa.array(drawn.integers(0, 200, rows), pa.int32()),
            "x": pa.array(drawn.integers(-50, 100, rows), pa.int32()),
            "y": pa.array(drawn.integers(0, 1_000, rows), pa.int64(), mask=drawn.random(rows) < 0.1),
            "price": pa.array(drawn.integers(0, 10_000, rows), pa.int32()).cast(pa.decimal128(10, 0)).cast(pa.decimal128(12, 2)),
            "weight": pa.array(drawn.random(rows)),
            "name": pa.array([f"n{number}" for number in drawn.integers(0, 40, rows)]),
        }
    )


def write_table(folder: Path, table: pa.Table, files: int = 2) -> Path:
    """The table in so many files, the same number of rows in each."""
    folder.mkdir(parents=True)
    size = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"part-{number}.parquet", row_group_size=4_000)
    return folder


def make_tree(folder: Path, name: str, dimensions: Sequence[str], measures: Sequence[str], **options: Any) -> None:
    """A tree of a table as it is now."""
    given = {"max_leaf": 50, "max_rows": 1_000_000, **options}
    StarTree.create(None, str(folder), dimensions, measures, name=name, **given)


def make_tree_of_rows(folder: Path, name: str, dimensions: Sequence[str], measures: Sequence[str], table: pa.Table) -> None:
    """What claims to be a tree of a table and is one of these rows, with sums of floats."""
    types = {field.name: spark_type_of(field.type) for field in table.schema}
    parsed = parse_measures(measures, types, floats=True)
    definition = TreeDefinition(name, str(folder), None, tuple(dimensions), tuple(map(str, parsed)), 50, (), types, True)
    base = grouped_rows(table, types, definition.dimensions, parsed)
    built = tree_of_base(base, types, definition.dimensions, parsed, max_leaf=50)
    storage = LocalStorage(str(folder / "_rtfilter" / TREES_FOLDER / name))
    reader = LocalReader(str(folder))
    listed = reader.listed()
    files = [each.file for each in footers_of(reader, listed.files, listed.root)]
    before = log.begin(storage, log.CREATE)
    segment = write_segment(storage, definition, built, base, files)
    log.end(storage, log.CREATE, before, log.ACTIVE, TreeSnapshot(definition, (segment,)))


def both_ways(spark: SparkSession, sql: str) -> tuple[list[Any], list[Any]]:
    """Rows with the layer off and on, in an order of their own."""
    found = []
    for enabled in (False, True):
        spark.conf.set("rtfilter.enabled", enabled)
        found.append(sorted(map(tuple, spark.sql(sql).collect()), key=str))
    return found[0], found[1]
