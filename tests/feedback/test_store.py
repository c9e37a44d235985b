"""The store of what filters did: bounded, ageing, shared, never in the way."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.observed import Observation
from rtfilter.feedback import store as module
from rtfilter.feedback.index_state import index_state
from rtfilter.feedback.lessons import Lesson
from rtfilter.feedback.store import MOST_AGE_S, FeedbackStore

LOSS = Lesson("k", "i", "file:/t", "", "dim.id -> fact.k", True, 1.0)
WIN = replace(LOSS, lost=False, kept=0.1)
HERE = {"file:/t": ""}


class Clock:
    def __init__(self) -> None:
        self.now_s = 1e9

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "feedback.json"


def test_losses_in_a_row_count_and_a_win_ends_the_row(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    store.learn([LOSS])
    assert store.observations(HERE) == {"k": Observation("i", 2, 1.0)}
    store.learn([WIN])
    assert store.observations(HERE) == {"k": Observation("i", 0, 0.1)}


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_losses_are_the_trailing_ones_whatever_came_before(tmp_path_factory: pytest.TempPathFactory, lost: list[bool]) -> None:
    store = FeedbackStore(tmp_path_factory.mktemp("f") / "feedback.json")
    for each in lost:
        store.learn([replace(LOSS, lost=each)])
    trailing = next((number for number, each in enumerate(reversed(lost)) if not each), len(lost))
    assert store.observations(HERE)["k"].losses == trailing


@pytest.mark.parametrize("changed", [{"inputs": "other"}, {"indexes": "x:1"}])
def test_losses_count_from_new_when_inputs_or_indexes_change(path: Path, changed: dict[str, Any]) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    store.learn([replace(LOSS, **changed)])
    state = {"file:/t": changed.get("indexes", "")}
    assert store.observations(state)["k"].losses == 1


def test_where_nobody_knows_the_indexes_no_loss_is_held_against_a_filter(path: Path) -> None:
    store = FeedbackStore(path)
    for _ in range(3):
        store.learn([LOSS])
    assert store.observations({"file:/t": None}) == {"k": Observation("i", 0, 1.0)}


def test_the_past_of_a_table_whose_indexes_changed_or_that_is_not_asked_for_is_not_given(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    assert store.observations({"file:/t": "keys:5"}) == {}
    assert store.observations({"file:/other": ""}) == {}


def test_another_process_reads_what_one_learned(path: Path) -> None:
    one, other = FeedbackStore(path), FeedbackStore(path)
    one.learn([LOSS])
    other.learn([LOSS])
    assert one.observations(HERE)["k"].losses == 2


def _learn(path: Path, first: int) -> None:
    store = FeedbackStore(path)
    for number in range(20):
        store.learn([replace(LOSS, key=f"k{first}-{number}")])


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_learn, args=(path, first)) for first in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(FeedbackStore(path).observations(HERE)) == 60
    assert [name for name in os.listdir(path.parent) if name not in ("feedback.json", "feedback.lock")] == []


def test_what_is_old_is_forgotten(path: Path) -> None:
    clock = Clock()
    store = FeedbackStore(path, clock)
    store.learn([LOSS])
    clock.now_s += MOST_AGE_S + 1
    assert store.observations(HERE) == {}
    store.learn([replace(LOSS, key="new")])
    assert list(json.loads(path.read_text())["entries"]) == ["new"]


def test_the_file_is_bounded_in_entries_and_bytes_and_the_oldest_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    store = FeedbackStore(path)
    for number in range(25):
        store.learn([replace(LOSS, key=f"k{number}", label="x" * 1000)])
    assert sorted(store.observations(HERE)) == sorted(f"k{number}" for number in range(15, 25))
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    store.learn([LOSS])
    assert path.stat().st_size <= 2_000 and "k" in store.observations(HERE)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"version":99,"entries":{"k":1}}', b'{"version":1,"entries":{"k":{"inputs":"i"}}}', b"\xff"],
)
def test_a_file_that_cannot_be_read_is_no_error_and_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = FeedbackStore(path)
    assert store.observations(HERE) == {}
    store.learn([LOSS])
    assert FeedbackStore(path).observations(HERE)["k"].losses == 1


def test_a_place_that_cannot_be_written_leaves_it_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FeedbackStore(tmp_path / "file" / "feedback.json")
    store.learn([LOSS])
    assert store.observations(HERE)["k"].losses == 1


def test_the_state_of_indexes_changes_with_every_entry_of_a_log_and_for_files_and_folders(tmp_path: Path) -> None:
    table = tmp_path / "t"
    log = table / "_rtfilter" / "keys" / "log"
    assert index_state(f"file:{table}", "") == ""
    log.mkdir(parents=True)
    os.utime(log, ns=(1, 1))
    first = index_state(f"file:{table}", "")
    assert first == "keys:1"
    (log / "1").write_text("")
    assert index_state(f"file:{table}", "") != first
    assert index_state(f"file:{table}/part-0.parquet", "") == index_state(f"file:{table}", "")
    assert index_state("s3a://bucket/t", "") is None
    assert index_state("s3a://bucket/t", str(table / "_rtfilter")) == index_state(f"file:{table}", "")
