"""Which share of a table's packs a query would keep: what an index or an order saves on Spark, by formulas on the statistics.

A pack can be left out when no row in it passes. With values in random order, a pack of P rows holds one of a share σ of all rows
with the probability 1 − (1 − σ)^P. Where a column is clustered, the bounds in the footers leave few packs to a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.votes.selectivity import leaf_share
from rtfilter.advice.workload.fingerprints import TableUse
from rtfilter.advice.workload.predicates import EQUALITIES, And, Leaf, Operator, Or, Predicate
from rtfilter.store.sketches.bloom import bloom_bytes as filter_bytes

FALSE_POSITIVES = 0.01
# The share of rows in a range, of which nothing is known without its literals.
RANGE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Layout:
    """What is built: columns with a Bloom filter for each pack, and the column that the table is sorted by, None for as it is."""

    bloom: frozenset[str] = frozenset()
    sorted_by: str | None = None


AS_IT_IS = Layout()


def kept_share(predicate: Predicate | None, table: TableStatistics, layout: Layout = AS_IT_IS) -> float:
    """The share of packs that a query keeps; 1 where nothing is known. Conditions joined by AND are taken for independent."""
    match predicate:
        case And(children):
            return math.prod(kept_share(child, table, layout) for child in children)
        case Or(children):
            return min(1.0, math.fsum(kept_share(child, table, layout) for child in children))
        case Leaf():
            return _kept_by_leaf(predicate, table, layout)
    return 1.0


def _kept_by_leaf(leaf: Leaf, table: TableStatistics, layout: Layout) -> float:
    column = table.column(leaf.column) if leaf.columns else None
    if column is None or not table.packs or not table.rows:
        return 1.0
    if leaf.operator is Operator.RANGE:
        return min(1.0, RANGE_SHARE + _depth(column, table, layout) / table.packs)
    if leaf.operator not in EQUALITIES or column.cardinality is None:
        return 1.0
    by_bounds = min(1.0, leaf.values * _depth(column, table, layout) / table.packs)
    if column.name not in layout.bloom:
        return by_bounds
    share = leaf_share(leaf, column) if column.cardinality else 0.0
    rows = table.rows / table.packs
    by_bloom = 1.0 if share >= 1 else -math.expm1(rows * math.log1p(-share))
    return min(by_bounds, by_bloom + leaf.values * FALSE_POSITIVES)


def _depth(column: ColumnStatistics, table: TableStatistics, layout: Layout) -> float:
    """The mean number of packs whose bounds hold a value. A table has one order: sorted by one column, others are in none."""
    packs = float(table.packs or 1)
    if layout.sorted_by == column.name:
        per_value = packs / column.cardinality if column.cardinality else packs
        return min(packs, 1.0 + per_value)
    return packs if column.depth is None or layout.sorted_by is not None else max(1.0, column.depth)


def read_bytes(use: TableUse, table: TableStatistics, layout: Layout = AS_IT_IS) -> float | None:
    """The compressed bytes that a query reads of a table: its columns, of the packs that it keeps. None where bytes are unknown."""
    names = [column.name for column in table.columns.values()] if use.columns is None else use.columns
    found = [table.column(name) for name in names]
    if any(column is not None and column.bytes is None for column in found):
        return None
    return sum(column.bytes or 0 for column in found if column) * kept_share(use.predicate, table, layout)


def column_bytes(use: TableUse, table: TableStatistics) -> float:
    """The compressed bytes of all columns that a query reads of a table; of columns without known bytes none."""
    names = [column.name for column in table.columns.values()] if use.columns is None else use.columns
    return float(sum(column.bytes or 0 for name in names if (column := table.column(name)) is not None))


def bloom_bytes(column: ColumnStatistics, table: TableStatistics) -> int | None:
    """The size of a Bloom filter for each pack, by the distinct values that a pack has in random order."""
    if not table.packs or not table.rows or column.cardinality is None:
        return None
    rows, values = table.rows / table.packs, column.cardinality
    distinct = 0.0 if values < 1 else values * -math.expm1(rows * math.log1p(-1 / max(2, values)))
    return table.packs * filter_bytes(math.ceil(min(distinct, rows)), FALSE_POSITIVES)
