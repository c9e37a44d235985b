"""The three questions that a query asks the planner. Each is answered by passes, in this order, one line of words for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.cost.sizes import estimates_of, smaller_builds_first
from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import gather
from planner.legality.joins import directions_of, open_joins, refuse_query
from planner.placement.answer import FilterPlan
from planner.placement.candidates import answer_of
from planner.placement.chains import judge_proposals
from planner.placement.proposals import propose_filters
from planner.placement.replans import told_entries, unsettled_scans
from planner.placement.tuples import with_tuples
from planner.plan.tree import Plan


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of an answer. `finds` is the name of what it returns, `words` says what that is.

    It is called with what its parameters name, and with nothing else: what was asked, or what a pass before it finds.
    """

    finds: str
    words: str
    run: Callable[..., Any]
    needs: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", tuple(inspect.signature(self.run).parameters))


def answer_by(passes: Sequence[Pass], /, **asked: Any) -> Any:
    """What the last pass finds."""
    found = asked
    for step in passes:
        found[step.finds] = step.run(**{name: found[name] for name in step.needs})
    return found[passes[-1].finds]


PROPOSE = (
    Pass("no_filter", "Why the query gets no filter at all, if so.", refuse_query),
    Pass("joins", "The joins that have not started.", open_joins),
    Pass("directions", "Their sides that may lose rows, and where the keys of the other side come from.", directions_of),
    Pass("estimates", "How large each part of the plan is, as far as can be guessed.", estimates_of),
    Pass("directions", "The same, the better one first: the smaller side builds.", smaller_builds_first),
    Pass("entries", "Each key followed to the scans that it could filter, and why it may not.", propose_filters),
)
PLACE = (
    *PROPOSE,
    Pass("proposed", "What is right, with its copies below exchanges that are computed once.", gather),
    Pass("placement", "Which of it is worth its wait, by itself or for the sake of a later one.", judge_proposals),
    Pass("unsettled", "The scans for which a later plan may bring another answer.", unsettled_scans),
    Pass("entries", "The entries with the reasons for what is not placed.", told_entries),
    Pass("entries", "The same with filters of several keys together.", with_tuples),
    Pass("answer", "The placeholders and candidates that the bridge gets.", answer_of),
)


def place(plan: Plan, settings: PlanSettings) -> FilterPlan:
    """Placeholders and candidates for every join that has not started. The same plan gives the same answer.

    Joins inside query stages and reused exchanges are left out: they were judged before their stage started, or are the same as the
    ones judged elsewhere in the plan, and nothing can be placed there.
    """
    answer: FilterPlan = answer_by(PLACE, plan=plan, settings=settings)
    return answer
