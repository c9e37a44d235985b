"""Which of the filters that would be right are placed: no stage waits in a circle, and none waits for what is not worth it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from planner.cost.forecast import Forecast, forecast, refuse_fill, refuse_wait
from planner.cost.history import observation_of
from planner.cost.sizes import LEAST_SHARE, Estimates, Reduction
from planner.inputs.filter_history import Observed
from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import settings_for
from planner.legality.exchange_copies import Proposed, not_on_every_copy
from planner.plan.nodes import Exchange, QueryStage
from planner.plan.proposals import Proposal, feeds
from planner.plan.stages import RESULT, Unit, unit_named
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

    `forecasts` are by join and scan, and `estimates` count what is placed. `holds_rows`: by source, the most rows of one of its
    stages with which what was planned for it holds; empty while placements are compared.
    """

    refused: Mapping[int, Refusal]
    forecasts: Mapping[tuple[int, int], Forecast]
    estimates: Estimates
    holds_rows: Mapping[int, int] = field(default_factory=dict)


def place_filters(
    estimates: Estimates, settings: PlanSettings, proposed: Proposed, on_credit: AbstractSet[object] = frozenset()
) -> Placement:
    """What becomes of each proposal; `estimates` count what is placed from here on.

    Filters whose places are in `on_credit` may cost more by their wait than they bring by themselves. What need not wait counts
    first, then what is there already, then the smallest source: what it filters may be the source of another one, which counts
    reduced from then on, and so does the scan for the next filter of it.
    """
    plan, proposals = estimates.plan, proposed.proposals
    judge = _Judge(estimates, settings, proposed, on_credit, WaitGraph(plan))
    by_turn: dict[int | None, list[int]] = defaultdict(list)
    for number, proposal in enumerate(proposals):
        if number not in proposed.lonely:
            by_turn[proposal.source if proposal.gate else None].append(number)
    while by_turn:
        turn = min(by_turn, key=lambda source: _turn(estimates, source))
        for number in by_turn.pop(turn):
            judge.judge(number)
    refused = {**dict.fromkeys(proposed.lonely, NOT_EVERYWHERE), **judge.refused}
    placed = {number: proposal for number, proposal in enumerate(proposals) if number not in refused}
    refused.update(dict.fromkeys(not_on_every_copy(plan, placed), NOT_EVERYWHERE))
    return Placement(refused, judge.forecasts, estimates)


def _turn(estimates: Estimates, source: int | None) -> tuple[bool, bool, float, int]:
    """By what sources take turns, None for all that need not wait: what is there reduces others whatever its size is."""
    if source is None:
        return False, False, 0.0, -1
    node, size = estimates.plan.nodes[source], estimates.size_of(source)
    there = isinstance(node, QueryStage) and node.materialized
    return True, not there, float("inf") if size is None else size.bytes, source


@dataclass(slots=True)
class _Judge:
    """Judges the proposals of a plan, each beside what was placed before it.

    There is one forecast for each join and each scan that it filters, by however many keys. Equal joins and scans below equal
    exchanges share theirs: what is decided by it must not differ between them.
    """

    estimates: Estimates
    settings: PlanSettings
    proposed: Proposed
    on_credit: AbstractSet[object]
    waits: WaitGraph
    refused: dict[int, Refusal] = field(default_factory=dict)
    forecasts: dict[tuple[int, int], Forecast] = field(default_factory=dict)
    _by_place: dict[object, Forecast] = field(default_factory=dict)
    _refused_feeders: list[Proposal] = field(default_factory=list)
    _reduced: set[tuple[int, int]] = field(default_factory=set)

    def judge(self, number: int) -> None:
        """Refuses a proposal, or counts it as placed from here on."""
        proposal = self.proposed.proposals[number]
        refusal = self._refuse(proposal, self.proposed.places[number])
        if refusal is not None:
            self.refused[number] = refusal
            return
        if proposal.gate:
            self.waits.add(proposal.scan, proposal.source)
        self._count_reduced(proposal)

    def _refuse(self, proposal: Proposal, place: object) -> Refusal | None:
        if not proposal.gate:
            return self._refuse_by_worth(proposal, place)
        if not self.settings.gate_enabled:
            return GATES_ARE_OFF
        refusal = self._refuse_by_worth(proposal, place)
        if refusal is None and self.waits.would_close_a_circle(proposal.scan, proposal.source):
            return NO_CIRCLE
        return refusal

    def _refuse_by_worth(self, proposal: Proposal, place: object) -> Refusal | None:
        """Why a filter is not expected to pay."""
        if place not in self._by_place:
            self._by_place[place] = forecast(self.estimates, self.settings, proposal, self._observed(proposal))
        expected = self.forecasts[proposal.join, proposal.scan] = self._by_place[place]
        scan = self.estimates.plan.scan(proposal.scan)
        if settings_for(self.settings, scan.hints, scan.table).always:
            return None
        refusal = (refuse_wait if proposal.gate else refuse_fill)(expected, proposal.columns[0].table)
        if refusal is None or refusal.reason != WAIT_DOES_NOT_PAY:
            return refusal
        if place in self.on_credit:
            return None
        self._refused_feeders.append(proposal)
        return refusal

    def _observed(self, proposal: Proposal) -> Observed | None:
        """The share of rows that the filter let through the last time; other literals than its own say nothing of it.

        Filters that could reduce its build side and are refused now may have been placed then: without them it is no less. Those
        that are placed now, or at work, may not have been: with them it is no more.
        """
        observation = observation_of(self.estimates.plan, self.settings, proposal)
        if observation is None or observation.kept is None:
            return None
        fed = any(feeds(self.estimates.plan, other, proposal.source) for other in self._refused_feeders)
        size, unfiltered = self.estimates.size_of(proposal.source), self.estimates.rows_without_filters(proposal.source)
        had_more = size is not None and unfiltered is not None and observation.had_more(unfiltered, size.rows)
        return Observed(observation.kept, observation.packs, at_least=fed, at_most=had_more)

    def _count_reduced(self, proposal: Proposal) -> None:
        """Each join counts once for a scan, by however many keys.

        What the filter let through the last time, with the same literals, says more than an estimate.
        """
        at = proposal.join, proposal.scan
        if at in self._reduced:
            return
        observed, size = self._observed(proposal), self.estimates.size_of(proposal.source)
        estimated = None if size is None else size.kept
        kept = estimated if observed is None else observed.share_of(estimated)
        if kept is None:
            return
        passed = self.forecasts[at].work.kept
        columns = tuple(column.column for column in proposal.columns)
        shares = max(kept, LEAST_SHARE), max(kept if passed is None else passed, LEAST_SHARE)
        self._reduced.add(at)
        across = proposal.across is not None
        self.estimates.reduce(Reduction(proposal.scan, proposal.shows_in, *shares, columns=columns, across=across))


@dataclass(slots=True)
class WaitGraph:
    """Which stage has to wait for which: by the plan, and by the gates that are added.

    Equal exchanges are computed once, so they are one stage here, which waits for all that any of them waits for.
    """

    plan: Plan
    _on: dict[Unit, set[Unit]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for node in self.plan.nodes:
            if isinstance(node, Exchange | QueryStage):
                self._on[self.unit_above(node.id)].add(unit_named(node))

    def unit_above(self, node: int) -> Unit:
        """The stage that a node's rows are read in: that of the nearest exchange above it."""
        above = next((each for each in self.plan.ancestors(node) if isinstance(each, Exchange | QueryStage)), None)
        return RESULT if above is None else unit_named(above)

    def would_close_a_circle(self, scan: int, source: int) -> bool:
        """Whether the stage of `scan` can't wait for `source`, because that waits for it, over however many others."""
        waiting = self.unit_above(scan)
        start = self._unit(source)
        return waiting == start or any(unit == waiting for unit in self._reached_from(start))

    def add(self, scan: int, source: int) -> None:
        """A gate: the stage of `scan` waits for `source`."""
        self._on[self.unit_above(scan)].add(self._unit(source))

    def _unit(self, source: int) -> Unit:
        return unit_named(self.plan.source(source))

    def _reached_from(self, start: Unit) -> Iterator[Unit]:
        seen, stack = {start}, [start]
        while stack:
            for unit in self._on.get(stack.pop(), ()):
                if unit not in seen:
                    seen.add(unit)
                    stack.append(unit)
                    yield unit
