"""How many rows the conditions on a scan leave, as stages that have finished tell: for a later plan with the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from planner.cost.sizes import share_kept
from planner.plan.filter_traits import digest_of, filter_above, literals_of, root_of
from planner.plan.nodes import WRAPPERS, Exchange, Filter, OtherNode, PlanNode, Project, QueryStage, Scan, Sort
from planner.plan.tree import Plan

# The format of scans that filters have been applied to.
NARROWED = "PackFormat"


def condition_key(plan: Plan, scan: Scan) -> str | None:
    """What names a table as it is now and all that the query asks of its rows; None where that can't be told."""
    literals = literals_of([scan, *filter_above(plan, scan)])
    return None if literals is None or scan.bytes is None else digest_of(root_of(scan), scan.bytes, literals)


def table_key(scan: Scan) -> str:
    """What names a table as it is now, whatever is asked of it."""
    return digest_of(root_of(scan), scan.bytes, "whole")


def rows_left(plan: Plan) -> Mapping[str, int]:
    """By `condition_key`: the rows that conditions have left, of scans that no filter has narrowed and whose rows come out of a
    finished stage as they are; and by `table_key` those of scans without conditions, of nulls aside."""
    found: dict[str, int] = {}
    for stage in plan.nodes:
        if isinstance(stage, QueryStage) and stage.materialized and stage.rows is not None:
            scan = _only_scan(plan, stage)
            key = None if scan is None else condition_key(plan, scan)
            if scan is not None and key is not None:
                found[key] = stage.rows
                if _is_whole(plan, scan):
                    found[table_key(scan)] = stage.rows
    return found


def _is_whole(plan: Plan, scan: Scan) -> bool:
    """Whether all rows of a table are asked for, nulls aside. What is asked of partitions the scan says, no filter above it."""
    above = filter_above(plan, scan)
    said = {node.literals for node in above} or {""}
    return said == {scan.literals} and all(share_kept(node.conjuncts) == 1.0 for node in above) and share_kept(scan.filters) == 1.0


def rows_to_see(plan: Plan) -> frozenset[str]:
    """The `condition_key` of scans of which it is not known how many rows their conditions leave, and a stage that has not finished
    will tell, if no filter narrows them."""
    finished = {node.children[0] for node in plan.nodes if isinstance(node, QueryStage) and node.materialized}
    open_ones = (node for node in plan.nodes if isinstance(node, Exchange) and node.children and node.id not in finished)
    scans = (_only_scan(plan, exchange) for exchange in open_ones)
    keys = (condition_key(plan, scan) for scan in scans if scan is not None and scan.left is None)
    return frozenset(key for key in keys if key is not None)


def with_rows_left(plan: Plan, seen: Callable[[str], int | None]) -> Plan:
    """The plan whose scans know how many rows their conditions left before; the plan itself where nothing is known."""
    known = {
        scan.id: rows
        for scan in plan.nodes
        if isinstance(scan, Scan) and (key := condition_key(plan, scan)) is not None and (rows := seen(key)) is not None
    }
    whole = {scan.id: rows for scan in plan.scans() if (rows := seen(table_key(scan))) is not None}
    if not known and not whole:
        return plan
    return replace(plan, nodes=tuple(_with_rows(node, known.get(node.id), whole.get(node.id)) for node in plan.nodes))


def _with_rows(node: PlanNode, left: int | None, whole: int | None) -> PlanNode:
    if not isinstance(node, Scan) or (left is None and whole is None):
        return node
    return replace(node, left=left, rows=whole if node.rows is None else node.rows)


def _only_scan(plan: Plan, stage: QueryStage | Exchange) -> Scan | None:
    """The scan whose rows a stage, or its exchange, puts out, one for one but for the conditions right above it."""
    at: PlanNode = plan.nodes[stage.children[0]]
    filters = []
    while not isinstance(at, Scan):
        if len(at.children) != 1 or not _hands_on(at):
            return None
        filters += [at] if isinstance(at, Filter) else []
        at = plan.nodes[at.children[0]]
    thinned = at.thinned or any(each.thinned for each in filters)
    return None if thinned or at.format == NARROWED or tuple(filters) not in ((), filter_above(plan, at)) else at


def _hands_on(node: PlanNode) -> bool:
    if isinstance(node, OtherNode):
        return node.op.startswith(WRAPPERS)
    return isinstance(node, Filter | Project | Sort | Exchange)
