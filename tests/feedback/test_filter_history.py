"""From a plan's answer to what a later query of the same shape is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.inputs.settings import PlanSettings
from planner.questions import place
from rtfilter.feedback.history_file import FeedbackStore
from rtfilter.feedback.lessons import lessons_of
from rtfilter.host import filter_history
from rtfilter.host.filter_history import FilterHistory
from tests.planner.plans import Raw, attr, broadcast, column, computed, join, plan_of, scan, where
from tests.report.records import decision, fill, outcome, record

IN_VAIN = {"decision": "skipped", "reason": "REJECTS_NO_PACK", "packs_total": 80, "packs_kept": 80}


@pytest.fixture
def store(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "feedback.json")


def query(asks: str | None) -> Raw:
    """A fact joined with what a condition leaves of a dimension; `asks` is what the bridge says of its literals."""
    fact = scan("fact", column(1, "k"), bytes=100_000_000, roots=["file:/data/fact"])
    dim = where(scan("dim", column(11, "d_key"), roots=["file:/data/dim"]), computed("(d_key#11 < 5)", "boolean", [11]), ["range"])
    return join(fact, broadcast({**dim, "literals": asks}), [attr(1, "k")], [attr(11, "d_key")])


def run(store: FeedbackStore, asks: str | None) -> dict[str, Any]:
    """The answer to a query whose filter, if it has one, is filled in vain; that is learned."""
    history = FilterHistory(store, "")
    answer = history.named(place(plan_of(query(asks)), history.recalled(PlanSettings("d1"))))
    filled = [fill(outcome(each["id"], **IN_VAIN)) for each in answer["placeholders"]]
    store.learn(lessons_of(record([decision("d1", *answer["candidates"], placeholders=answer["placeholders"])], filled)))
    return answer


def reason(store: FeedbackStore, asks: str | None) -> str:
    return str(run(store, asks)["candidates"][0]["reason"])


def test_a_filter_that_lost_twice_is_left_out_with_the_same_literals_only(store: FeedbackStore) -> None:
    assert [reason(store, "wide") for _ in range(4)] == ["PLANNED", "PLANNED", "LOST_TWICE", "LOST_TWICE"]
    assert [reason(store, "narrow") for _ in range(3)] == ["PLANNED", "PLANNED", "LOST_TWICE"]
    assert reason(store, "wide") == "LOST_TWICE"


def test_literals_in_turn_are_counted_each_for_itself(store: FeedbackStore) -> None:
    seen = [(reason(store, "wide"), reason(store, "narrow")) for _ in range(3)]
    assert seen == [("PLANNED", "PLANNED"), ("PLANNED", "PLANNED"), ("LOST_TWICE", "LOST_TWICE")]


def test_of_literals_that_cannot_be_told_nothing_is_learned(store: FeedbackStore) -> None:
    assert [reason(store, None) for _ in range(4)] == ["PLANNED"] * 4
    assert "feedback" not in run(store, None)["placeholders"][0]
    assert not store.path.exists()


def test_a_placeholder_says_what_a_later_query_finds_it_by(store: FeedbackStore) -> None:
    (placeholder,) = run(store, "wide")["placeholders"]
    assert set(placeholder["feedback"]) == {"key", "literals", "inputs", "root", "indexes"}
    assert placeholder["feedback"]["root"] == "file:/data/fact"


def test_one_look_at_the_indexes_of_a_probe_table_is_enough_and_none_at_those_of_others(
    store: FeedbackStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def looked(root: str, location: str) -> str:
        looks.append(f"{root}{location}")
        return "keys:1"

    monkeypatch.setattr(filter_history, "index_state", looked)
    for _ in range(3):
        run(store, "wide")
    assert looks == ["file:/data/fact"] * 3
