"""Records of ended queries are dealt with one after the other, and a log that hangs holds nobody up."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from planner.observed import Observation, Traits
from rtfilter.errors import QueryLogError
from rtfilter.feedback.lessons import Lesson
from rtfilter.feedback.store import FeedbackStore
from rtfilter.folders import CACHE_VARIABLE
from rtfilter.host import accounts
from rtfilter.host.accounts import Accounts
from rtfilter.host.frames import PROTOCOL, Frame
from rtfilter.host.requests import FEEDBACK_FILE, Requests
from rtfilter.options import Options
from tests.feedback.test_lessons import executed
from tests.report.records import outcome

# Of all rows in the packs that the filter of `outcome` kept.
SHARE = 5345280 / 133110000


def options(**entries: object) -> Options:
    return Options.from_conf({f"rtfilter.{name.replace('_', '.')}": str(value) for name, value in entries.items()})


def known(feedback: FeedbackStore) -> Observation | None:
    recall = feedback.recall(lambda _: "")
    return None if recall is None else recall(Traits("k1", "l1", "i1", "file:/t"))


@pytest.fixture
def feedback(tmp_path: Path) -> FeedbackStore:
    return FeedbackStore(tmp_path / "feedback.json")


def test_a_record_is_learned_from_and_logged_before_the_answer(feedback: FeedbackStore, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path=log))
    assert known(feedback) == Observation(0, SHARE, SHARE, build_rows=210)
    assert log.read_text().count("\n") == 1


def test_the_log_is_written_in_a_home_folder_and_when_learning_fails(
    feedback: FeedbackStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise NotImplementedError("no locks on this filesystem")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(accounts, "lessons_of", fail)
    with pytest.raises(NotImplementedError):
        Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path="~/log.jsonl"))
    assert (tmp_path / "log.jsonl").read_text().count("\n") == 1


def test_without_feedback_nothing_is_learned(feedback: FeedbackStore) -> None:
    Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(feedback_enabled="false"))
    assert known(feedback) is None


def test_what_is_learned_goes_into_the_file_that_the_options_name_and_is_known_again_from_there(
    feedback: FeedbackStore, tmp_path: Path
) -> None:
    own = options(feedback_path=tmp_path / "own.json")
    first = Accounts(feedback, wait_s=30)
    first.add(executed(outcome("d1.0")), own)
    assert known(feedback) is None and known(first.feedback_of(own)) == Observation(0, SHARE, SHARE, build_rows=210)
    first.close()
    second = Accounts(feedback, wait_s=30)
    again = second.feedback_of(own)
    second.add({}, options(feedback_enabled="false"))  # what was begun before has ended by then
    assert known(again) == Observation(0, SHARE, SHARE, build_rows=210)


def test_a_log_that_cannot_be_written_is_an_error_and_the_record_is_learned_from(feedback: FeedbackStore, tmp_path: Path) -> None:
    with pytest.raises(QueryLogError, match="missing"):
        Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path=tmp_path / "missing" / "log"))
    assert known(feedback) == Observation(0, SHARE, SHARE, build_rows=210)


def test_a_cache_directory_that_hangs_does_not_hold_up_hello_and_what_is_in_it_is_read_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    learned = FeedbackStore(tmp_path / "elsewhere.json")
    learned.learn([Lesson("k1", "l1", "i1", "file:/t", "", "", True, 1.0)])
    pipe = tmp_path / FEEDBACK_FILE
    os.mkfifo(pipe)
    requests, answers = Requests(), []
    asked = threading.Thread(
        target=lambda: answers.append(requests.answer(Frame({"op": "hello", "protocol": PROTOCOL}))), daemon=True
    )
    asked.start()
    asked.join(60)
    hung = not answers
    # The reader waits for its writer.
    threading.Thread(target=pipe.write_bytes, args=(learned.path.read_bytes(),), daemon=True).start()
    assert not hung and answers[0][0]["protocol"] == PROTOCOL
    patience_s = time.monotonic() + 30
    while known(requests.feedback) is None and time.monotonic() < patience_s:
        time.sleep(0.01)
    assert known(requests.feedback) == Observation(1, 1.0)
    requests.store.close()


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
        # Open for writing too: it does not end, and lose what the next one writes, when the one before has closed it.
        with open(os.open(pipe, os.O_RDWR), encoding="utf-8") as ends_never:
            while len(lines) < 2:
                lines.append(ends_never.readline())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(30)
    assert len(lines) == 2
