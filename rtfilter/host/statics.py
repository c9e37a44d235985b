"""Static predicates: what the store knows of a scan's indexes for the planner, and a verdict as the planner's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.decide_static import StaticFigures
from planner.nodes import Plan, Scan
from planner.reasons import Refusal
from planner.static import ScanIndex, leaves_of
from rtfilter.store.index_facts import IndexFacts, facts_of_indexes
from rtfilter.store.index_use import INDEX_USED
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.sketches.arrays import Bools


def indexes_of_scans(
    packs: PackStore, plan: Plan, nodes: Sequence[Mapping[str, Any]], case_sensitive: bool, location: str
) -> dict[int, tuple[ScanIndex, ...]]:
    """By scan: the indexes of the table behind it, for scans whose conditions the bridge has shown."""
    found = {}
    for scan in plan.nodes:
        if isinstance(scan, Scan) and scan.static:
            leaves = frozenset[tuple[str, str]]().union(*(leaves_of(condition.test) for condition in scan.static))
            facts = facts_of_indexes(packs.shelf, nodes[scan.id].get("places") or (), leaves, case_sensitive, location)
            found[scan.id] = tuple(map(_scan_index, facts))
    return found


def _scan_index(facts: IndexFacts) -> ScanIndex:
    refusal = Refusal(facts.reason, facts.detail) if facts.reason else None
    return ScanIndex(facts.name, facts.covers, refusal, facts.remark)


def static_figures(filter_id: str, found: StoreVerdict) -> StaticFigures:
    """What the static predicate of a scan does to its packs."""
    assert found.static is not None, "a scan that has a static filter was judged by it"
    reject, accept, rows = found.static.reject, found.static.accept, found.packs.rows
    return StaticFigures(
        id=filter_id,
        packs_total=found.packs.packs_total,
        packs_rejected=int(np.count_nonzero(reject)),
        rows_total=found.packs.rows_total,
        rows_rejected=int(rows[reject].sum()),
        rows_sure=int(rows[accept & ~reject].sum()),
        remarks=tuple(use.detail for use in found.uses if use.reason == INDEX_USED and use.coverage.files_unknown),
        refusals=tuple(Refusal(use.reason, use.detail) for use in found.uses if use.reason != INDEX_USED),
    )


def with_static(keep: Bools, found: StoreVerdict, decision: Mapping[str, object] | None) -> Bools:
    """The packs that the static filter keeps too, where it is applied."""
    if decision is None or found.static_keep is None or decision["decision"] != "applied":
        return keep
    both: Bools = keep & found.static_keep
    return both
