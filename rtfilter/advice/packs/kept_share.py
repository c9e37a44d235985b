"""Which share of a table's packs a query would keep: what an index or an order saves on Spark, by formulas on the statistics.

A pack can be left out when no row in it passes. With values in random order, a pack of P rows holds one of a share σ of all rows
with the probability 1 − (1 − σ)^P. Where a column is clustered, the bounds in the footers leave few packs to a value. How many
packs hold a value, the statistics may say. Of a pack without it Spark reads no more than a dictionary, where all of it has one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rtfilter.advice.statistics.packs_held import LONGEST_LIST, READ_AT_ONCE
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


@dataclass(frozen=True, slots=True)
class PackShares:
    """Shares of a table's packs: `kept` are read. Of `looked_at` Spark itself finds in their dictionaries, of so many bytes, that
    no row passes. Nothing is read of the rest."""

    kept: float = 1.0
    looked_at: float = 0.0
    bytes: float = 0.0

    @property
    def left(self) -> float:
        """The share that neither bounds in footers nor indexes reject."""
        return self.kept + self.looked_at

    def read(self, pack_bytes: float) -> float:
        """The share of a table's bytes that is read, where so many are read of a pack that is kept."""
        return self.kept + self.looked_at * (min(1.0, self.bytes / pack_bytes) if pack_bytes else 1.0)


def kept_share(predicate: Predicate | None, table: TableStatistics, layout: Layout = AS_IT_IS) -> float:
    """The share of packs that a query keeps; 1 where nothing is known."""
    return pack_shares(predicate, table, layout).left


def pack_shares(predicate: Predicate | None, table: TableStatistics, layout: Layout = AS_IT_IS) -> PackShares:
    """What becomes of a table's packs. Conditions joined by AND are taken for independent."""
    match predicate:
        case And(children):
            found = [pack_shares(child, table, layout) for child in children]
            return _together(math.prod(each.kept for each in found), math.prod(each.left for each in found), found)
        case Or(children):
            found = [pack_shares(child, table, layout) for child in children]
            left = min(1.0, math.fsum(each.left for each in found))
            return _together(min(left, math.fsum(each.kept for each in found)), left, found)
        case Leaf():
            return _shares_of_leaf(predicate, table, layout)
    return PackShares()


def _together(kept: float, left: float, parts: Sequence[PackShares]) -> PackShares:
    looked_at = math.fsum(each.looked_at for each in parts)
    size = math.fsum(each.looked_at * each.bytes for each in parts) / looked_at if looked_at else 0.0
    return PackShares(kept, left - kept, size)


def _shares_of_leaf(leaf: Leaf, table: TableStatistics, layout: Layout) -> PackShares:
    column = table.column(leaf.column) if leaf.columns else None
    if column is None or not table.packs or not table.rows:
        return PackShares()
    if leaf.operator is Operator.RANGE:
        return PackShares(min(1.0, RANGE_SHARE + _depth(column, table, layout) / table.packs))
    if leaf.operator not in EQUALITIES or column.cardinality is None:
        return PackShares()
    by_bounds = min(1.0, leaf.values * _depth(column, table, layout) / table.packs)
    held = min(by_bounds, _held(leaf, column, table, layout))
    wrongly = min(1.0, leaf.values * FALSE_POSITIVES) if column.name in layout.bloom else 1.0
    left = held + (by_bounds - held) * wrongly
    # Of a longer list than Spark pushes down no dictionary is asked.
    share = (column.dictionary_share or 0.0) if leaf.values <= LONGEST_LIST else 0.0
    looked_at = (left - held) * share
    return PackShares(left - looked_at, looked_at, max(READ_AT_ONCE, column.dictionary_bytes or 0))


def _held(leaf: Leaf, column: ColumnStatistics, table: TableStatistics, layout: Layout) -> float:
    """The share of packs that have one of the values."""
    packs = table.packs or 1
    if column.held_by is not None and layout.sorted_by is None:
        return 1.0 - (1.0 - min(1.0, column.held_by / packs)) ** leaf.values
    share = leaf_share(leaf, column) if column.cardinality else 0.0
    return 1.0 if share >= 1 else -math.expm1((table.rows or 0) / packs * math.log1p(-share))


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
    size = sum(column.bytes or 0 for column in found if column)
    return size * pack_shares(use.predicate, table, layout).read(size / (table.packs or 1))


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
    if column.held_by is not None:
        # Values that lie together: a pack has fewer of them.
        distinct = min(distinct, values * column.held_by / table.packs)
    return table.packs * filter_bytes(math.ceil(min(distinct, rows)), FALSE_POSITIVES)
