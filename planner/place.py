"""Which of the filters that would be right are placed: no stage waits in a circle, and none waits for what is not worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.cost import may_wait_for
from planner.estimates import LEAST_SHARE, Estimates, Reduction
from planner.hints import settings_for
from planner.nodes import Plan, Scan
from planner.observed import share_observed
from planner.propose import Proposal, traits_of_proposal
from planner.reasons import BUILD_NOT_SMALLER, GATE_OFF, SHARED_EXCHANGE, WOULD_WAIT_IN_A_CIRCLE, Refusal
from planner.settings import PlanSettings
from planner.shared import not_on_every_copy
from planner.stages import Waits

NOT_EVERYWHERE = Refusal(
    SHARED_EXCHANGE, "Its rows are computed once for several places of the query, and the filter is not right for all."
)
GATES_ARE_OFF = Refusal(GATE_OFF, "The scan would have to wait for the build side, and rtfilter.gate.enabled is false.")
NO_CIRCLE = Refusal(WOULD_WAIT_IN_A_CIRCLE, "The build side itself waits for the stage of this scan.")


def refuse_proposals(estimates: Estimates, settings: PlanSettings, proposals: Sequence[Proposal]) -> dict[int, Refusal]:
    """By number: why a proposal is not placed. The others are, all together.

    The smallest source goes first: what it filters may be the source of another one, which counts reduced from then on.
    """
    plan = estimates.plan
    refused = {number: NOT_EVERYWHERE for number in not_on_every_copy(plan, dict(enumerate(proposals)))}
    by_source: dict[int, list[int]] = defaultdict(list)
    reduced: set[tuple[int, int]] = set()
    for number, proposal in enumerate(proposals):
        if number in refused:
            continue
        if not proposal.gate:
            _count_reduced(estimates, settings, proposal, reduced)
        elif not settings.gate_enabled:
            refused[number] = GATES_ARE_OFF
        else:
            by_source[proposal.source].append(number)
    waits = Waits(plan)
    while by_source:
        source = min(by_source, key=lambda node: (_bytes(estimates, node), node))
        for number in by_source.pop(source):
            refusal = _refuse_gate(estimates, settings, waits, proposals[number])
            if refusal is not None:
                refused[number] = refusal
                continue
            waits.add(proposals[number].scan, source)
            _count_reduced(estimates, settings, proposals[number], reduced)
    placed = {number: proposal for number, proposal in enumerate(proposals) if number not in refused}
    return {**refused, **dict.fromkeys(not_on_every_copy(plan, placed), NOT_EVERYWHERE)}


def _bytes(estimates: Estimates, source: int) -> float:
    size = estimates.size_of(source)
    return float("inf") if size is None else size.bytes


def _refuse_gate(estimates: Estimates, settings: PlanSettings, waits: Waits, proposal: Proposal) -> Refusal | None:
    scan = estimates.plan.nodes[proposal.scan]
    assert isinstance(scan, Scan)
    size = estimates.size_of(proposal.source)
    always = settings_for(settings, scan.hints, scan.table).always
    if not always and not may_wait_for(size, scan):
        estimated = _text(None if size is None else size.bytes)
        return Refusal(
            BUILD_NOT_SMALLER,
            f"The build side is estimated at {estimated}: not a third, at most, of {scan.table} with {_text(scan.bytes)}.",
        )
    return NO_CIRCLE if waits.would_close_a_circle(proposal.scan, proposal.source) else None


def _text(size_bytes: float | None) -> str:
    return "an unknown number of bytes" if size_bytes is None else f"{size_bytes:,.0f} bytes"


def _count_reduced(estimates: Estimates, settings: PlanSettings, proposal: Proposal, reduced: set[tuple[int, int]]) -> None:
    """Each join counts once for a scan, by however many keys. What came across an equality shows in that join's sizes.

    What the filter let through the last time says more than an estimate.
    """
    if proposal.across or (proposal.join, proposal.scan) in reduced:
        return
    kept = _observed_share(estimates.plan, settings, proposal)
    size = estimates.size_of(proposal.source)
    if kept is None and size is not None:
        kept = size.kept
    if kept is not None:
        reduced.add((proposal.join, proposal.scan))
        estimates.reduce(Reduction(proposal.scan, proposal.join, max(kept, LEAST_SHARE)))


def _observed_share(plan: Plan, settings: PlanSettings, proposal: Proposal) -> float | None:
    if not settings.observed:
        return None
    traits = traits_of_proposal(plan, proposal)
    return share_observed(settings.observed.get(traits.key), traits)


def keep_consistent(estimates: Estimates, placed: Mapping[int, Proposal]) -> dict[int, Refusal]:
    """Why filters that were added to placed ones can't stay: the same rule for shared exchanges once more."""
    return dict.fromkeys(not_on_every_copy(estimates.plan, placed), NOT_EVERYWHERE)
