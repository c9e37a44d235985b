"""Waits that pay by what a later filter gains: a filter of a build side's scan can be what makes that side select anything.

Of region, nation, supplier and lineitem only the last one is large enough for a wait to pay, and a filter of it selects nothing
unless suppliers are reduced to those of one region before. What reducing them costs is counted as a cost of that last filter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from planner.cost import least_gain_ms
from planner.estimates import Estimates
from planner.forecast import Forecast
from planner.place import Placement, feeds, place_filters, place_of
from planner.propose import Proposal
from planner.reasons import WAIT_DOES_NOT_PAY
from planner.settings import PlanSettings
from planner.stages import open_numbers

# Of so many feeders each is tried without; of more all are kept that some later filter gains by.
MOST_TRIED = 8


def judge_proposals(estimates: Estimates, settings: PlanSettings, proposals: Sequence[Proposal]) -> Placement:
    """What becomes of each proposal: what pays by itself is placed, and the waits by which later ones gain more than they cost."""
    chains = _Chains(estimates, settings, proposals, _places(estimates, proposals))
    alone = chains.placed(frozenset())
    feeders = chains.feeders(alone)
    if not feeders:
        return alone
    feeders = chains.that_serve(feeders, alone, chains.placed(feeders))
    best = chains.placed(feeders)
    if len(feeders) <= MOST_TRIED:
        for feeder in sorted(feeders, key=chains.places.index):
            fewer = chains.placed(feeders - {feeder})
            if chains.worth_ms(fewer) >= chains.worth_ms(best):
                feeders, best = feeders - {feeder}, fewer
    return chains.with_costs_moved(best, feeders) if chains.worth_ms(best) > chains.worth_ms(alone) else alone


def _places(estimates: Estimates, proposals: Sequence[Proposal]) -> tuple[object, ...]:
    numbers = open_numbers(estimates.plan)
    return tuple(place_of(estimates.plan, numbers, proposal) for proposal in proposals)


@dataclass(frozen=True, slots=True)
class _Chains:
    """The proposals of a plan, and by number the place of each: copies of one filter have the same."""

    estimates: Estimates
    settings: PlanSettings
    proposals: Sequence[Proposal]
    places: tuple[object, ...]

    def placed(self, feeders: AbstractSet[object]) -> Placement:
        """What is placed when the filters at these places need not pay by themselves."""
        return place_filters(self.estimates.copy(), self.settings, self.proposals, feeders)

    def feeders(self, alone: Placement) -> frozenset[object]:
        """The places of filters that don't pay by themselves and reduce what another one is read from."""
        return frozenset(
            self.places[number]
            for number, refusal in alone.refused.items()
            if refusal.reason == WAIT_DOES_NOT_PAY and self._served_by(number)
        )

    def that_serve(self, feeders: AbstractSet[object], alone: Placement, together: Placement) -> frozenset[object]:
        """Those of the feeders by which some filter that pays by itself is worth more than it was without any of them."""
        before, after = self._worth_by_place(alone), self._worth_by_place(together)
        better = {place for place, worth_ms in after.items() if worth_ms > max(before.get(place, 0.0), 0.0)}
        paying = self._paying(together, feeders)
        return frozenset(place for place in feeders if paying.get(place, frozenset()) & better)

    def worth_ms(self, placement: Placement) -> float:
        """What all placed filters are expected to gain beyond what makes each worth its wait."""
        return sum(self._worth_by_place(placement).values())

    def with_costs_moved(self, placement: Placement, feeders: AbstractSet[object]) -> Placement:
        """The placement with the costs of feeders where the gain is: equal parts with each filter that pays by itself."""
        forecasts = dict(placement.forecasts)
        by_place = self._forecasts_by_place(placement)
        more_ms: dict[object, float] = defaultdict(float)
        for feeder, paying in self._paying(placement, feeders).items():
            cost_ms = by_place[feeder].cost_ms or 0.0
            more_ms[feeder] -= cost_ms
            for place in paying:
                more_ms[place] += cost_ms / len(paying)
        for number, place in enumerate(self.places):
            at = self.proposals[number].join, self.proposals[number].scan
            if place in more_ms and at in forecasts:
                forecasts[at] = _with_more_cost(placement.forecasts[at], more_ms[place])
        return replace(placement, forecasts=forecasts)

    def _served_by(self, number: int) -> Sequence[int]:
        """The other proposals whose build side this one would reduce."""
        plan, feeder = self.estimates.plan, self.proposals[number]
        return [
            other
            for other, proposal in enumerate(self.proposals)
            if self.places[other] != self.places[number] and feeds(plan, feeder, proposal)
        ]

    def _paying(self, placement: Placement, feeders: AbstractSet[object]) -> Mapping[object, frozenset[object]]:
        """By feeder that is placed: the placed filters at the ends of its chains, which pay by themselves."""
        placed = [number for number in range(len(self.proposals)) if number not in placement.refused]
        ends: dict[object, frozenset[object]] = {}
        for number in placed:
            place = self.places[number]
            if place in feeders:
                ends[place] = ends.get(place, frozenset()) | self._ends_from(number, placement, feeders)
        return {place: paying for place, paying in ends.items() if paying}

    def _ends_from(self, number: int, placement: Placement, feeders: AbstractSet[object]) -> frozenset[object]:
        found: set[object] = set()
        seen, stack = {number}, [number]
        while stack:
            for other in self._served_by(stack.pop()):
                if other in seen or other in placement.refused:
                    continue
                seen.add(other)
                if self.places[other] in feeders:
                    stack.append(other)
                else:
                    found.add(self.places[other])
        return frozenset(found)

    def _forecasts_by_place(self, placement: Placement) -> dict[object, Forecast]:
        return {
            self.places[number]: placement.forecasts[proposal.join, proposal.scan]
            for number, proposal in enumerate(self.proposals)
            if number not in placement.refused
        }

    def _worth_by_place(self, placement: Placement) -> dict[object, float]:
        return {place: _worth_ms(forecast) for place, forecast in self._forecasts_by_place(placement).items()}


def _worth_ms(forecast: Forecast) -> float:
    """What a filter is expected to gain beyond what makes it worth its wait; 0 where that is not known."""
    if forecast.gain_ms is None or forecast.cost_ms is None:
        return 0.0
    return forecast.gain_ms - least_gain_ms(forecast.cost_ms, forecast.gate_ms)


def _with_more_cost(forecast: Forecast, more_ms: float) -> Forecast:
    work = replace(forecast.work, wait_ms=max(forecast.work.wait_ms + more_ms, 0.0))
    return replace(forecast, work=work, cost_ms=max((forecast.cost_ms or 0.0) + more_ms, 0.0))
