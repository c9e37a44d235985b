"""Grouped rows that stay in Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rtfilter.index.large_trees.row_keys import KeyLayout
from rtfilter.index.large_trees.scratch import Scratch, spark_told
from rtfilter.index.large_trees.spark_nodes import KeyedRows, grown
from rtfilter.index.large_trees.tree_rows import SparkTree
from rtfilter.star_tree.base_rows import measured
from rtfilter.star_tree.groups import Place
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.row_types import arrow_type_of
from rtfilter.star_tree.states import COUNT, combined, count_name, ordered_values, stored_functions, stored_name
from rtfilter.star_tree.tree_table import dimension_of
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

# Codes of a dimension that every task gets.
MOST_SENT = 200_000


@dataclass(frozen=True)
class SparkGroups:
    """Grouped rows in a frame that is kept; `counted`: how many values of each measured column they stand for."""

    definition: TreeDefinition
    scratch: Scratch
    frame: DataFrame
    groups: int
    table_rows: int
    counted: Mapping[str, int]
    largest: Mapping[str, int]

    def __len__(self) -> int:
        return self.groups

    def tree(self, definition: TreeDefinition) -> SparkTree:
        """As LargeGroups has it."""
        with spark_told(definition.table):
            values = [self._values(number) for number in range(len(definition.dimensions))]
            dimensions = tuple(
                dimension_of(name, definition.types[name], distinct, has_null=has_null)
                for name, (distinct, has_null) in zip(definition.dimensions, values, strict=True)
            )
            nullable = tuple(name for name, count in self.counted.items() if count != self.table_rows)
            layout = KeyLayout.of([each.size for each in dimensions])
            keyed = self._keyed(layout, [distinct for distinct, _ in values], nullable)
            no_star = [definition.dimensions.index(name) for name in definition.no_star]
            found = grown(keyed, self.scratch, definition.max_leaf, no_star)
        return SparkTree(definition, found, self.scratch, [distinct for distinct, _ in values], dimensions, nullable)

    def counts(self, wanted: Sequence[Sequence[int]]) -> list[int]:
        """As LargeGroups has it, about."""
        keys = [F.struct(*(F.col(f"d{number}") for number in each)) for each in wanted]
        with spark_told(self.definition.table):
            return list(self.frame.agg(*(F.approx_count_distinct(key).alias(f"c{n}") for n, key in enumerate(keys))).collect()[0])

    def within(self, place: Place) -> SparkGroups:
        """As LargeGroups has it."""
        with spark_told(self.definition.table):
            tests = [F.col(f"d{number}").eqNullSafe(F.lit(value)) for number, value in place]
            frame = self.frame.where(reduce(Column.__and__, tests))
            groups, table_rows, counted = totals(frame, list(self.counted))
        return replace(self, frame=frame, groups=groups, table_rows=table_rows, counted=counted)

    def close(self) -> None:
        """Removes what is kept."""
        self.scratch.close()

    def _values(self, number: int) -> tuple[Any, bool]:
        """The distinct values of a dimension, in order, and whether there is a null."""
        spark_type = self.definition.types[self.definition.dimensions[number]]
        found = pa.concat_tables(self.scratch.tables(self.scratch.keep(self.frame.select(f"d{number}").distinct())))
        column = combined(found.column(0)).cast(arrow_type_of(spark_type))
        return ordered_values(column, spark_type)[0], bool(column.null_count)

    def _keyed(self, layout: KeyLayout, values: Sequence[Any], nullable: Sequence[str]) -> KeyedRows:
        """The rows by codes, in order; kept."""
        frame = self.frame
        for number, distinct in enumerate(values):
            codes = self.scratch.frame(pa.table({f"v{number}": distinct, f"i{number}": pa.array(range(len(distinct)), pa.int32())}))
            codes = F.broadcast(codes) if len(distinct) <= MOST_SENT else codes
            frame = frame.join(codes, F.col(f"d{number}") == F.col(f"v{number}"), "left")
        null_last = [F.coalesce(F.col(f"i{number}"), F.lit(len(distinct))) for number, distinct in enumerate(values)]
        measures = parse_measures(self.definition.measures, self.definition.types, floats=self.definition.floats)
        stored = [stored_name(each) for each in stored_functions(measures, nullable)]
        states = [_state(self.frame, name).alias(f"s{number}") for number, name in enumerate(stored)]
        kept = self.scratch.keep(frame.select(*layout.packed(null_last), *states).orderBy(*layout.names))
        return KeyedRows(kept, layout, stored, self.groups)


def _state(frame: DataFrame, name: str) -> Column:
    """A stored column of grouped rows. Of floating point numbers -0.0 is 0.0."""
    column, spark_type = stored_column(name), frame.schema[name].dataType
    is_extreme = name.startswith(("min(", "max(")) and spark_type.simpleString() in ("float", "double")
    return (column + F.lit(0.0)).cast(spark_type) if is_extreme else column


def spark_groups(scratch: Scratch, kept: DataFrame, definition: TreeDefinition, largest: Mapping[str, int]) -> SparkGroups:
    """Grouped rows that are kept."""
    measures = parse_measures(definition.measures, definition.types, floats=definition.floats)
    groups, table_rows, counted = totals(kept, measured(measures))
    return SparkGroups(definition, scratch, kept, groups, table_rows, counted, largest)


def totals(frame: DataFrame, columns: Sequence[str]) -> tuple[int, int, dict[str, int]]:
    """Of grouped rows: how many they are, how many rows of the table they stand for, and how many values of each column."""
    names = [COUNT, *map(count_name, columns)]
    found = frame.agg(F.count(F.lit(1)), *(F.sum(stored_column(name)) for name in names)).collect()[0]
    return found[0], found[1] or 0, {column: count or 0 for column, count in zip(columns, found[2:], strict=True)}


def stored_column(name: str) -> Column:
    """A column by its name, whatever that is."""
    return F.col(f"`{name.replace('`', '``')}`")
