"""For which scans a re-plan may bring another answer: what there is to learn from the sizes of stages that have run by then."""

from __future__ import annotations

from collections.abc import Sequence

from planner.legality.proposals import Proposal
from planner.placement.gates import Placement
from planner.plan.nodes import BROADCAST, Join, Scan
from planner.plan.tree import Plan
from planner.reasons import BY_SIZE


def unsettled_scans(plan: Plan, proposals: Sequence[Proposal], placement: Placement) -> tuple[int, ...]:
    """Of all scans, those with a filter that is placed without knowing sizes, and those that `_of_refusal` names."""
    found = {scan for (_, scan), each in placement.forecasts.items() if each.net_ms is None}
    for number, refusal in placement.refused.items():
        if refusal.reason in BY_SIZE:
            found |= _of_refusal(plan, proposals[number])
    return tuple(sorted(found))


def _of_refusal(plan: Plan, proposal: Proposal) -> set[int]:
    """The scans that concern a filter which was refused for the sizes that were expected.

    Its own; of a shuffled join those of the build side too, which may be filtered from the other side instead.
    """
    scan, join = plan.nodes[proposal.scan], plan.nodes[proposal.join]
    assert isinstance(scan, Scan) and isinstance(join, Join)
    sources = () if join.kind == BROADCAST else plan.subtree(proposal.source)
    return {scan.id, *(node.id for node in sources if isinstance(node, Scan))}
