"""Which of the filters that would be right are placed: no stage waits in a circle, and none waits for what is not worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from planner.cost.forecast import Forecast, forecast, refuse_fill, refuse_wait
from planner.cost.sizes import LEAST_SHARE, Estimates, Reduction
from planner.inputs.filter_history import Observed
from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import settings_for
from planner.legality.exchange_copies import not_on_every_copy, place_in
from planner.legality.proposals import Proposal, traits_of_proposal
from planner.placement.wait_graph import Waits
from planner.plan.nodes import QueryStage, Scan
from planner.plan.stages import open_numbers
from planner.plan.tree import Plan
from planner.reasons import GATE_OFF, SHARED_EXCHANGE, WAIT_DOES_NOT_PAY, WOULD_WAIT_IN_A_CIRCLE, Refusal

NOT_EVERYWHERE = Refusal(
    SHARED_EXCHANGE,
    "The scan's rows are computed once for several places of the query, and the filter is right for some of them only.",
)
GATES_ARE_OFF = Refusal(
    GATE_OFF, "The scan would have to wait for the build side, and rtfilter.gate.enabled or spark.sql.exchange.reuse is false."
)
NO_CIRCLE = Refusal(WOULD_WAIT_IN_A_CIRCLE, "The build side itself waits for the stage of this scan.")


@dataclass(frozen=True, slots=True)
class Placement:
    """By number, why a proposal is not placed; the others are, all together.

    `forecasts` are by join and scan, and `estimates` count what is placed.
    """

    refused: Mapping[int, Refusal]
    forecasts: Mapping[tuple[int, int], Forecast]
    estimates: Estimates


@dataclass(slots=True)
class _Forecasts:
    """The forecasts of a plan's filters: one for each join and each scan that it filters, by however many keys, made once.

    Equal joins and scans below equal exchanges share theirs: what is decided by it must not differ between them.
    """

    estimates: Estimates
    settings: PlanSettings
    on_credit: AbstractSet[object]
    refused_feeders: list[Proposal] = field(default_factory=list)
    by_join_and_scan: dict[tuple[int, int], Forecast] = field(default_factory=dict)
    _by_place: dict[object, Forecast] = field(default_factory=dict)
    _numbers: tuple[int, ...] = ()

    def refuse(self, proposal: Proposal) -> Refusal | None:
        """Why a filter is not expected to pay."""
        plan = self.estimates.plan
        if not self._numbers:
            self._numbers = open_numbers(plan)
        place = place_of(plan, self._numbers, proposal)
        if place not in self._by_place:
            observed = self.observed(proposal)
            self._by_place[place] = forecast(self.estimates, self.settings, proposal, observed)
        expected = self.by_join_and_scan[proposal.join, proposal.scan] = self._by_place[place]
        scan = plan.nodes[proposal.scan]
        assert isinstance(scan, Scan)
        if settings_for(self.settings, scan.hints, scan.table).always:
            return None
        refusal = (refuse_wait if proposal.gate else refuse_fill)(expected, proposal.columns[0].table)
        if refusal is None or refusal.reason != WAIT_DOES_NOT_PAY:
            return refusal
        if place in self.on_credit:
            return None
        self.refused_feeders.append(proposal)
        return refusal

    def observed(self, proposal: Proposal) -> Observed | None:
        """The share of rows that the filter let through the last time; other literals than its own say nothing of it.

        Filters that could reduce its build side and are refused now may have been placed then: without them it is no less. Those
        that are placed now, or at work, may not have been: with them it is no more.
        """
        plan = self.estimates.plan
        recall = self.settings.recall
        observation = None if recall is None else recall(traits_of_proposal(plan, self.settings, proposal))
        if observation is None or observation.kept is None:
            return None
        fed = any(feeds(plan, other, proposal.source) for other in self.refused_feeders)
        size, unfiltered = self.estimates.size_of(proposal.source), self.estimates.rows_without_filters(proposal.source)
        had_more = size is not None and unfiltered is not None and observation.had_more(unfiltered, size.rows)
        return Observed(observation.kept, observation.packs, at_least=fed, at_most=had_more)


def feeds(plan: Plan, feeder: Proposal, source: int) -> bool:
    """Whether a filter reduces what a build side's `source` puts out; a join of the build side itself does so without any."""
    return plan.is_below(feeder.scan, source) and not plan.is_below(feeder.shows_in, source)


def place_of(plan: Plan, numbers: Sequence[int], proposal: Proposal) -> object:
    """Which filter a proposal is part of: the same for copies of it below exchanges that produce the same data."""
    return place_in(plan, numbers, proposal.join), place_in(plan, numbers, proposal.scan)


def place_filters(
    estimates: Estimates, settings: PlanSettings, proposals: Sequence[Proposal], on_credit: AbstractSet[object] = frozenset()
) -> Placement:
    """What becomes of each proposal; `estimates` count what is placed from here on.

    Filters whose places (`place_of`) are in `on_credit` may cost more by their wait than they bring by themselves. What need not
    wait counts first, then what is there already, then the smallest source: what it filters may be the source of another one, which
    counts reduced from then on, and so does the scan for the next filter of it.
    """
    plan = estimates.plan
    refused = {number: NOT_EVERYWHERE for number in not_on_every_copy(plan, dict(enumerate(proposals)))}
    forecasts = _Forecasts(estimates, settings, on_credit)
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
            _count_reduced(forecasts, proposal, reduced)
    waits = Waits(plan)
    while by_source:
        source = min(by_source, key=lambda node: (*_turn(estimates, node), node))
        for number in by_source.pop(source):
            refusal = _refuse_gate(forecasts, waits, proposals[number])
            if refusal is not None:
                refused[number] = refusal
                continue
            waits.add(proposals[number].scan, source)
            _count_reduced(forecasts, proposals[number], reduced)
    placed = {number: proposal for number, proposal in enumerate(proposals) if number not in refused}
    refused.update(dict.fromkeys(not_on_every_copy(plan, placed), NOT_EVERYWHERE))
    return Placement(refused, forecasts.by_join_and_scan, estimates)


def _turn(estimates: Estimates, source: int) -> tuple[bool, float]:
    """By what sources take turns: what is there reduces others whatever its size is."""
    node, size = estimates.plan.nodes[source], estimates.size_of(source)
    there = isinstance(node, QueryStage) and node.materialized
    return not there, float("inf") if size is None else size.bytes


def _refuse_gate(forecasts: _Forecasts, waits: Waits, proposal: Proposal) -> Refusal | None:
    if not forecasts.settings.gate_enabled:
        return GATES_ARE_OFF
    return forecasts.refuse(proposal) or (NO_CIRCLE if waits.would_close_a_circle(proposal.scan, proposal.source) else None)


def _count_reduced(forecasts: _Forecasts, proposal: Proposal, reduced: set[tuple[int, int]]) -> None:
    """Each join counts once for a scan, by however many keys.

    What the filter let through the last time, with the same literals, says more than an estimate.
    """
    if (proposal.join, proposal.scan) in reduced:
        return
    observed, size = forecasts.observed(proposal), forecasts.estimates.size_of(proposal.source)
    estimated = None if size is None else size.kept
    kept = estimated if observed is None else observed.share_of(estimated)
    if kept is not None:
        passed = forecasts.by_join_and_scan[proposal.join, proposal.scan].work.kept
        columns = tuple(column.column for column in proposal.columns)
        shares = max(kept, LEAST_SHARE), max(kept if passed is None else passed, LEAST_SHARE)
        reduced.add((proposal.join, proposal.scan))
        forecasts.estimates.reduce(
            Reduction(proposal.scan, proposal.shows_in, *shares, columns=columns, across=proposal.across is not None)
        )


def keep_consistent(estimates: Estimates, placed: Mapping[int, Proposal]) -> dict[int, Refusal]:
    """Why filters that were added to placed ones can't stay: the same rule for shared exchanges once more."""
    return dict.fromkeys(not_on_every_copy(estimates.plan, placed), NOT_EVERYWHERE)
