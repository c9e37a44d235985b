"""What the golden pairs ask of the planner. Only this file and tests/planner/plans.py know where in the planner it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from planner.cost.filters_at_work import with_filters_at_work
from planner.cost.rows_left import rows_left, with_rows_left
from planner.decision.figures import DecideSettings, FilterDecision, FilterFigures
from planner.inputs.filter_history import Observation, Traits
from planner.inputs.machine import Machine
from planner.inputs.row_work import RowWork
from planner.inputs.settings import KINDS, PlanSettings
from planner.placement.answer import FilterPlan
from planner.placement.wait_credit import waits_of
from planner.plan.snapshot import parse_snapshot
from planner.questions import decide, place, static
from planner.reasons import Refusal
from planner.static.answer import with_statics
from planner.static.decide import StaticFigures, decide_static
from planner.static.index_remarks import ScanIndex

__all__ = [
    "KINDS",
    "DecideSettings",
    "FilterDecision",
    "FilterFigures",
    "Machine",
    "Question",
    "Refusal",
    "RowWork",
    "StaticFigures",
    "answers",
    "decide",
    "decide_static",
]


@dataclass(frozen=True, slots=True)
class Question:
    """One query as the planner sees it.

    `plans`: its plan, and behind it what re-plans have made of it, as node lists; `next_queries`: the numbers of those with which
    another query of the session begins. `settings`: fields of the planner's settings. `past`: by probe column, what its filter did
    in earlier queries. `shares`: by id, what filters at work let through. `indexes`: by table, the columns that an index covers, or
    why it can't be used.
    """

    plans: Sequence[Any]
    next_queries: Set[int]
    settings: Mapping[str, Any]
    past: Mapping[str, Mapping[str, Any]]
    shares: Mapping[str, float]
    indexes: Mapping[str, Sequence[tuple[str, str | Sequence[str]]]]


def answers(question: Question) -> list[dict[str, Any]]:
    """The answer to each plan, in the form of the protocol, but for `unsettled`: by tables.

    What the planner remembers of a query goes from one to the next.
    """
    given: list[dict[str, Any]] = []
    waited: dict[str, RowWork] = {}
    placed: set[str] = set()
    seen: dict[str, int] = {}
    for number, nodes in enumerate(question.plans):
        if number in question.next_queries:
            waited.clear()
            placed.clear()
        plan = with_filters_at_work(parse_snapshot(nodes), question.shares.get)
        plan = with_rows_left(plan, seen.get)
        settings = PlanSettings("d1", waited=waited.get, placed_before=frozenset(placed).__contains__, **question.settings)
        if question.past:
            settings = replace(settings, recall=_recall(place(plan, settings), question.past))
        answer = place(plan, settings)
        indexes = {
            scan: [_index(*each) for each in question.indexes[node["table"]]]
            for scan, node in enumerate(nodes)
            if node["kind"] == "scan" and node["table"] in question.indexes
        }
        unsettled = [nodes[scan]["table"] for scan in answer.unsettled]
        given.append({**with_statics(answer.to_dict(), static(plan, settings, indexes)), "unsettled": unsettled})
        waited |= waits_of(answer)
        placed |= {each.key_id for each in answer.candidates if each.placeholder is not None}
        seen |= rows_left(plan)
    return given


def _recall(first: FilterPlan, past: Mapping[str, Mapping[str, Any]]) -> Callable[[Traits], Observation | None]:
    """The past of filters by the columns that they are on: of those that are placed where nothing is remembered."""
    traits = {each.id: each.traits for each in first.placeholders}
    known = {
        traits[each.placeholder]: Observation(**past[each.probe])
        for each in first.candidates
        if each.placeholder is not None and each.probe in past
    }
    missing = set(past) - {each.probe for each in first.candidates if each.placeholder is not None}
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))} is filtered by nothing, so it can't have a past")
    return known.get


def _index(name: str, covers: str | Sequence[str]) -> ScanIndex:
    if isinstance(covers, str):
        return ScanIndex(name, frozenset(), Refusal(covers, f"Index {name} can't be used."))
    return ScanIndex(name, frozenset(covers))
