"""Strategy `parser`: of conditions joined by AND the most selective ones, of conditions joined by OR all together."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.votes.selectivity import column_selectivity, leaf_selectivity
from rtfilter.advice.workload.fingerprints import Calls, Exact, Workload
from rtfilter.advice.workload.predicates import And, Leaf, Not, Or, Predicate, without_not

ORDER = 2


@dataclass(frozen=True, slots=True)
class Scored:
    """Columns that serve a condition together, and its selectivity."""

    columns: tuple[str, ...]
    selectivity: Fraction


def scored_items(predicate: Predicate | None, table: TableStatistics, order: int = ORDER) -> list[Scored]:
    """What is left of a predicate: at most `order` items, the most selective first."""
    return [] if predicate is None else _items(without_not(predicate), table, order)[:order]


def _items(predicate: Predicate, table: TableStatistics, order: int) -> list[Scored]:
    match predicate:
        case Leaf():
            s = leaf_selectivity(predicate, column_selectivity(table.column(predicate.column)))
            return [] if s is None else [Scored((predicate.column,), s)]
        case Not():
            return []
        case And(children):
            found = [item for child in children for item in _items(child, table, order)]
            return sorted(found, key=lambda item: (-item.selectivity, item.columns))[:order]
        case Or(children):
            arms = [_items(child, table, order) for child in children]
            # An arm that no index serves has every row looked at: the others' indexes would save nothing (Pinot counts them).
            if not all(arms):
                return []
            columns = tuple(dict.fromkeys(column for arm in arms for column in arm[0].columns))
            return [Scored(columns, 1 / sum((1 / arm[0].selectivity for arm in arms), Fraction(0)))]


@dataclass(frozen=True, slots=True)
class ParserVotes:
    """By table and column: entries saved, and the share of the calls on the table that it serves."""

    votes: dict[str, dict[str, Exact]]
    coverage: dict[str, dict[str, float]]


def parser_votes(workload: Workload, tables: dict[str, TableStatistics], threshold: float = 1, order: int = ORDER) -> ParserVotes:
    """The entries that an index on each column would have saved, a query counting once for a column.

    A query whose log line lacks the number of scanned entries counts with one column of its table.
    """
    votes: dict[str, dict[str, Exact]] = defaultdict(lambda: defaultdict(int))
    served: dict[str, dict[str, Exact]] = defaultdict(lambda: defaultdict(int))
    asked: dict[str, Exact] = defaultdict(int)
    for fingerprint, calls in workload.items():
        for use in fingerprint.uses:
            table = tables[use.table]
            if not (counting := _counting(calls, table)):
                continue
            asked[use.table] += counting
            best: dict[str, Fraction] = {}
            for item in scored_items(use.predicate, table, order):
                for column in item.columns if item.selectivity > threshold else ():
                    best.setdefault(column, item.selectivity)
            for column, selectivity in best.items():
                votes[use.table][column] += _saved(calls, table, selectivity)
                served[use.table][column] += counting
    coverage = {table: {name: float(weight / asked[table]) for name, weight in found.items()} for table, found in served.items()}
    return ParserVotes({table: dict(found) for table, found in votes.items()}, coverage)


def _entries(entries: int | None, table: TableStatistics) -> int:
    return entries if entries is not None else table.rows or 0


def _counting(calls: Calls, table: TableStatistics) -> Exact:
    return sum((weight for entries, weight in calls.entries.items() if _entries(entries, table) > 0), 0)


def _saved(calls: Calls, table: TableStatistics, selectivity: Fraction) -> Exact:
    return sum(
        (math.floor((1 - 1 / selectivity) * _entries(entries, table)) * weight for entries, weight in calls.entries.items()), 0
    )
