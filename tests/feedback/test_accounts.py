"""Records of ended queries are dealt with one after the other, and a log that hangs holds nobody up."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rtfilter.errors import QueryLogError
from rtfilter.feedback.store import FeedbackStore
from rtfilter.host import accounts
from rtfilter.host.accounts import Accounts
from rtfilter.options import Options
from tests.feedback.test_lessons import executed
from tests.report.records import outcome


def options(**entries: object) -> Options:
    return Options.from_conf({f"rtfilter.{name.replace('_', '.')}": str(value) for name, value in entries.items()})


@pytest.fixture
def feedback(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "feedback.json")


def test_a_record_is_learned_from_and_logged_before_the_answer(feedback: FeedbackStore, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path=log))
    assert feedback.observations({"file:/t": ""})["k1"].losses == 0
    assert log.read_text().count("\n") == 1


def test_without_feedback_nothing_is_learned(feedback: FeedbackStore) -> None:
    Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(feedback_enabled="false"))
    assert feedback.observations({"file:/t": ""}) == {}


def test_a_log_that_cannot_be_written_is_an_error_and_the_record_is_learned_from(feedback: FeedbackStore, tmp_path: Path) -> None:
    with pytest.raises(QueryLogError, match="missing"):
        Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path=tmp_path / "missing" / "log"))
    assert feedback.observations({"file:/t": ""})["k1"].losses == 0


def test_a_log_that_hangs_is_not_waited_for_and_what_piles_up_is_bounded(
    feedback: FeedbackStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "MOST_WAITING", 2)
    # A pipe that nobody reads hangs when it is opened.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    slow = Accounts(feedback, wait_s=0.05)
    for _ in range(2):
        slow.add(executed(outcome("d1.0")), options(log_path=pipe))
    with pytest.raises(QueryLogError, match="left out"):
        slow.add(executed(outcome("d1.0")), options(log_path=pipe))
    lines: list[str] = []

    def read() -> None:
        while len(lines) < 2:
            lines.extend(pipe.read_text().splitlines())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(30)
    assert len(lines) == 2
