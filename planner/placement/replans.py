"""One query is planned again after each of its stages: what an answer says for the plans before and behind it."""

from __future__ import annotations

from collections.abc import Sequence

from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import Proposed
from planner.placement.gates import Placement
from planner.plan.nodes import BROADCAST, Scan
from planner.plan.proposals import Entry, Proposal
from planner.plan.tree import Plan
from planner.reasons import BY_SIZE


def told_entries(plan: Plan, settings: PlanSettings, entries: Sequence[Entry], placement: Placement) -> tuple[Entry, ...]:
    """The entries, those that are not placed with their reason.

    What came over the equality of another join and is not placed is left out: the key has its own candidate, and where many joins
    share one key there are many such ways. Unless an earlier plan of the query had it placed: then it is told why not now.
    """
    found: list[Entry] = []
    number = -1
    for entry in entries:
        number += entry.proposal is not None
        refusal = None if entry.proposal is None else placement.refused.get(number)
        if refusal is None or _is_told(plan, settings, entry):
            found.append(entry if refusal is None else entry.refused(refusal))
    return tuple(found)


def _is_told(plan: Plan, settings: PlanSettings, entry: Entry) -> bool:
    """Whether a filter that is not placed is a candidate all the same."""
    across = entry.proposal is not None and entry.proposal.across is not None
    return not across or settings.placed_before(entry.key_id(plan.join(entry.join).join_type))


def unsettled_scans(plan: Plan, proposed: Proposed, placement: Placement) -> tuple[int, ...]:
    """Of all scans those for which other sizes may bring another answer.

    They have a filter that is placed without knowing sizes, or one that was refused for the sizes that were expected.
    """
    found = {scan for (_, scan), each in placement.forecasts.items() if each.gain_ms is None}
    for number, refusal in placement.refused.items():
        if refusal.reason in BY_SIZE:
            found |= _scans_of(plan, proposed.proposals[number])
    return tuple(sorted(found))


def _scans_of(plan: Plan, proposal: Proposal) -> set[int]:
    """The filter's scan; of a shuffled join those of the build side too, which may be filtered from the other side instead."""
    sources = () if plan.join(proposal.join).kind == BROADCAST else plan.subtree(proposal.source)
    return {proposal.scan, *(node.id for node in sources if isinstance(node, Scan))}
