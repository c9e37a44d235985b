"""The store of what filters did: bounded, ageing, shared, never in the way."""

from __future__ import annotations

import json
import os
import stat
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.inputs.filter_history import Observation, Traits
from rtfilter.feedback import history_file as module
from rtfilter.feedback.history_file import MOST_AGE_S, MOST_ENTRIES, MOST_LITERALS, VERSION, Entries, Entry, FeedbackStore, bounded
from rtfilter.feedback.index_state import index_state
from rtfilter.feedback.lessons import Lesson
from tests.feedback.strange_files import STRANGE, make_strange, state_of

LOSS = Lesson("k", "l", "i", "file:/t", "", "dim.id -> fact.k", True, 1.0)
WIN = replace(LOSS, lost=False, kept=0.1, packs=0.4)


def past(store: FeedbackStore, of: Lesson = LOSS, indexes: str | None = "") -> Observation | None:
    """What a store, as it is read now, tells of the filter of a lesson, with its table's indexes in this state."""
    store.refresh()
    recall = store.recall(lambda root: indexes if root == of.root else "of another table")
    return None if recall is None else recall(Traits(of.key, of.literals, of.inputs, of.root))


def losses(store: FeedbackStore, of: Lesson = LOSS, indexes: str | None = "") -> int:
    found = past(store, of, indexes)
    assert found is not None
    return found.losses


# An entry of the file that a store would believe.
WHOLE = (
    '{"key":"k","literals":"l","inputs":"i","root":"file:/t","indexes":"","label":"",'
    '"losses":7,"kept":0.5,"packs":0.25,"build_rows":64,"key_share":0.125,"at_s":1e99}'
)


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
    assert past(store) == Observation(2, 1.0)
    store.learn([WIN])
    assert past(store) == Observation(0, 0.1, 0.4)


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_losses_are_the_trailing_ones_whatever_came_before(tmp_path_factory: pytest.TempPathFactory, lost: list[bool]) -> None:
    store = FeedbackStore(tmp_path_factory.mktemp("f") / "feedback.json")
    for each in lost:
        store.learn([replace(LOSS, lost=each)])
    trailing = next((number for number, each in enumerate(reversed(lost)) if not each), len(lost))
    assert losses(store) == trailing


@pytest.mark.parametrize("changed", [{"inputs": "other"}, {"indexes": "x:1"}])
def test_losses_count_from_new_when_inputs_or_indexes_change(path: Path, changed: dict[str, Any]) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    store.learn([replace(LOSS, **changed)])
    assert losses(store, replace(LOSS, **changed), changed.get("indexes", "")) == 1


def test_losses_are_counted_for_each_set_of_literals_alone(path: Path) -> None:
    store = FeedbackStore(path)
    narrow = replace(WIN, literals="narrow")
    for lesson in (LOSS, narrow, LOSS, narrow):
        store.learn([lesson])
    assert past(store) == Observation(2, 1.0)
    assert past(store, narrow) == Observation(0, 0.1, 0.4)
    assert past(store, replace(LOSS, literals="never seen")) is None


def test_of_unknown_literals_and_other_inputs_nothing_is_told(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    recall = store.recall(lambda _: "")
    assert recall is not None and recall(Traits("k", "l", "i", "file:/t")) is not None
    assert recall(Traits("k", None, "i", "file:/t")) is None
    assert recall(Traits("k", "l", "other", "file:/t")) is None


def test_where_nobody_knows_the_indexes_no_loss_is_held_against_a_filter(path: Path) -> None:
    store = FeedbackStore(path)
    for _ in range(3):
        store.learn([LOSS])
    assert past(store, indexes=None) == Observation(0, 1.0)


def test_the_past_of_a_table_whose_indexes_changed_is_not_given(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    assert past(store, indexes="keys:5") is None


def test_where_nothing_is_remembered_nobody_need_ask(path: Path) -> None:
    assert FeedbackStore(path).recall(lambda _: "") is None


def test_planning_waits_neither_for_the_file_nor_for_who_learns(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    path.unlink()
    path.mkdir()
    with store._lock:
        recall = store.recall(lambda _: "")
    assert recall is not None and recall(Traits("k", "l", "i", "file:/t")) == Observation(1, 1.0)


def test_a_plan_under_way_keeps_what_it_was_told(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    recall = store.recall(lambda _: "")
    store.learn([LOSS])
    assert recall is not None and recall(Traits("k", "l", "i", "file:/t")) == Observation(1, 1.0)
    assert losses(store) == 2


def test_another_process_reads_what_one_learned(path: Path) -> None:
    one, other = FeedbackStore(path), FeedbackStore(path)
    one.learn([LOSS])
    other.learn([LOSS])
    assert losses(one) == 2


def _learn(path: Path, first: int) -> None:
    store = FeedbackStore(path, write_every_s=0.05)
    for number in range(20):
        store.learn([replace(LOSS, key=f"k{first}-{number}")])
        time.sleep(0.01)
    store.flush()


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_learn, args=(path, first)) for first in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    store = FeedbackStore(path)
    found = [past(store, replace(LOSS, key=f"k{first}-{number}")) for first in range(3) for number in range(20)]
    assert found == [Observation(1, 1.0)] * 60
    assert [name for name in os.listdir(path.parent) if name not in ("feedback.json", "feedback.lock")] == []


def test_the_file_is_not_written_after_every_query(path: Path) -> None:
    clock = Clock()
    store = FeedbackStore(path, clock, write_every_s=60)
    store.learn([LOSS])
    first = path.read_bytes()
    store.learn([LOSS])
    assert (losses(store), path.read_bytes()) == (2, first)
    clock.now_s += 61
    store.learn([LOSS])
    assert losses(FeedbackStore(path, clock)) == 3
    store.learn([LOSS])
    store.flush()
    assert losses(FeedbackStore(path, clock)) == 4


def test_what_is_learned_last_is_written_soon(path: Path) -> None:
    store = FeedbackStore(path, write_every_s=0.1)
    store.learn([LOSS])
    store.learn([LOSS])
    deadline = time.monotonic() + 60
    while losses(FeedbackStore(path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert losses(FeedbackStore(path)) == 2


def test_what_others_learn_meanwhile_and_what_is_not_yet_written_add_up(path: Path) -> None:
    one, other = FeedbackStore(path, write_every_s=60), FeedbackStore(path, write_every_s=60)
    one.learn([LOSS])
    one.learn([LOSS])
    other.learn([replace(LOSS, key="other")])
    other.learn([LOSS])
    assert losses(one) == 2
    one.flush()
    other.flush()
    assert losses(one) == losses(other) == 3
    assert losses(one, replace(LOSS, key="other")) == 1


def test_what_is_old_is_forgotten(path: Path) -> None:
    clock = Clock()
    store = FeedbackStore(path, clock)
    store.learn([LOSS])
    clock.now_s += MOST_AGE_S + 1
    assert past(store) is None
    store.learn([replace(LOSS, key="new")])
    assert [entry["key"] for entry in json.loads(path.read_text())["entries"]] == ["new"]


def test_the_file_is_bounded_in_entries_and_bytes_and_the_oldest_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    store = FeedbackStore(path)
    for number in range(25):
        store.learn([replace(LOSS, key=f"k{number}", label="x" * 1000)])
    known = [number for number in range(25) if past(store, replace(LOSS, key=f"k{number}")) is not None]
    assert known == list(range(15, 25))
    monkeypatch.setattr(module, "MOST_BYTES", 2_000)
    store.learn([LOSS])
    assert path.stat().st_size <= 2_000 and losses(store) == 1
    monkeypatch.setattr(module, "MOST_BYTES", 50)
    store.learn([LOSS])
    store.flush()
    assert path.stat().st_size <= 50 and past(store) is None


def test_literals_that_are_new_every_time_push_out_only_their_own(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([replace(LOSS, key="report")])
    store.learn([replace(LOSS, key="ad hoc", literals=f"l{number}") for number in range(MOST_ENTRIES + 1)])
    assert losses(store, replace(LOSS, key="report")) == 1
    assert past(store, replace(LOSS, key="ad hoc", literals=f"l{MOST_ENTRIES}")) is not None
    assert past(store, replace(LOSS, key="ad hoc", literals="l0")) is None
    store.flush()
    assert len(json.loads(path.read_text())["entries"]) == MOST_LITERALS + 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 9)), max_size=200))
def test_bounds_keep_the_latest_of_each_filter_in_their_order(learned: list[tuple[int, int, int]]) -> None:
    entries: Entries = {}
    for key, literals, at_s in learned:
        entries.pop((str(key), str(literals)), None)
        entries[str(key), str(literals)] = Entry("i", "r", "", "", 0, None, None, None, None, float(at_s))
    found = list(bounded(entries, 3.0).items())
    fresh = [item for item in entries.items() if item[1].at_s >= 3.0]
    assert found == [item for item in fresh if item in found]
    for one in "01234":
        latest = [item for item in fresh if item[0][0] == one][-MOST_LITERALS:]
        assert [item for item in found if item[0][0] == one] == latest


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"version":',
        b'{"version":9,"entries":[{"k":1}]}',
        *(
            f'{{"version":{VERSION},"entries":[{entry}]}}'.encode()
            for entry in (
                '{"inputs":"i"}',
                "5",
                *(WHOLE.replace("0.5", value) for value in ("[]", "1.01", "-0.5", "NaN")),
                *(WHOLE.replace("7", value) for value in ("Infinity", "NaN")),
                *(WHOLE.replace("64", value) for value in ("Infinity", "[]")),
                *(WHOLE.replace("0.125", value) for value in ("[]", "1.01", "-0.5", "NaN")),
            )
        ),
        pytest.param(b'{"version":4,"entries":[' + b"[" * 500_000, id="half a million lists in each other"),
        b'{"version":4,"entries":[\xff',
    ],
)
def test_a_file_that_cannot_be_read_is_no_error_and_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = FeedbackStore(path)
    assert past(store) is None
    store.learn([LOSS])
    assert losses(FeedbackStore(path)) == 1


@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_file_of_ours_is_left_as_it_is_and_lessons_stay_in_memory(path: Path, strange: str, caplog: Any) -> None:
    path.parent.mkdir()
    make_strange(path, strange)
    before = state_of(path.parent)
    store = FeedbackStore(path)
    store.learn([LOSS])
    store.flush()
    assert losses(store) == 1 and str(path) in caplog.text
    assert {name: state for name, state in state_of(path.parent).items() if name != "feedback.lock"} == before


@pytest.mark.parametrize("strange", STRANGE)
def test_a_lock_file_that_is_not_ours_is_left_as_it_is(path: Path, strange: str) -> None:
    path.parent.mkdir()
    make_strange(path.with_suffix(".lock"), strange)
    before = state_of(path.parent)
    store = FeedbackStore(path)
    store.learn([LOSS])
    store.flush()
    assert losses(store) == 1 and state_of(path.parent) == before


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    FeedbackStore(path).learn([LOSS])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_entry_with_all_its_parts_is_believed(path: Path) -> None:
    path.parent.mkdir()
    path.write_text(f'{{"version":{VERSION},"entries":[{WHOLE}]}}')
    assert past(FeedbackStore(path)) == Observation(7, 0.5, 0.25, 64, 0.125)


def test_a_file_of_an_older_version_is_forgotten(path: Path) -> None:
    store = FeedbackStore(path)
    store.learn([LOSS])
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "version": content["version"] - 1}, separators=(",", ":")))
    assert past(FeedbackStore(path)) is None
    path.write_text(json.dumps(content, separators=(",", ":")))
    assert past(FeedbackStore(path)) == Observation(1, 1.0)


def test_a_place_that_cannot_be_written_leaves_it_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FeedbackStore(tmp_path / "file" / "feedback.json")
    store.learn([LOSS])
    assert losses(store) == 1


@pytest.mark.parametrize("name", [".", "/", "a/folder"])
def test_a_path_that_is_no_files_leaves_it_in_memory_and_nothing_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / "a" / "folder").mkdir(parents=True)
    store = FeedbackStore(Path(name) if name in ("/", ".") else tmp_path / name)
    store.learn([LOSS])
    assert losses(store) == 1
    assert [path.name for path in (tmp_path / "a").iterdir() if path.suffix != ".lock"] == ["folder"]


def test_what_could_not_be_written_is_written_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = FeedbackStore(path), FeedbackStore(path)
    monkeypatch.setattr(module, "LOCK_WAIT_S", 0.05)
    path.parent.mkdir()
    with FileLock(path.with_suffix(".lock")):
        store.learn([LOSS])
    other.learn([replace(LOSS, key="another")])
    store.flush()
    assert losses(FeedbackStore(path)) == losses(FeedbackStore(path), replace(LOSS, key="another")) == 1


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
    (table / "part-0.parquet").touch()
    assert index_state(f"file:{table}/part-0.parquet", "") == index_state(f"file:{table}", "")
    (table / "another").mkdir()
    assert index_state(f"file:{table}/another", "") == "", "what is above a table is another one"
    assert index_state(f"file:{table}/another\nfile:{table}", "") == index_state(f"file:{table}", "") != "", "of several places"
    assert index_state("s3a://bucket/t", "") is None
    assert index_state("s3a://bucket/t", str(table / "_rtfilter")) == index_state(f"file:{table}", "")
