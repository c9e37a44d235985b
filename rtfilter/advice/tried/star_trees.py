"""A star-tree for a table: the dimensions and measures of the queries that ask for aggregates only.

What it saves is judged on rows of sampled packs. It takes no part of the budget, which is for indexes.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from planner.counted import counted
from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.sorted_sample import sample_rows
from rtfilter.advice.tried.tried_table import TriedAsking, TriedTable
from rtfilter.advice.workload.predicates import EQUALITIES, Operator, leaves
from rtfilter.errors import IndexDefinitionError
from rtfilter.star_tree.measures import parse_measures
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import STORE_FOLDER
from rtfilter.store.parquet.paths import is_remote
from rtfilter.store.sketches.domain import domain_of
from rtfilter.store.tree_places import tree_places

NAME = "cube"
# Of what the queries of a table read, to be worth a line.
LEAST_SHARE = 0.05
# A tree of more rows than this share of the table's is none.
MOST_TREE_ROWS = 0.1
_MEASURES = frozenset(("count", "sum", "min", "max", "avg"))
_TREE_CONDITIONS = EQUALITIES | {Operator.RANGE, Operator.NOT_EQUAL, Operator.NOT_IN, Operator.IS_NULL, Operator.IS_NOT_NULL}
_TIMES = ("date", "timestamp")


def advised_tree(tried: TriedTable) -> list[Item]:
    """One tree for the table, of the dimensions of those queries that ask for aggregates only, the longest ones first."""
    rows = _rows(tried)
    if rows is None or not len(rows):
        return []
    usable = [(each, _dimensions(each)) for each in tried.asked if _is_for_a_tree(each, tried.table)]
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
    measures = tuple(sorted({_measure(*aggregate) for each in chosen for aggregate in each.asking.fingerprint.aggregates}))
    ordered = tuple(_in_order(dimensions, tried.table))
    if _is_there(tried.table, ordered, measures):
        return []
    named = ["--name", NAME, "--dimensions", ",".join(ordered), "--measures", ",".join(measures)]
    return [
        Item(
            kind="star_tree",
            table=tried.table.name,
            columns=ordered,
            queries=tuple(each.asking.fingerprint.id for each in chosen),
            gain_bytes=saved,
            gain_ms=math.fsum(times) if times else None,
            cost_bytes=tree_rows * 8 * (len(ordered) + len(measures)),
            reason=f"{counted(len(chosen), 'kind', 'kinds')} of queries ask for {', '.join(measures)} only; their dimensions have "
            f"about {tree_rows:,} combinations in {tried.table.rows:,} rows.",
            command=shlex.join(["rtfilter", "startree", "create", path_of(tried.table), *named]),
            days=tried.days,
            measures=measures,
        )
    ]


def _rows(tried: TriedTable) -> Any | None:
    """Rows of sampled packs with the columns that may be dimensions."""
    names = {name for each in tried.asked if _is_for_a_tree(each, tried.table) for name in _dimensions(each)}
    known = sorted(column.name for name in names if (column := tried.table.column(name)) is not None)
    return sample_rows(tried.trial.sample, known) if known else None


def _is_there(table: TableStatistics, dimensions: Sequence[str], measures: Sequence[str]) -> bool:
    """Whether a tree of the table answers the same already."""
    if table.path is None or is_remote(table.path):
        return False
    for place in tree_places([os.path.join(os.path.abspath(table.path), STORE_FOLDER)]):
        tree = read_log(LocalStorage(place)).tree
        if (
            tree is not None
            and set(dimensions) <= set(tree.definition.dimensions)
            and set(measures) <= set(tree.definition.measures)
        ):
            return True
    return False


def _is_for_a_tree(each: TriedAsking, table: TableStatistics) -> bool:
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
        and _is_held(fingerprint.aggregates, _dimensions(each), table)
    )


def _is_held(aggregates: Iterable[tuple[str, tuple[str, ...]]], dimensions: Iterable[str], table: TableStatistics) -> bool:
    """Whether a tree may hold these measures and dimensions, by their types; what is not known speaks not against it."""
    types = {column.name: column.type for column in table.columns.values() if column.type}
    try:
        measured = [_measure(*each) for each in aggregates if all(name in types for name in each[1])]
        if measured:
            parse_measures(list(dict.fromkeys(measured)), types)
    except IndexDefinitionError:
        return False
    return all(name not in types or domain_of(types[name]) is not None for name in dimensions)


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
