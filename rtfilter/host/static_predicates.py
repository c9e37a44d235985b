"""Static predicates: what the store knows of a scan's indexes for the planner, and a verdict as the planner's figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from planner.plan.nodes import Scan
from planner.plan.tree import Plan
from planner.reasons import Refusal
from planner.static.decide import StaticFigures
from planner.static.index_remarks import ScanIndex
from rtfilter.options import Options
from rtfilter.store.index_facts import IndexFacts, facts_of_indexes, roots_of_tables
from rtfilter.store.index_files.index_problems import INDEX_STALE
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.sketches.arrays import Bools

# Of a table that is read from more paths than that, indexes are looked for in the first ones.
MOST_ROOTS = 16


def indexes_of_scans(packs: PackStore, plan: Plan, case_sensitive: bool, options: Options) -> dict[int, tuple[ScanIndex, ...]]:
    """By scan: the indexes of the table behind it, for scans whose conditions the bridge has shown."""
    found = {}
    for scan in plan.nodes:
        if isinstance(scan, Scan) and scan.static:
            found[scan.id] = _indexes(packs, scan, case_sensitive, options)
    return found


def indexes_of_targets(
    packs: PackStore, plan: Plan, scans: Iterable[int], case_sensitive: bool, options: Options
) -> dict[int, tuple[ScanIndex, ...]]:
    """By scan: the indexes of the table behind it, for scans on which filters from joins are placed."""
    found = {}
    for number in sorted(set(scans)):
        scan = plan.nodes[number]
        if isinstance(scan, Scan):
            found[number] = _indexes(packs, scan, case_sensitive, options)
    return found


def _indexes(packs: PackStore, scan: Scan, case_sensitive: bool, options: Options) -> tuple[ScanIndex, ...]:
    roots = roots_of_tables(scan.roots[:MOST_ROOTS])
    columns = [(column.name, column.type) for column in scan.columns if not column.partition]
    facts = facts_of_indexes(
        packs.shelf,
        roots,
        columns,
        case_sensitive,
        options.store_location,
        options.store_cache_directory,
        packs.latest_coverage,
        options.index_max_stale,
    )
    return tuple(_scan_index(each) for each in facts)


def _scan_index(facts: IndexFacts) -> ScanIndex:
    remarks = tuple(Refusal(each.reason, each.text) for each in facts.remarks)
    if facts.is_usable:
        return ScanIndex(facts.name, facts.covers, None, remarks, facts.mistyped)
    return ScanIndex(facts.name, facts.covers, remarks[0])


def remarks_on_indexes(found: StoreVerdict) -> tuple[Refusal, ...]:
    """What there is to say of the indexes that a scan's packs were judged by, or would have been."""
    return tuple(Refusal(remark.reason, remark.text) for use in found.uses if (remark := use.remark) is not None)


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
        packs_told=found.packs_told,
        remarks=tuple(Refusal(INDEX_STALE, use.detail) for use in found.uses if not use.reason and use.remark),
        refusals=tuple(Refusal(use.reason, use.detail) for use in found.uses if use.reason),
    )


def with_static(keep: Bools, found: StoreVerdict, decision: Mapping[str, object] | None) -> Bools:
    """The packs that the static filter keeps too, where it is applied."""
    if decision is None or found.static_keep is None or decision["decision"] != "applied":
        return keep
    both: Bools = keep & found.static_keep
    return both
