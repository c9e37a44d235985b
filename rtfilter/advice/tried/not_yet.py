"""What this version does not build: row indexes, which find pages, and star-trees, which answer aggregates.

They are listed with what they would save, judged on rows of sampled packs. They take no budget, and stand behind all other items.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from planner.counted import counted
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.trials.sorted_sample import sample_rows
from rtfilter.advice.tried.tried_table import TriedAsking, TriedTable
from rtfilter.advice.workload.predicates import EQUALITIES, And, Leaf, Operator, leaves

NOT_YET = "Not in this version."
# Spark ends a page after so many rows at the latest.
PAGE_ROWS = 20_000
# Of what the queries of a table read, to be worth a line.
LEAST_SHARE = 0.05
# A tree of more rows than this share of the table's is none.
MOST_TREE_ROWS = 0.1
_MEASURES = frozenset(("count", "sum", "min", "max", "avg"))
_TREE_CONDITIONS = EQUALITIES | {Operator.RANGE, Operator.NOT_EQUAL, Operator.NOT_IN, Operator.IS_NULL, Operator.IS_NOT_NULL}
_TIMES = ("date", "timestamp")


def not_in_this_version(tried: TriedTable, built: Sequence[Item]) -> list[Item]:
    """Row indexes and a star-tree, beside what else is advised."""
    rows = _rows(tried)
    if rows is None or not len(rows):
        return []
    indexes = (each for item in built if item.kind != "cluster_by" for each in item.kept)
    served = {each.query: each.after for each in indexes}
    return [*_row_indexes(tried, served, rows), *_star_tree(tried, rows)]


def _rows(tried: TriedTable) -> Any | None:
    """Rows of sampled packs with the columns that matter here."""
    values = {leaf.column for each in tried.asked for leaf in leaves(each.asking.use.predicate) if leaf.operator in EQUALITIES}
    values |= {name for each in tried.asked if _is_for_a_tree(each) for name in _dimensions(each)}
    known = sorted(column.name for name in values if (column := tried.table.column(name)) is not None)
    return sample_rows(tried.trial.sample, known) if known else None


def _row_indexes(tried: TriedTable, served: dict[str, float], rows: Any) -> list[Item]:
    """For columns that are asked for values: the share of pages that hold a value, where rows lie at random in their packs."""
    found = []
    names = {leaf.column for each in tried.asked for leaf in leaves(each.asking.use.predicate) if leaf.operator in EQUALITIES}
    for name in sorted(names & set(rows.column_names)):
        column = tried.table.column(name)
        pages = _pages_with_a_value(rows.column(name), column) if column is not None else 1.0
        saved, ms, queries = [0.0], list[float](), []
        for each in tried.asked:
            if pages < 1 and _asks_for_values(each, name):
                before = float(each.reads(tried.trial, tried.trial.existing).mean())
                kept = min(before, served.get(each.asking.fingerprint.id, before))
                saved.append(each.read * kept * (1 - pages))
                ms += [] if each.asking.ms is None or not before else [each.asking.ms * kept * (1 - pages) / before]
                queries.append(each.asking.fingerprint.id)
        if math.fsum(saved) > LEAST_SHARE * tried.read_today:
            reason = f"{NOT_YET} About {pages:.1%} of the pages hold a value that is asked for."
            command = shlex.join(["rtfilter", "index", "create", path_of(tried.table), "--name", "rows", "--rows", name])
            found.append(_item("row_index", (name,), queries, math.fsum(saved), ms, None, reason, command, tried))
    return found


def _asks_for_values(each: TriedAsking, name: str) -> bool:
    """Whether rows that do not have one of some values of the column never pass."""
    predicate = each.asking.use.predicate
    parts = predicate.children if isinstance(predicate, And) else (predicate,)
    return any(isinstance(part, Leaf) and part.operator in EQUALITIES and part.column == name for part in parts)


def _pages_with_a_value(values: Any, column: ColumnStatistics) -> float:
    """On average over rows: a value is asked for as often as it is there."""
    counts = np.asarray(pc.value_counts(values.combine_chunks()).field("counts"), dtype=np.float64)
    if not len(counts):
        return 1.0
    shares = counts / counts.sum()
    if column.cardinality:
        # Whoever was seen once may be much rarer than that.
        shares = np.where(counts == 1, np.minimum(shares, 1 / column.cardinality), shares)
    return float((counts / counts.sum() * -np.expm1(PAGE_ROWS * np.log1p(-np.minimum(shares, 1 - 1e-12)))).sum())


def _star_tree(tried: TriedTable, rows: Any) -> list[Item]:
    """One tree for the table, of the dimensions of those queries that ask for aggregates only, the longest ones first."""
    usable = [(each, _dimensions(each)) for each in tried.asked if _is_for_a_tree(each)]
    usable = [(each, names) for each, names in usable if names and names <= set(rows.column_names)]
    usable.sort(key=lambda each: (-(each[0].asking.ms or 0.0), -each[0].read, each[0].asking.fingerprint.id))
    dimensions: frozenset[str] = frozenset()
    chosen: list[TriedAsking] = []
    for each, names in usable:
        if _tree_rows(rows, dimensions | names, tried) <= MOST_TREE_ROWS * (tried.table.rows or 0):
            dimensions, chosen = dimensions | names, [*chosen, each]
    if not chosen:
        return []
    tree_rows = _tree_rows(rows, dimensions, tried)
    left = tree_rows / (tried.table.rows or 1)
    shares = [float(each.reads(tried.trial, tried.trial.existing).mean()) for each in chosen]
    saved = math.fsum(each.read * max(0.0, share - left) for each, share in zip(chosen, shares, strict=True))
    times = [
        each.asking.ms * max(0.0, 1 - left / share) for each, share in zip(chosen, shares, strict=True) if each.asking.ms and share
    ]
    if saved <= LEAST_SHARE * tried.read_today:
        return []
    measures = sorted({_measure(*aggregate) for each in chosen for aggregate in each.asking.fingerprint.aggregates})
    ordered = _in_order(dimensions, tried.table)
    reason = (
        f"{NOT_YET} {counted(len(chosen), 'kind', 'kinds')} of queries ask for {', '.join(measures)} only; their dimensions have "
        f"about {tree_rows:,} combinations in {tried.table.rows:,} rows."
    )
    named = ["--name", "cube", "--dimensions", ",".join(ordered), "--measures", ",".join(measures)]
    command = shlex.join(["rtfilter", "startree", "create", path_of(tried.table), *named])
    queries = [each.asking.fingerprint.id for each in chosen]
    size = tree_rows * 8 * (len(ordered) + len(measures))
    return [_item("star_tree", tuple(ordered), queries, saved, times, size, reason, command, tried)]


def _is_for_a_tree(each: TriedAsking) -> bool:
    fingerprint, use = each.asking.fingerprint, each.asking.use
    plain = all(leaf.operator in _TREE_CONDITIONS for leaf in leaves(use.predicate))
    known = all(function in _MEASURES and len(columns) <= 1 for function, columns in fingerprint.aggregates)
    return (
        len(fingerprint.uses) == 1
        and bool(fingerprint.aggregates)
        and not fingerprint.plain
        and not use.is_partial
        and plain
        and known
    )


def _dimensions(each: TriedAsking) -> frozenset[str]:
    use = each.asking.use
    return frozenset((*(name for leaf in leaves(use.predicate) for name in leaf.columns), *use.group_keys, *use.join_keys))


def _measure(function: str, columns: tuple[str, ...]) -> str:
    return f"{function}({', '.join(columns) or '*'})"


def _in_order(dimensions: frozenset[str], table: TableStatistics) -> list[str]:
    """The most values first, which keeps copies for stars small; time last."""

    def rank(name: str) -> tuple[bool, float, str]:
        column = table.column(name)
        is_time = column is not None and (column.type or "").startswith(_TIMES)
        return is_time, -((column.cardinality if column is not None else None) or 0.0), name

    return sorted(dimensions, key=rank)


def _tree_rows(rows: Any, dimensions: frozenset[str], tried: TriedTable) -> int:
    """Combinations of values in the table, by those in the sample: who was seen once stands for others (GEE, as in collect.py)."""
    grouped = rows.group_by(sorted(dimensions)).aggregate([([], "count_all")])
    counts = np.asarray(grouped.column("count_all"))
    once = int(np.count_nonzero(counts == 1))
    whole = tried.table.rows or len(rows)
    return min(whole, round(math.sqrt(max(1.0, whole / len(rows))) * once) + len(counts) - once)


def _item(
    kind: str,
    columns: tuple[str, ...],
    queries: Sequence[str],
    saved: float,
    times: Sequence[float],
    size: int | None,
    reason: str,
    command: str,
    tried: TriedTable,
) -> Item:
    return Item(
        kind=kind,
        table=tried.table.name,
        columns=columns,
        queries=tuple(queries),
        gain_bytes=saved,
        gain_ms=math.fsum(times) if times else None,
        cost_bytes=size,
        reason=reason,
        command=command,
        days=tried.days,
    )
