"""Records of ended queries are dealt with one after the other, and a log that hangs holds nobody up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.inputs.filter_history import Observation, Traits
from rtfilter.errors import QueryLogError
from rtfilter.feedback import history_file
from rtfilter.feedback.history_file import FeedbackStore
from rtfilter.feedback.lessons import Lesson
from rtfilter.file_threads import MOST_LANES, MOST_WAITING
from rtfilter.folders import CACHE_VARIABLE
from rtfilter.host import ended_queries, query_log
from rtfilter.host.ended_queries import MOST_STORES, Accounts
from rtfilter.host.frames import PROTOCOL, Frame
from rtfilter.host.requests import FEEDBACK_FILE, Requests
from rtfilter.options import Options
from rtfilter.private_files import open_own
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
    monkeypatch.setattr(ended_queries, "lessons_of", fail)
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
    second.close()  # what was begun before has ended by then
    assert known(again) == Observation(0, SHARE, SHARE, build_rows=210)


def test_a_log_that_cannot_be_written_is_an_error_and_the_record_is_learned_from(feedback: FeedbackStore, tmp_path: Path) -> None:
    with pytest.raises(QueryLogError, match="missing"):
        Accounts(feedback, wait_s=30).add(executed(outcome("d1.0")), options(log_path=tmp_path / "missing" / "log"))
    assert known(feedback) == Observation(0, SHARE, SHARE, build_rows=210)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    held = Hanging()
    for module in (query_log, history_file):
        monkeypatch.setattr(module, "open_own", held)
    yield held
    held.goes_on.set()


class Hanging:
    """Opens files that wait on the disk, those with "hangs" in their path, until it goes on."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()

    def __call__(self, path: str | Path, *arguments: Any) -> int:
        if "hangs" in str(path):
            assert self.goes_on.wait(60)
        return open_own(path, *arguments)


def test_a_cache_directory_that_hangs_does_not_hold_up_hello_and_what_is_in_it_is_read_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hanging: Hanging
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "hangs"))
    learned = FeedbackStore(tmp_path / "hangs" / FEEDBACK_FILE)
    hanging.goes_on.set()
    learned.learn([Lesson("k1", "l1", "i1", "file:/t", "", "", True, 1.0)])
    hanging.goes_on.clear()
    requests, answers = Requests(), []
    asked = threading.Thread(
        target=lambda: answers.append(requests.answer(Frame({"op": "hello", "protocol": PROTOCOL}))), daemon=True
    )
    asked.start()
    asked.join(60)
    hung = not answers
    hanging.goes_on.set()
    assert not hung and answers[0][0]["protocol"] == PROTOCOL
    patience_s = time.monotonic() + 30
    while known(requests.feedback) is None and time.monotonic() < patience_s:
        time.sleep(0.01)
    assert known(requests.feedback) == Observation(1, 1.0)
    requests.store.close()


def test_a_log_that_hangs_is_not_waited_for_and_what_piles_up_is_bounded(
    feedback: FeedbackStore, tmp_path: Path, hanging: Hanging
) -> None:
    path = tmp_path / "hangs.jsonl"
    slow = Accounts(feedback, wait_s=0.01)
    for _ in range(MOST_WAITING):
        slow.add(executed(outcome("d1.0")), options(log_path=path))
    with pytest.raises(QueryLogError, match="left out"):
        slow.add(executed(outcome("d1.0")), options(log_path=path))
    assert not path.exists()
    hanging.goes_on.set()
    patience_s = time.monotonic() + 30
    while (not path.exists() or path.read_text().count("\n") < MOST_WAITING) and time.monotonic() < patience_s:
        time.sleep(0.01)
    assert path.read_text().count("\n") == MOST_WAITING


def test_files_that_hang_hold_up_no_other_log_and_no_learning(feedback: FeedbackStore, tmp_path: Path, hanging: Hanging) -> None:
    accounts_ = Accounts(feedback, wait_s=0.01)
    # As many as there may be of each sort, without one.
    for number in range(MOST_LANES - 1):
        places = options(log_path=tmp_path / f"hangs{number}.jsonl", feedback_path=tmp_path / f"hangs{number}.json")
        accounts_.add(executed(outcome("d1.0")), places)
    for log in ("a.jsonl", "b.jsonl"):
        patience_s = time.monotonic() + 30
        accounts_.add(executed(outcome("d1.0")), options(log_path=tmp_path / log))
        while not (tmp_path / log).exists() and time.monotonic() < patience_s:
            time.sleep(0.01)
        assert (tmp_path / log).read_text().count("\n") == 1
    assert known(feedback) is not None


def test_feedback_files_that_sessions_name_are_bounded_and_nothing_is_lost(feedback: FeedbackStore, tmp_path: Path) -> None:
    many = Accounts(feedback, wait_s=30)
    named = [options(feedback_path=tmp_path / f"{number}.json") for number in range(MOST_STORES + 3)]
    for each in named:
        many.add(executed(outcome("d1.0")), each)
        many.add(executed(outcome("d1.0")), each)
    assert len(many._feedback) == MOST_STORES + 1
    many.close()
    for each in named:
        again = FeedbackStore(Path(each.feedback_path))
        again.refresh()
        assert known(again) is not None
