"""The passes of the planner's questions fit together: each gets what was asked or what a pass before it finds, of the same type."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import pytest

from planner.decision.figures import DecideSettings, FilterFigures
from planner.decision.shares import Left
from planner.inputs.settings import PlanSettings
from planner.plan.nodes import Scan
from planner.plan.tree import Plan
from planner.questions import DECIDE, PLACE, STATIC, Pass, answer_by
from planner.static.index_remarks import ScanIndex

QUESTIONS: dict[str, tuple[Sequence[Pass], dict[str, Any]]] = {
    "place": (PLACE, {"plan": Plan, "settings": PlanSettings}),
    "static": (STATIC, {"plan": Plan, "settings": PlanSettings, "scan": Scan, "indexes": Sequence[ScanIndex], "number": int}),
    "decide": (DECIDE, {"figures": FilterFigures, "left": Left, "settings": DecideSettings}),
}


def fits(given: Any, wanted: Any) -> bool:
    """Whether a value of the type `given` may stand where `wanted` is asked for: the same, or a sequence of the same."""
    if given == wanted:
        return True
    one, other = typing.get_args(given), [each for each in typing.get_args(wanted) if each is not Ellipsis]
    is_sequence = typing.get_origin(given) in (tuple, list) and typing.get_origin(wanted) is Sequence
    return is_sequence and [each for each in one if each is not Ellipsis] == other


def misfits(passes: Sequence[Pass], asked: dict[str, Any]) -> list[str]:
    known, found = dict(asked), []
    for step in passes:
        hints = typing.get_type_hints(step.run)
        for name in step.needs:
            if name not in known:
                found.append(f"{step.finds} needs {name}, which nobody finds before it")
            elif not fits(known[name], hints[name]):
                found.append(f"{step.finds} needs {name} as {hints[name]}, and it is {known[name]}")
        known[step.finds] = hints["return"]
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_passes_fit_together(question: str) -> None:
    assert misfits(*QUESTIONS[question]) == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_pass_is_for_nothing(question: str) -> None:
    passes, _ = QUESTIONS[question]
    needed = {name for step in passes for name in step.needs}
    assert [step.finds for step in passes[:-1] if step.finds not in needed] == []
    assert all(step.words.endswith(".") and len(step.words) < 100 for step in passes)


def test_a_pass_that_does_not_fit_is_found() -> None:
    def count(names: Sequence[str]) -> int:
        return len(names)

    def double(count: str) -> str:
        return count * 2

    first, second = Pass("count", "How many.", count), Pass("twice", "Twice that.", double)
    assert misfits([first], {"names": tuple[str, ...]}) == []
    assert len(misfits([first, second], {"names": tuple[str, ...]})) == 1
    assert len(misfits([first], {})) == 1


def test_a_pass_gets_what_its_parameters_name_and_nothing_else() -> None:
    passes = (Pass("more", "One more.", lambda number: number + 1), Pass("text", "Both.", lambda more, number: f"{number} {more}"))
    assert answer_by(passes, number=1, unused=object()) == "1 2"
