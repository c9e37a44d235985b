"""A tree of a table: dimensions and measures of a pyarrow table in, the rows of its tree out as a pyarrow table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.errors import IndexDefinitionError, did_you_mean
from rtfilter.star_tree.base_rows import BaseRows, decoded, encoded, grouped_rows, measured
from rtfilter.star_tree.build import MAX_LEAF, build_tree
from rtfilter.star_tree.conditions import Dimension
from rtfilter.star_tree.measures import Measure
from rtfilter.star_tree.states import GroupedRows, stored_columns
from rtfilter.star_tree.tree import Nodes, StarTree
from rtfilter.store.index_files.tree_snapshot import MOST_DIMENSIONS
from rtfilter.store.sketches.domain import LONG, domain_of, pack_values, why_no_values

# The columns of a tree's rows beside dimensions and measures: which dimensions are stars, and the row's number.
STARS, ROW = "stars", "row"


@dataclass(frozen=True, slots=True)
class TableTree:
    """A tree, its dimensions with their values, and its rows as a table.

    Columns of `rows`: `row` (0, 1, …), `stars` (bit d: dimension d is the star), `d0`, `d1`, … the dimensions in split order (in
    the table's own types, null at stars), and one for each stored column under its name. `nullable`: columns of measures that have
    a null; their number of values is held beside every measure.
    """

    tree: StarTree
    dimensions: tuple[Dimension, ...]
    rows: Any
    nullable: tuple[str, ...]

    @property
    def nodes(self) -> Nodes:
        return self.tree.nodes

    @property
    def base_rows(self) -> int:
        return self.tree.base_rows

    def __len__(self) -> int:
        return len(self.rows)

    def tables(self) -> Iterator[Any]:
        """The rows as they are written: as `BuiltTree` has them."""
        yield self.rows


def tree_of_table(
    table: Any,
    types: Mapping[str, str],
    dimensions: Sequence[str],
    measures: Sequence[Measure],
    *,
    max_leaf: int = MAX_LEAF,
    no_star: Sequence[str] = (),
) -> TableTree:
    """Builds the tree of a pyarrow table.

    Args:
        types: Spark's catalog text of the type of each column.
        dimensions: In split order.
        measures: What `parse_measures` gave.
        max_leaf: A node of more rows is split.
        no_star: Dimensions whose values are never summed up.

    Raises:
        IndexDefinitionError: a dimension is not there, is there twice, or of a type that has no order of keys.
    """
    check_dimensions(dimensions, types, no_star)
    base = grouped_rows(table, types, dimensions, measures)
    return tree_of_base(base, types, dimensions, measures, max_leaf=max_leaf, no_star=no_star)


def tree_of_base(
    base: BaseRows,
    types: Mapping[str, str],
    dimensions: Sequence[str],
    measures: Sequence[Measure],
    *,
    max_leaf: int = MAX_LEAF,
    no_star: Sequence[str] = (),
) -> TableTree:
    """Builds the tree of rows that are grouped already. Arguments and errors as `tree_of_table`."""
    check_dimensions(dimensions, types, no_star)
    columns = [base.table.column(f"d{number}") for number in range(len(dimensions))]
    values, codes = encoded(columns, [types[name] for name in dimensions])
    kept = [
        dimension_of(name, types[name], distinct, has_null=bool(column.null_count))
        for name, distinct, column in zip(dimensions, values, columns, strict=True)
    ]
    given = GroupedRows(base.table)
    nullable = tuple(name for name in measured(measures) if bool((given.counted(name) != given.counted(None)).any()))
    stored = stored_columns(given, types, measures, nullable)
    tree = build_tree(
        codes,
        [state for column in stored for state in column.states],
        [merge for column in stored for merge in column.merges],
        [dimension.size for dimension in kept],
        max_leaf=max_leaf,
        no_star=[dimensions.index(name) for name in no_star],
    )
    records = tree.rows
    numbered = {ROW: pa.array(np.arange(len(records), dtype=np.int64)), STARS: pa.array(records.stars)}
    return TableTree(tree, tuple(kept), pa.table({**numbered, **decoded(records, values, stored)}), nullable)


def check_dimensions(dimensions: Sequence[str], types: Mapping[str, str], no_star: Sequence[str] = ()) -> None:
    """Raises IndexDefinitionError where dimensions can't be those of a tree."""
    if not 1 <= len(dimensions) <= MOST_DIMENSIONS:
        raise IndexDefinitionError(f"a star-tree has 1 to {MOST_DIMENSIONS} dimensions; {len(dimensions)} are named.")
    for name in dimensions:
        if name not in types:
            raise IndexDefinitionError(f"the dimension {name!r}: the table has no such column. {did_you_mean(name, types)}")
        if domain_of(types[name]) is None:
            raise IndexDefinitionError(f"the dimension {name!r} is a {types[name]}, which a tree can't order.")
        if list(dimensions).count(name) > 1:
            raise IndexDefinitionError(f"the dimension {name!r} is there twice.")
    for name in no_star:
        if name not in dimensions:
            raise IndexDefinitionError(f"no_star names {name!r}, which is no dimension. {did_you_mean(name, dimensions)}")


def dimension_of(name: str, spark_type: str, distinct: Any, *, has_null: bool) -> Dimension:
    """A dimension of these distinct values, which are in order. Raises IndexDefinitionError: a tree can't hold one of them."""
    keys = pack_values(pa.chunked_array([distinct]), spark_type, distinct=False)
    if keys is None:
        raise IndexDefinitionError(f"the dimension {name!r}: {why_no_values(distinct.type, spark_type)}.")
    if domain_of(spark_type) == LONG and keys.longs is not None:
        return Dimension(name, spark_type, keys.longs, has_null)
    return Dimension(name, spark_type, tuple(keys.strings or ()), has_null)
