"""What filters let through in stages that have started: known since they were filled, and all that is until such a stage ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from planner.plan.nodes import OtherNode, PlanNode, Scan
from planner.plan.tree import Plan


def with_filters_at_work(plan: Plan, share_of: Callable[[str], float | None]) -> Plan:
    """The plan whose scans know what the filters in them let through; `share_of` an id is None where nobody knows."""
    passed = {scan.id: _passed(plan, scan, share_of) for scan in plan.scans()}
    if all(share == 1.0 for share in passed.values()):
        return plan
    return replace(plan, nodes=tuple(_with_share(node, passed) for node in plan.nodes))


def _passed(plan: Plan, scan: Scan, share_of: Callable[[str], float | None]) -> float:
    ids = set(scan.runs)
    for above in plan.ancestors(scan.id):
        # Rows are tested right above the scan, and above the conditions that Spark has there.
        if len(above.children) != 1:
            break
        ids |= set(above.runs) if isinstance(above, OtherNode) else set()
    return math.prod(share for each in ids if (share := share_of(each)) is not None)


def _with_share(node: PlanNode, passed: Mapping[int, float]) -> PlanNode:
    return replace(node, passed=passed[node.id]) if isinstance(node, Scan) and passed[node.id] != 1.0 else node
