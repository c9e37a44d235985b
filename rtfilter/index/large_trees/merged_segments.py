"""The groups of several segments of a tree, out of their rows without stars, by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rtfilter.index.large_trees.merges import merge_of
from rtfilter.index.large_trees.scratch import kept_in, scratch_of, spark_path
from rtfilter.index.large_trees.spark_groups import SparkGroups, spark_groups, stored_column
from rtfilter.star_tree.actions.stored_base import base_columns
from rtfilter.star_tree.actions.tree_actions import measures_of
from rtfilter.star_tree.states import COUNT
from rtfilter.star_tree.tree_table import STARS
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment


def merged_groups(spark: SparkSession, definition: TreeDefinition, place: str, segments: Sequence[TreeSegment]) -> SparkGroups:
    """The groups of segments of the tree in this place, kept in Spark."""
    names = base_columns(definition, measures_of(definition))
    keys = [f"d{number}" for number in range(len(definition.dimensions))]
    rows = reduce(DataFrame.union, [_rows_without_stars(spark, place, each, names) for each in segments if each.rows])
    types = {field.name: field.dataType for field in rows.schema.fields}
    merged = [merge_of(name).of_states(stored_column(name)).cast(types[name]).alias(name) for name in names if name not in keys]
    largest = {name: max(segment.largest[name] for segment in segments) for name in segments[0].largest}
    with kept_in(scratch_of(spark), rows.groupBy(*keys).agg(*merged)) as (scratch, kept):
        return spark_groups(scratch, kept, definition, largest)


def _rows_without_stars(spark: SparkSession, place: str, segment: TreeSegment, names: Sequence[str]) -> DataFrame:
    paths = [spark_path(f"{place}/{file.name}") for file in segment.rows]
    found = spark.read.option("parquet.page.verify-checksum.enabled", "true").parquet(*paths).where(F.col(STARS) == 0)
    # A column without nulls is counted as rows are.
    missing = {name for name in names if name.startswith("count(") and name not in found.columns}
    columns = [stored_column(COUNT if name in missing else name).alias(name) for name in names]
    return found.select(*columns)
