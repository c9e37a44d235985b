"""Indexes that take long to open, or for ever: no query waits longer than half a second, and none twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtfilter.errors import IndexStorageError
from rtfilter.store import open_indexes
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files import catalog, log, snapshot
from rtfilter.store.index_files.index_problems import INDEX_CORRUPT, INDEX_SLOW, INDEX_TOO_LARGE, IndexProblem, IndexProblemError
from rtfilter.store.index_files.open_limits import Allowance
from rtfilter.store.index_reading import background_opening, reader
from rtfilter.store.index_reading.background_opening import Openings
from rtfilter.store.index_reading.found_index import ShelvedIndex
from rtfilter.store.index_reading.reader import PackIndex
from rtfilter.store.index_reading.reading_journal import ReadingJournal, digest_of
from rtfilter.store.open_indexes import IndexShelf
from tests.index.tables import RUNNER, create_index, indexed_table, storage_of, write_part

NEVER = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return indexed_table(tmp_path / "t")


def place_of(folder: Path) -> str:
    return str(folder / "_rtfilter")


def entry_of(folder: Path) -> Path:
    return folder / "_rtfilter" / "i" / "log" / f"{2:020d}.json"


def poison(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the snapshot in an index's log."""
    entry = json.loads(entry_of(folder).read_text())
    change(entry["snapshot"])
    entry_of(folder).write_text(json.dumps(entry))


def only(found: list[ShelvedIndex]) -> ShelvedIndex:
    (one,) = found
    return one


def repeat(snapshot: dict[str, Any]) -> None:
    snapshot["segments"] *= 20_000


def repeat_less(snapshot: dict[str, Any]) -> None:
    snapshot["segments"] *= 2


def many_rows(snapshot: dict[str, Any]) -> None:
    for file in (snapshot["segments"][0]["packs"], *snapshot["segments"][0]["sketches"]):
        file["rows"] = 2**62


def other_rows(snapshot: dict[str, Any]) -> None:
    """Two segments that say different things of the same file."""
    other = json.loads(json.dumps(snapshot["segments"][0]))
    other["files"]["name"] = "data/" + "0" * 64 + ".parquet"
    for file in (other["packs"], *other["sketches"]):
        file["rows"] = 4
    snapshot["segments"].append(other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (repeat, "more than 8388608 bytes"),
        (repeat_less, "two segments have the same files"),
        (many_rows, "4611686018427387904 is below 0 or above 1000000000"),
        (other_rows, "5 rows, and"),
        (lambda snapshot: snapshot["segments"][0]["packs"].update(rows=float("inf")), "inf is no number of them"),
        (lambda snapshot: snapshot["drift"].update(changed=True), "True is no number of them"),
    ],
)
def test_what_no_writer_writes_is_damage_and_said(folder: Path, change: Callable[[dict[str, Any]], None], said: str) -> None:
    poison(folder, change)
    found = only(IndexShelf().shelved([place_of(folder)]))
    assert found.index is None and [each.reason for each in found.problems] == [INDEX_CORRUPT]
    assert "entry 2 of its log can't be read" in found.sentence and said in found.sentence


def test_segments_may_share_files_of_equal_content(folder: Path) -> None:
    def share(snapshot: dict[str, Any]) -> None:
        other = json.loads(json.dumps(snapshot["segments"][0]))
        other["files"]["name"] = "data/" + "0" * 64 + ".parquet"
        snapshot["segments"].append(other)

    poison(folder, share)
    assert only(IndexShelf().shelved([place_of(folder)])).index is not None


def test_an_entry_of_very_many_lists_is_not_even_parsed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_of(folder).write_bytes(b"[" + b"[]," * 200_000 + b"0]")
    original = json.loads
    with monkeypatch.context() as parsing:
        parsing.setattr(json, "loads", lambda text: original(text) if len(text) < 10_000 else pytest.fail("it was parsed"))
        found = only(IndexShelf().shelved([place_of(folder)]))
    assert "200001 lists and objects" in found.sentence


def test_a_writer_makes_no_entry_that_no_reader_takes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LARGEST_LOG_ENTRY_BYTES", 100)
    write_part(folder, "p1.parquet", 1000)
    with pytest.raises(IndexStorageError, match="would have 2 segments, more than an entry"):
        actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)


def test_a_refresh_of_too_many_segments_reads_no_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MOST_SEGMENTS", 1)
    monkeypatch.setattr(actions, "build_segment", None)
    write_part(folder, "p1.parquet", 1000)
    with pytest.raises(IndexStorageError, match="would have 2 segments, more than an entry"):
        actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert log.read_log(storage_of(folder)).under_way is None and snapshot.MOST_SEGMENTS > 1


def count_opens(monkeypatch: pytest.MonkeyPatch, before: Callable[[], None] = lambda: None) -> list[str]:
    """The indexes whose log is read from now on."""
    opened: list[str] = []
    original = log.read_log

    def counted(storage: Any, allowance: Allowance) -> log.LogView:
        opened.append(storage.place)
        before()
        return original(storage, allowance)

    monkeypatch.setattr(open_indexes, "read_log", counted)
    return opened


def test_an_index_that_took_too_long_is_left_alone_and_tried_again_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([NEVER, NEVER, 0, 0, 0, 0])
    opened = count_opens(monkeypatch)
    found = IndexShelf()
    monkeypatch.setattr(Allowance, "check", lambda self: _slow() if next(spent) else None)
    texts = []
    for _ in range(3):
        one = only(found.shelved([place_of(folder)]))
        assert one.index is None and [each.reason for each in one.problems] == [INDEX_SLOW]
        texts.append(one.sentence)
        # What is left alone is not looked at, whatever happens in it.
        entry_of(folder).touch()
    assert len(opened) == 1 and "left alone for 10 minutes" in texts[1] and "optimize and vacuum it" in texts[1]
    _let_pass(found, background_opening.ALONE_S)
    assert "left alone for 20 minutes" in [only(found.shelved([place_of(folder)])).sentence for _ in range(2)][1]
    assert len(opened) == 2
    _let_pass(found, 2 * background_opening.ALONE_S)
    assert only(found.shelved([place_of(folder)])).index is not None


def _slow() -> None:
    raise IndexProblemError(INDEX_SLOW, "it takes long")


def _let_pass(found: IndexShelf, seconds: float) -> None:
    left = found._openings._left
    for folder, each in left.items():
        left[folder] = replace(each, until_s=each.until_s - seconds)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def test_what_hangs_is_waited_for_once_and_holds_up_no_other_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    original = log.read_log

    def hanging(storage: Any, allowance: Allowance) -> log.LogView:
        if not storage.place.startswith(str(other)):
            gate.wait()
        return original(storage, allowance)

    monkeypatch.setattr(open_indexes, "read_log", hanging)
    monkeypatch.setattr(background_opening, "WAIT_S", 0.2)
    found = IndexShelf()
    assert [each.reason for each in only(found.shelved([place_of(folder)])).problems] == [INDEX_SLOW]
    began = time.monotonic()
    for _ in range(20):
        assert "it is not open yet" in only(found.shelved([place_of(folder)])).sentence
    assert time.monotonic() - began < 0.2, "waited for again"
    assert only(found.shelved([place_of(other)])).index is not None
    monkeypatch.setattr(background_opening, "WALL_S", 0.0)
    assert "it could not be opened within 10 s" in only(found.shelved([place_of(folder)])).sentence
    gate.set()
    until = time.monotonic() + 10
    while only(found.shelved([place_of(folder)])).index is None and time.monotonic() < until:
        time.sleep(0.01)
    assert only(found.shelved([place_of(folder)])).index is not None


def test_a_catalog_that_comes_late_is_there_for_later_queries(
    folder: Path, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    original = catalog.load_catalog
    loaded = []

    def late(*arguments: Any) -> Any:
        gate.wait()
        loaded.append(1)
        return original(*arguments)

    monkeypatch.setattr(reader, "load_catalog", late)
    index = only(IndexShelf().shelved([place_of(folder)])).index
    assert isinstance(index, PackIndex)
    began = time.monotonic()
    assert index.catalog(began + 0.1).by_path == {} and index.problems["catalog"].reason == INDEX_SLOW
    assert time.monotonic() - began < 0.4
    gate.set()
    until = time.monotonic() + 10
    while not index.catalog().by_path and time.monotonic() < until:
        time.sleep(0.01)
    assert list(index.catalog().by_path) == ["p0.parquet"] and index.problems == {} and loaded == [1]


def test_a_catalog_that_takes_too_long_has_the_index_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_part(folder, "p1.parquet", 1000)
    actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    monkeypatch.setattr(reader, "load_catalog", lambda *_: _slow())
    found = IndexShelf()
    index = only(found.shelved([place_of(folder)])).index
    assert index is not None and index.catalog().by_path == {}
    one = only(found.shelved([place_of(folder)]))
    assert one.index is None and one.root == str(folder) and "left alone" in one.sentence


def test_a_log_of_very_many_files_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_indexes, "MOST_LOG_FILES", 1)
    found = IndexShelf()
    for _ in range(2):
        one = only(found.shelved([place_of(folder)]))
        assert [each.reason for each in one.problems] == [INDEX_TOO_LARGE] and "more than 1 files; vacuum it" in one.sentence
    assert "left alone" in one.sentence


def test_time_that_others_take_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    allowance = Allowance(cpu_s=0.05, wall_s=NEVER)
    with allowance.at_work():
        time.sleep(0.1)
        allowance.check()
        until = time.thread_time() + 0.06
        while time.thread_time() < until:
            pass
        with pytest.raises(IndexProblemError, match="of a processor"):
            allowance.check()
    with allowance.at_work(), pytest.raises(IndexProblemError):
        allowance.check()


def test_only_so_many_that_are_left_alone_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_opening, "MOST_LEFT_ALONE", 3)
    found = Openings()
    for number in range(5):
        found.leave_alone(f"/i{number}", IndexProblem(INDEX_SLOW, "slow"))
    found.check("/i1")
    with pytest.raises(IndexProblemError, match="slow; it is left alone"):
        found.check("/i2")


def test_what_a_process_was_reading_when_it_was_killed_is_left_alone_by_the_next_one(folder: Path, tmp_path: Path) -> None:
    write_part(tmp_path / "other", "p0.parquet", 0)
    create_index(tmp_path / "other")
    code = (
        "import os, signal, sys\n"
        "from rtfilter.store.index_reading.reading_journal import ReadingJournal\n"
        "journal = ReadingJournal(sys.argv[1])\n"
        "with journal.reading(sys.argv[3]):\n    pass\n"
        "with journal.reading(sys.argv[2]):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    notes = str(tmp_path / "notes")
    indexes = [place + "/i" for place in (place_of(folder), place_of(tmp_path / "other"))]
    assert subprocess.run([sys.executable, "-c", code, notes, *indexes], check=False).returncode == -signal.SIGKILL
    journal = ReadingJournal(notes)
    found = IndexShelf(journal)
    assert only(found.shelved([place_of(tmp_path / "other")])).index is not None
    for _ in range(2):
        one = only(found.shelved([place_of(folder)]))
        assert one.index is None and "the planner host ended while it was reading it; it is left alone" in one.sentence
    _let_pass(found, background_opening.ALONE_S)
    assert only(found.shelved([place_of(folder)])).index is not None
    assert ReadingJournal(notes).left_behind == frozenset()
    journal.close()
    assert not os.path.exists(notes)


def test_notes_are_taken_only_in_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    (tmp_path / "open").touch()
    (tmp_path / "open").chmod(0o666)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "open", "pipe"):
        with pytest.raises(OSError, match=r"no ordinary file|others can write"):
            ReadingJournal(str(tmp_path / name))
    assert (tmp_path / "theirs").read_bytes() == b"theirs"


def test_more_indexes_than_there_is_room_for_notes_are_read_all_the_same(tmp_path: Path) -> None:
    journal = ReadingJournal(str(tmp_path / "notes"))
    with ExitStack() as many:
        for number in range(200):
            many.enter_context(journal.reading(f"/i{number}"))
        assert len(ReadingJournal(str(tmp_path / "notes")).left_behind) == 64
    with journal.reading("/again"):
        assert digest_of("/again") in ReadingJournal(str(tmp_path / "notes")).left_behind
