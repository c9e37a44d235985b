"""Strategy `freq`: how many queries ask a column for certain values."""

from __future__ import annotations

from collections import defaultdict

from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.votes.selectivity import column_selectivity
from rtfilter.advice.workload.fingerprints import Exact, Workload, scanned
from rtfilter.advice.workload.predicates import BY_VALUE, leaves


def freq_votes(workload: Workload, tables: dict[str, TableStatistics], threshold: float = 1) -> dict[str, dict[str, Exact]]:
    """By table and column: the calls of queries with =, <>, IN or NOT IN on it; columns with S at or below `threshold` get none."""
    votes: dict[str, dict[str, Exact]] = defaultdict(lambda: defaultdict(int))
    for fingerprint, calls in workload.items():
        weight = scanned(calls)
        for use in fingerprint.uses:
            named = {leaf.column for leaf in leaves(use.predicate) if leaf.operator in BY_VALUE}
            for name in named if weight else ():
                if column_selectivity(tables[use.table].column(name)) > threshold:
                    votes[use.table][name] += weight
    return {table: dict(found) for table, found in votes.items()}
