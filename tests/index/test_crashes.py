"""Writers that die at every step of every action, and writers that meet: readers stay right, and the next action works."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from rtfilter.errors import IndexStateError
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.build import LocalRunner
from rtfilter.store.index_actions.listing import ListedTable, list_directory
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import IndexStorage, LocalStorage
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.sketches.column_tests import ValueTest, long_keys
from tests.cases_share import steps
from tests.index.dying_storage import DyingStorage, Killed
from tests.index.tables import RUNNER, create_index, definition, kept, storage_of, told_to_two_writers, write_part

WANTED = ValueTest(long_keys([25]))
MOST_STEPS = 60
MOST_TOUCHES = 200
ACTIONS = ("create", "refresh", "optimize", "delete", "restore", "vacuum", "vacuum deleted")


def prepared(folder: Path, action: str) -> None:
    write_part(folder, "p0.parquet", 0)
    if action != "create":
        create_index(folder)
    if action in ("refresh", "optimize", "vacuum", "cancel"):
        write_part(folder, "p1.parquet", 50)
    if action in ("optimize", "vacuum"):
        actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    if action == "vacuum":
        actions.optimize(storage_of(folder), "full", list_directory(str(folder)))
    if action in ("restore", "vacuum deleted"):
        actions.delete(storage_of(folder))
    if action == "cancel":
        log.begin(storage_of(folder), log.REFRESH)


def act(folder: Path, action: str, storage: IndexStorage) -> None:
    act_on(list_directory(str(folder)), action, storage, RUNNER)


def act_on(table: ListedTable, action: str, storage: IndexStorage, runner: LocalRunner) -> None:
    if action == "create":
        actions.create(storage, definition(table), table, runner)
    elif action == "refresh":
        actions.refresh(storage, "incremental", table, runner)
    elif action == "optimize":
        actions.optimize(storage, "full", table)
    else:
        {"delete": actions.delete, "restore": actions.restore}.get(action, actions.vacuum)(storage)


def check_readers_are_right(folder: Path) -> None:
    """What is there now, whatever it is, keeps the pack with the wanted row, and every file of which it knows nothing."""
    index = open_index(storage_of(folder))
    if index is not None:
        packs = kept(index, folder, "a", WANTED)["p0.parquet"]
        assert packs is None or packs[2]
        assert not index.problems


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_writer_that_dies_at_any_step_harms_nobody(tmp_path: Path, action: str, before: bool) -> None:
    died = 0
    for step in steps(MOST_STEPS):
        folder = tmp_path / str(step)
        prepared(folder, action)
        state_before = log.read_log(storage_of(folder)).state
        try:
            act(folder, action, DyingStorage(storage_of(folder).place, step, before))
        except Killed:
            died += 1
        else:
            break
        check_readers_are_right(folder)
        view = log.read_log(storage_of(folder))
        if view.under_way is not None:
            assert view.state == state_before
            with pytest.raises(IndexStateError, match="run cancel"):
                act(folder, action, storage_of(folder))
            assert log.cancel(storage_of(folder)).state == state_before
            check_readers_are_right(folder)
            act(folder, action, storage_of(folder))
            check_readers_are_right(folder)
    else:
        pytest.fail("the action never came to its end")
    assert died >= 2


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("before", [True, False])
def test_a_cancel_that_dies_can_be_cancelled(tmp_path: Path, step: int, before: bool) -> None:
    prepared(tmp_path, "refresh")
    log.begin(storage_of(tmp_path), log.REFRESH)
    with pytest.raises(Killed):
        log.cancel(DyingStorage(storage_of(tmp_path).place, step, before))
    check_readers_are_right(tmp_path)
    view = log.cancel(storage_of(tmp_path))
    assert view.state == log.ACTIVE and view.under_way is None
    act(tmp_path, "refresh", storage_of(tmp_path))


# What a process does to files and directories, as the interpreter tells of it (docs.python.org, "Audit events table").
FILE_EVENTS = {
    "open",
    "os.link",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "os.truncate",
    "os.utime",
}


def act_and_be_killed(folder: Path, action: str, dies_at: int) -> None:
    """In a process of its own: killed just before the n-th time that it touches the index's directory."""
    touched = 0

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal touched
        if event in FILE_EVENTS and any(
            "_rtfilter" in os.fsdecode(each) for each in args if isinstance(each, (str, bytes, os.PathLike))
        ):
            touched += 1
            if touched == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    if action == "cancel":
        log.cancel(storage_of(folder))
    else:
        act(folder, action, storage_of(folder))


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServerContext]:
    """Fresh processes that have what this file imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    yield context


@pytest.mark.parametrize("action", [*ACTIONS, "cancel"])
def test_a_process_killed_at_any_touch_of_a_file_harms_nobody(tmp_path: Path, processes: ForkServerContext, action: str) -> None:
    killed = 0
    for dies_at in steps(MOST_TOUCHES):
        folder = tmp_path / str(dies_at)
        prepared(folder, action)
        state_before = log.read_log(storage_of(folder)).state
        process = processes.Process(target=act_and_be_killed, args=(folder, action, dies_at))
        process.start()
        process.join(60)
        if process.exitcode != -signal.SIGKILL:
            assert process.exitcode == 0
            break
        killed += 1
        check_readers_are_right(folder)
        if log.read_log(storage_of(folder)).under_way is not None:
            assert log.cancel(storage_of(folder)).state == state_before
            check_readers_are_right(folder)
        again = "refresh" if action == "cancel" else action
        with suppress(IndexStateError):  # it may have been done: an index deleted twice, say
            act(folder, again, storage_of(folder))
        check_readers_are_right(folder)
        assert log.read_log(storage_of(folder)).under_way is None
        if open_index(storage_of(folder)) is not None:
            actions.vacuum(storage_of(folder))
            assert not [name for name in os.listdir(Path(storage_of(folder).place) / "data") if name.startswith(".scratch-")]
    else:
        pytest.fail("the action never came to its end")
    assert killed >= 4


def test_of_two_writers_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    outcomes = told_to_two_writers(lambda: act(tmp_path, "refresh", storage_of(tmp_path)))
    # The slower one may also come after the end of the faster one, and then has nothing to read.
    assert "done" in outcomes
    assert all(each == "done" or "another writer" in each or "REFRESHING" in each for each in outcomes)
    assert log.read_log(storage_of(tmp_path)).number in (4, 6)


def test_two_writers_at_the_same_moment_never_both_begin(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    storage = storage_of(tmp_path)

    class Slow(LocalStorage):
        """Lets another writer in between its look at the log and its first entry."""

        def create(self, name: str, content: bytes) -> bool:
            if self is slow and not raced:
                raced.append(log.begin(storage, log.REFRESH))
            return super().create(name, content)

    raced: list[log.LogView] = []
    slow = Slow(storage.place)
    with pytest.raises(IndexStateError, match="another writer has just begun"):
        act(tmp_path, "optimize", slow)
    assert log.read_log(storage).under_way is not None


def test_a_writer_that_was_cancelled_finds_out_and_changes_nothing(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    storage = storage_of(tmp_path)
    before = log.begin(storage, log.REFRESH)
    log.cancel(storage)
    after_cancel = log.read_log(storage)
    assert before.snapshot is not None
    with pytest.raises(IndexStateError, match="was cancelled by somebody else"):
        log.end(storage, log.REFRESH, before, log.ACTIVE, before.snapshot)
    assert log.read_log(storage) == after_cancel


def test_a_reader_during_a_refresh_sees_the_snapshot_before_it(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    storage = storage_of(tmp_path)
    reader = open_index(storage)
    assert reader is not None
    before = log.begin(storage, log.REFRESH)
    during = open_index(storage)
    assert during is not None and during.snapshot == reader.snapshot
    log.end(storage, log.REFRESH, before, log.ACTIVE, reader.snapshot)
    act(tmp_path, "refresh", storage)
    assert kept(reader, tmp_path, "a", WANTED)["p1.parquet"] is None
    index = open_index(storage)
    assert index is not None and kept(index, tmp_path, "a", WANTED)["p1.parquet"] == [False] * 5


def test_cancel_without_anything_under_way_changes_nothing(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    number = log.read_log(storage_of(tmp_path)).number
    assert log.cancel(storage_of(tmp_path)).number == number
