"""The three questions that a query asks the planner. Each is answered by passes, in this order, one line of words for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.cost.sizes import estimates_of, smaller_builds_first
from planner.decision.figures import DecideSettings, FilterDecision, FilterFigures
from planner.decision.gains import gains_of
from planner.decision.key_first import judge_key_first
from planner.decision.outcome import decision_of, judge_filter
from planner.decision.row_tests import judge_rows
from planner.decision.shares import Left, most_selective_first
from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import gather
from planner.legality.joins import directions_of, open_joins, refuse_query
from planner.placement.answer import FilterPlan
from planner.placement.candidates import answer_of
from planner.placement.chains import judge_proposals
from planner.placement.proposals import propose_filters
from planner.placement.replans import told_entries, unsettled_scans
from planner.placement.tuples import with_tuples
from planner.plan.nodes import Scan
from planner.plan.tree import Plan
from planner.static.answer import StaticAnswer, answer_of_scan, placeholder_of
from planner.static.index_remarks import ScanIndex
from planner.static.rules import asked_conditions, judged_conditions, refuse_static


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


STATIC = (
    Pass("judged", "The conditions that knowing the indexed columns could refute.", judged_conditions),
    Pass("asked", "Those of them that hide no error.", asked_conditions),
    Pass("refusal", "Why nothing is asked of the indexes.", refuse_static),
    Pass("placeholder", "What the host is to judge.", placeholder_of),
    Pass("answer", "The placeholder, and what reports say of the scan.", answer_of_scan),
)


def static(plan: Plan, settings: PlanSettings, indexes: Mapping[int, Sequence[ScanIndex]]) -> tuple[StaticAnswer, ...]:
    """What the query itself asks of each scan (by number) whose table has an index."""
    answers: list[StaticAnswer] = []
    for number, of_scan in sorted(indexes.items()):
        scan = plan.nodes[number]
        if isinstance(scan, Scan) and scan.static and of_scan:
            before = sum(answer.placeholder is not None for answer in answers)
            answers.append(answer_by(STATIC, plan=plan, settings=settings, scan=scan, indexes=of_scan, number=before))
    return tuple(answers)


DECIDE = (
    Pass("gains", "What the filter saves and costs by exact figures, beside the filters decided before it.", gains_of),
    Pass("rows", "Whether rows are tested one by one.", judge_rows),
    Pass("key_first", "Whether the reader decodes its column before the others.", judge_key_first),
    Pass("outcome", "Whether it is applied: for its packs, for its rows, or in the reader.", judge_filter),
    Pass("decision", "The decision in the form that the bridge gets.", decision_of),
)


def decide(filters: Sequence[FilterFigures], settings: DecideSettings) -> tuple[FilterDecision, ...]:
    """One decision per filter of a scan, in their order.

    They are decided in the order in which rows would be tested, and what one of them rejects the next one gains nothing by. The
    verdicts of the applied ones intersect, and no row of a pack that any of them rejects gets to a test, be it the first.
    """
    left, decided = Left(), {}
    order = most_selective_first(filters)
    for place, number in enumerate(order):
        later = [filters[other] for other in order[place + 1 :]]
        decision: FilterDecision = answer_by(DECIDE, figures=filters[number], left=left.before(later), settings=settings)
        left, decided[number] = left.after(filters[number], decision), decision
    return tuple(decided[number] for number in range(len(filters)))
