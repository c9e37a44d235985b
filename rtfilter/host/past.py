"""A plan is answered with what its filters did in earlier queries, and its placeholders get what later ones find them by."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

from planner.answer import Placeholder
from planner.generate import plan_filters
from planner.nodes import Plan
from planner.settings import PlanSettings
from rtfilter.feedback.index_state import index_state
from rtfilter.feedback.store import FeedbackStore


def plan_with_past(plan: Plan, settings: PlanSettings, feedback: FeedbackStore, location: str) -> dict[str, Any]:
    """The answer to a plan. `location` is rtfilter.store.location: the past does not hold once a table's indexes have changed."""
    # One look at a table's indexes for one plan, and at those only of which something is remembered or will be.
    state = cache(partial(index_state, location=location))
    planned = plan_filters(plan, replace(settings, recall=feedback.recall(state)))

    def named(placeholder: Placeholder) -> dict[str, object]:
        traits = placeholder.traits
        if traits.literals is None:
            return placeholder.to_dict()
        return {**placeholder.to_dict(), "feedback": {**asdict(traits), "indexes": state(traits.root) or ""}}

    return {**planned.to_dict(), "placeholders": [named(placeholder) for placeholder in planned.placeholders]}
