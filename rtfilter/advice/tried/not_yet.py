"""What this version does not build: row indexes, which find pages.

They are listed with what they would save, judged on rows of sampled packs. They take no budget, and stand behind all other items.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from rtfilter.advice.packs.item import Item, path_of
from rtfilter.advice.statistics.tables import ColumnStatistics
from rtfilter.advice.trials.sorted_sample import sample_rows
from rtfilter.advice.tried.tried_table import TriedAsking, TriedTable
from rtfilter.advice.workload.predicates import EQUALITIES, And, Leaf, leaves

NOT_YET = "Not in this version."
# Spark ends a page after so many rows at the latest.
PAGE_ROWS = 20_000
# Of what the queries of a table read, to be worth a line.
LEAST_SHARE = 0.05


def not_in_this_version(tried: TriedTable, built: Sequence[Item]) -> list[Item]:
    """Row indexes, beside what else is advised."""
    rows = _rows(tried)
    if rows is None or not len(rows):
        return []
    indexes = (each for item in built if item.kind != "cluster_by" for each in item.kept)
    served = {each.query: each.after for each in indexes}
    return _row_indexes(tried, served, rows)


def _rows(tried: TriedTable) -> Any | None:
    """Rows of sampled packs with the columns that matter here."""
    values = {leaf.column for each in tried.asked for leaf in leaves(each.asking.use.predicate) if leaf.operator in EQUALITIES}
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
            found.append(
                Item(
                    kind="row_index",
                    table=tried.table.name,
                    columns=(name,),
                    queries=tuple(queries),
                    gain_bytes=math.fsum(saved),
                    gain_ms=math.fsum(ms) if ms else None,
                    cost_bytes=None,
                    reason=reason,
                    command=command,
                    days=tried.days,
                )
            )
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
