"""A plan is answered with what its filters did in earlier queries, and its placeholders get what later ones find them by."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any

from planner.inputs.settings import PlanSettings
from planner.placement.answer import FilterPlan, Placeholder
from rtfilter.feedback.history_file import FeedbackStore
from rtfilter.feedback.index_state import index_state


class FilterHistory:
    """What earlier queries say to one plan. `location` is rtfilter.store.location: it does not hold once a table's indexes
    have changed.
    """

    def __init__(self, feedback: FeedbackStore, location: str) -> None:
        self._feedback = feedback
        # One look at a table's indexes for one plan, and at those only of which something is remembered or will be.
        self._state = cache(partial(index_state, location=location))

    def recalled(self, settings: PlanSettings) -> PlanSettings:
        """Settings with which the planner sees what earlier queries did."""
        return replace(settings, recall=self._feedback.recall(self._state))

    def named(self, planned: FilterPlan) -> dict[str, Any]:
        """The answer, with placeholders that later queries find."""
        return {**planned.to_dict(), "placeholders": [self._named(placeholder) for placeholder in planned.placeholders]}

    def _named(self, placeholder: Placeholder) -> dict[str, object]:
        traits = placeholder.traits
        if traits.literals is None:
            return placeholder.to_dict()
        return {**placeholder.to_dict(), "feedback": {**asdict(traits), "indexes": self._state(traits.root) or ""}}
