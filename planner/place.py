"""Which of the filters that would be right are placed: no stage waits in a circle, and none waits for what is not worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.estimates import LEAST_SHARE, Estimates, Reduction
from planner.forecast import Forecast, forecast, refuse_fill, refuse_wait
from planner.hints import settings_for
from planner.nodes import Plan, Scan
from planner.propose import Proposal, traits_of_proposal
from planner.reasons import GATE_OFF, SHARED_EXCHANGE, WOULD_WAIT_IN_A_CIRCLE, Refusal
from planner.settings import PlanSettings
from planner.shared import not_on_every_copy, place_in
from planner.stages import Waits, open_numbers

NOT_EVERYWHERE = Refusal(
    SHARED_EXCHANGE, "Its rows are computed once for several places of the query, and the filter is not right for all."
)
GATES_ARE_OFF = Refusal(GATE_OFF, "The scan would have to wait for the build side, and rtfilter.gate.enabled is false.")
NO_CIRCLE = Refusal(WOULD_WAIT_IN_A_CIRCLE, "The build side itself waits for the stage of this scan.")


@dataclass(slots=True)
class _Forecasts:
    """The forecasts of a plan's filters: one for each join and each scan that it filters, by however many keys, made once.

    Equal joins and scans below equal exchanges share theirs: what is decided by it must not differ between them.
    """

    estimates: Estimates
    settings: PlanSettings
    by_join_and_scan: dict[tuple[int, int], Forecast] = field(default_factory=dict)
    _by_place: dict[object, Forecast] = field(default_factory=dict)
    _numbers: tuple[int, ...] = ()

    def refuse(self, proposal: Proposal) -> Refusal | None:
        """Why a filter is not expected to pay."""
        plan = self.estimates.plan
        if not self._numbers:
            self._numbers = open_numbers(plan)
        place = place_in(plan, self._numbers, proposal.join), place_in(plan, self._numbers, proposal.scan)
        if place not in self._by_place:
            observed = _observed_share(plan, self.settings, proposal)
            self._by_place[place] = forecast(self.estimates, self.settings, proposal, observed)
        expected = self.by_join_and_scan[proposal.join, proposal.scan] = self._by_place[place]
        scan = plan.nodes[proposal.scan]
        assert isinstance(scan, Scan)
        if settings_for(self.settings, scan.hints, scan.table).always:
            return None
        return (refuse_wait if proposal.gate else refuse_fill)(expected, proposal.columns[0].table)


def judge_proposals(
    estimates: Estimates, settings: PlanSettings, proposals: Sequence[Proposal]
) -> tuple[dict[int, Refusal], dict[tuple[int, int], Forecast]]:
    """By number: why a proposal is not placed; the others are, all together. And the forecasts, by join and scan.

    What need not wait counts first, then the smallest source: what it filters may be the source of another one, which counts
    reduced from then on, and so does the scan for the next filter of it.
    """
    plan = estimates.plan
    refused = {number: NOT_EVERYWHERE for number in not_on_every_copy(plan, dict(enumerate(proposals)))}
    forecasts = _Forecasts(estimates, settings)
    by_source: dict[int, list[int]] = defaultdict(list)
    reduced: set[tuple[int, int]] = set()
    for number, proposal in enumerate(proposals):
        if number in refused:
            continue
        if proposal.gate:
            by_source[proposal.source].append(number)
        elif (refusal := forecasts.refuse(proposal)) is not None:
            refused[number] = refusal
        else:
            _count_reduced(estimates, settings, proposal, reduced)
    waits = Waits(plan)
    while by_source:
        source = min(by_source, key=lambda node: (_bytes(estimates, node), node))
        for number in by_source.pop(source):
            refusal = _refuse_gate(forecasts, waits, proposals[number])
            if refusal is not None:
                refused[number] = refusal
                continue
            waits.add(proposals[number].scan, source)
            _count_reduced(estimates, settings, proposals[number], reduced)
    placed = {number: proposal for number, proposal in enumerate(proposals) if number not in refused}
    refused.update(dict.fromkeys(not_on_every_copy(plan, placed), NOT_EVERYWHERE))
    return refused, forecasts.by_join_and_scan


def _bytes(estimates: Estimates, source: int) -> float:
    size = estimates.size_of(source)
    return float("inf") if size is None else size.bytes


def _refuse_gate(forecasts: _Forecasts, waits: Waits, proposal: Proposal) -> Refusal | None:
    if not forecasts.settings.gate_enabled:
        return GATES_ARE_OFF
    return forecasts.refuse(proposal) or (NO_CIRCLE if waits.would_close_a_circle(proposal.scan, proposal.source) else None)


def _count_reduced(estimates: Estimates, settings: PlanSettings, proposal: Proposal, reduced: set[tuple[int, int]]) -> None:
    """Each join counts once for a scan, by however many keys. What came across an equality shows in that join's sizes.

    What the filter let through the last time, with the same literals, says more than an estimate.
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
    """The share of rows that the filter let through the last time; other literals than its own say nothing of it."""
    observation = None if settings.recall is None else settings.recall(traits_of_proposal(plan, proposal))
    return None if observation is None else observation.kept


def keep_consistent(estimates: Estimates, placed: Mapping[int, Proposal]) -> dict[int, Refusal]:
    """Why filters that were added to placed ones can't stay: the same rule for shared exchanges once more."""
    return dict.fromkeys(not_on_every_copy(estimates.plan, placed), NOT_EVERYWHERE)
