"""Waits that pay by what a later filter gains: a filter of a build side's scan can be what makes that side select anything.

Of region, nation, supplier and lineitem only the last one is large enough for a wait to pay, and a filter of it selects nothing
unless suppliers are reduced to those of one region before. What reducing them costs is counted as a cost of that last filter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from planner.cost.forecast import WAIT_MARGIN, Forecast
from planner.cost.sizes import Estimates, rows_that_hold
from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import Proposed
from planner.placement.gates import Placement, place_filters
from planner.plan.proposals import feeds
from planner.plan.tree import Plan
from planner.reasons import WAIT_DOES_NOT_PAY

# Looking for chains judges all proposals twice more, and once more for each feeder that is tried without. Neither is done where
# that would be more than so many in all: without the first no chain is found, without the second no feeder is left out again.
MOST_JUDGED = 1_000


def judge_proposals(estimates: Estimates, settings: PlanSettings, proposed: Proposed) -> Placement:
    """What becomes of each proposal: what pays by itself is placed, and the waits by which later ones gain more than they cost."""
    best = _best(estimates, settings, proposed)
    sources = {each.source for number, each in enumerate(proposed.proposals) if number not in best.refused}
    return replace(best, holds_rows={source: rows_that_hold(best.estimates, source) for source in sources})


def _best(estimates: Estimates, settings: PlanSettings, proposed: Proposed) -> Placement:
    alone = place_filters(estimates.copy(), settings, proposed)
    count = len(proposed.proposals)
    if 2 * count > MOST_JUDGED:
        return alone
    chains = _Chains(estimates, settings, proposed, alone, _serves(estimates.plan, proposed, alone))
    if not chains.serves:
        return alone
    together = chains.placed(frozenset(chains.serves))
    feeders = chains.that_serve(together)
    best = together if len(feeders) == len(chains.serves) else chains.placed(feeders)
    if len(feeders) * count <= MOST_JUDGED:
        for feeder in sorted(feeders, key=proposed.places.index):
            fewer = chains.placed(feeders - {feeder})
            if chains.worth_ms(fewer) >= chains.worth_ms(best):
                feeders, best = feeders - {feeder}, fewer
    return chains.with_costs_moved(best, feeders) if chains.worth_ms(best) > chains.worth_ms(alone) else alone


def _serves(plan: Plan, proposed: Proposed, alone: Placement) -> dict[object, frozenset[object]]:
    """By the place of a filter whose wait does not pay by itself, the places of those whose build side it would reduce."""
    by_source: dict[int, set[object]] = defaultdict(set)
    for proposal, place in zip(proposed.proposals, proposed.places, strict=True):
        by_source[proposal.source].add(place)
    serves: dict[object, set[object]] = defaultdict(set)
    for number, refusal in alone.refused.items():
        feeder, place = proposed.proposals[number], proposed.places[number]
        if refusal.reason == WAIT_DOES_NOT_PAY:
            for source, served in by_source.items():
                if feeds(plan, feeder, source):
                    serves[place] |= served - {place}
    return {place: frozenset(served) for place, served in serves.items() if served}


@dataclass(frozen=True, slots=True)
class _Chains:
    """What is placed without chains (`alone`), and who serves whom (`_serves`)."""

    estimates: Estimates
    settings: PlanSettings
    proposed: Proposed
    alone: Placement
    serves: Mapping[object, frozenset[object]]

    def placed(self, feeders: AbstractSet[object]) -> Placement:
        """What is placed when the filters at these places need not pay by themselves."""
        return place_filters(self.estimates.copy(), self.settings, self.proposed, feeders) if feeders else self.alone

    def that_serve(self, together: Placement) -> frozenset[object]:
        """The feeders by which some filter is worth more than it was without any of them."""
        more = self._more_ms(together)
        return frozenset(place for place in self.serves if any(more.get(end, 0.0) > 0 for end in self._ends(place)))

    def worth_ms(self, placement: Placement) -> float:
        """What all placed filters are expected to gain beyond what makes each worth its wait."""
        return sum(map(_worth_ms, self._forecasts(placement).values()))

    def with_costs_moved(self, placement: Placement, feeders: AbstractSet[object]) -> Placement:
        """The placement with what feeders that don't pay cost beyond their own gain where the gain is: by how much more it is."""
        forecasts, more = self._forecasts(placement), self._more_ms(placement)
        moved_ms: dict[object, float] = defaultdict(float)
        for feeder in feeders & forecasts.keys():
            ends = {end: more[end] for end in self._ends(feeder) if more.get(end, 0.0) > 0}
            if _worth_ms(forecasts[feeder]) <= 0 and ends:
                cost_ms = forecasts[feeder].cost_ms or 0.0
                moved_ms[feeder] -= cost_ms
                uncovered_ms = max(cost_ms - (forecasts[feeder].gain_ms or 0.0), 0.0)
                for end, more_ms in ends.items():
                    moved_ms[end] += uncovered_ms * more_ms / sum(ends.values())
        changed = dict(placement.forecasts)
        for proposal, place in zip(self.proposed.proposals, self.proposed.places, strict=True):
            at = proposal.join, proposal.scan
            if place in moved_ms and at in changed:
                changed[at] = _with_more_cost(placement.forecasts[at], moved_ms[place])
        return replace(placement, forecasts=changed)

    def _more_ms(self, placement: Placement) -> dict[object, float]:
        """By place, of what is worth anything there: how much more that is than without chains."""
        before = self._forecasts(self.alone)
        return {
            place: worth_ms - (max(_worth_ms(before[place]), 0.0) if place in before else 0.0)
            for place, forecast in self._forecasts(placement).items()
            if (worth_ms := _worth_ms(forecast)) > 0
        }

    def _ends(self, feeder: object) -> Iterator[object]:
        """The filters that it serves, over however many other feeders."""
        seen, stack = {feeder}, [feeder]
        while stack:
            for place in self.serves.get(stack.pop(), frozenset()) - seen:
                seen.add(place)
                stack.append(place)
                yield place

    def _forecasts(self, placement: Placement) -> dict[object, Forecast]:
        """Those of what is placed, by place."""
        return {
            self.proposed.places[number]: placement.forecasts[proposal.join, proposal.scan]
            for number, proposal in enumerate(self.proposed.proposals)
            if number not in placement.refused
        }


def _worth_ms(forecast: Forecast) -> float:
    """What a filter is expected to gain beyond what makes it worth its wait; 0 where that is not known."""
    return 0.0 if forecast.gain_ms is None else forecast.gain_ms - forecast.least_gain_ms


def _with_more_cost(forecast: Forecast, more_ms: float) -> Forecast:
    """The same filter with `more_ms` of the cost of others, be they below 0."""
    work = replace(forecast.work, wait_ms=max(forecast.work.wait_ms + more_ms, 0.0))
    before_ms = forecast.cost_ms or 0.0
    cost_ms = max(before_ms + more_ms, 0.0)
    least_ms = forecast.least_gain_ms + WAIT_MARGIN * (cost_ms - before_ms)
    return replace(forecast, work=work, cost_ms=cost_ms, least_gain_ms=least_ms)
