"""What a filter did in earlier queries, found by its traits."""

from __future__ import annotations

from planner.inputs.filter_history import Observation, Traits, refuse_lost
from planner.inputs.settings import PlanSettings
from planner.inputs.table_hints import settings_for
from planner.plan.filter_traits import traits_of
from planner.plan.proposals import Proposal
from planner.plan.tree import Plan
from planner.reasons import Refusal


def traits_of_proposal(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Traits:
    """What a later query finds the filter by."""
    scan = plan.scan(proposal.scan)
    return traits_of(plan, proposal, settings_for(settings, scan.hints, scan.table).means)


def observation_of(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Observation | None:
    """The past of a filter; None where nothing is remembered."""
    return None if settings.recall is None else settings.recall(traits_of_proposal(plan, settings, proposal))


def refuse_lost_filter(plan: Plan, settings: PlanSettings, proposal: Proposal) -> Refusal | None:
    """Why a filter is not tried again; only cost=auto forgoes one."""
    scan = plan.scan(proposal.scan)
    if settings.recall is None or settings_for(settings, scan.hints, scan.table).cost != "auto":
        return None
    return refuse_lost(observation_of(plan, settings, proposal))
