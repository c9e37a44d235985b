"""A plan is answered with what its filters did in earlier queries, and its placeholders get what later ones find them by."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from planner.generate import plan_filters
from planner.nodes import Plan, Scan
from planner.settings import PlanSettings
from planner.traits import root_of
from rtfilter.feedback.index_state import index_state
from rtfilter.feedback.store import FeedbackStore


def plan_with_past(plan: Plan, settings: PlanSettings, feedback: FeedbackStore, location: str) -> dict[str, Any]:
    """The answer to a plan. `location` is rtfilter.store.location: the past does not hold once a table's indexes have changed."""
    indexes = {root: index_state(root, location) for root in {root_of(node) for node in plan.nodes if isinstance(node, Scan)}}
    planned = plan_filters(plan, replace(settings, observed=feedback.observations(indexes)))
    traits = [asdict(placeholder.traits) for placeholder in planned.placeholders]
    answer = planned.to_dict()
    placeholders = [
        {**placeholder.to_dict(), "feedback": {**known, "indexes": indexes[known["root"]] or ""}}
        for placeholder, known in zip(planned.placeholders, traits, strict=True)
    ]
    return {**answer, "placeholders": placeholders}
