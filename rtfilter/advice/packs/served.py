"""The queries that items help, each before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtfilter.advice.packs.item import Item
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint

# Kinds that are no index beside the table as it is.
_OTHERWISE = ("cluster_by", "row_index", "star_tree", "drop")


def served_queries(counting: Sequence[tuple[Fingerprint, Calls]], items: Sequence[Item]) -> list[dict[str, Any]]:
    """A dict for each kind of query that an index among the items helps, those with most calls first.

    `items`: the ranks of the indexes that help it. `before`, `after`: the shares of a table's packs that it keeps today and with
    all of them; None where no pack was tried.
    """
    found = []
    for fingerprint, calls in sorted(counting, key=lambda each: (-each[1].weight, each[0].id)):
        query = fingerprint.id
        mine = [(rank, item) for rank, item in enumerate(items, 1) if query in item.queries and item.kind not in _OTHERWISE]
        kept = [each for _, item in mine for each in item.kept if each.query == query]
        if mine:
            weight = calls.weight
            found.append(
                {
                    "query": query,
                    "shape": str(fingerprint),
                    "calls": int(weight) if weight == int(weight) else float(weight),
                    "ms": calls.total_ms,
                    "items": [rank for rank, _ in mine],
                    "before": round(max(each.before for each in kept), 4) if kept else None,
                    "after": round(min(each.after for each in kept), 4) if kept else None,
                }
            )
    return found
