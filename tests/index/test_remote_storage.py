"""Indexes behind somebody else's steps: the same actions, and writers that die or fail at every step of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rtfilter.errors import IndexStateError, IndexStorageError
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.build import LocalRunner
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files import log
from rtfilter.store.index_files.local_cache import digest_name
from rtfilter.store.remote.remote_storage import RemoteStorage
from rtfilter.store.remote.remote_table import RemoteFile, RemoteSketching, list_remote_table
from tests.cases_share import steps
from tests.index.remote_files import FarFiles, GoneError, cache_of, far, far_storage
from tests.index.tables import create_index, definition, storage_of, write_part
from tests.index.test_crashes import act as act_here
from tests.index.test_crashes import act_on, check_readers_are_right, prepared

MOST_STEPS = 200
ACTIONS = ["create", "refresh", "optimize", "delete", "restore", "vacuum", "vacuum deleted"]


def act(folder: Path, action: str, storage: RemoteStorage) -> None:
    """The action on the table as the other filesystem shows it."""
    act_on(list_remote_table(FarFiles(), far(folder)), action, storage, LocalRunner(1, RemoteSketching(FarFiles())))


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_leaves_what_it_leaves_on_a_local_disk(tmp_path: Path, action: str) -> None:
    for folder in (tmp_path / "near", tmp_path / "far"):
        prepared(folder, action)
    act_here(tmp_path / "near", action, storage_of(tmp_path / "near"))
    act(tmp_path / "far", action, far_storage(tmp_path / "far"))
    views = [log.read_log(storage_of(tmp_path / name)) for name in ("near", "far")]
    assert views[0].number == views[1].number and views[0].state == views[1].state
    assert (views[0].snapshot is None) == (views[1].snapshot is None)
    if views[0].snapshot is not None and views[1].snapshot is not None:
        assert views[0].snapshot.packs == views[1].snapshot.packs


@pytest.mark.parametrize("dies", ["before", "after", None])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_step_that_fails_or_is_the_last_one_harms_nobody(tmp_path: Path, action: str, dies: str | None) -> None:
    went_wrong = 0
    prepared(tmp_path / "before", action)
    for step in steps(MOST_STEPS):
        folder = tmp_path / str(step)
        # With times as they are: the index knows its files by them.
        shutil.copytree(tmp_path / "before", folder)
        state_before = log.read_log(storage_of(folder)).state
        files = FarFiles(step, dies)
        try:
            act(folder, action, far_storage(folder, files))
        except (GoneError, IndexStorageError, IndexStateError):
            went_wrong += 1
        if files.step < step:
            break
        check_readers_are_right(folder)
        again = far_storage(folder)
        if log.read_log(again).under_way is not None:
            assert log.read_log(again).state == state_before
            with pytest.raises(IndexStateError, match="run cancel"):
                act(folder, action, again)
            assert log.cancel(again).state == state_before
            check_readers_are_right(folder)
        if log.read_log(again).state == state_before:
            act(folder, action, again)
        check_readers_are_right(folder)
    else:
        pytest.fail("the action never came to its end")
    assert went_wrong >= 2


def test_a_half_written_entry_is_passed_over_until_cancel(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    number = log.read_log(far_storage(tmp_path)).number
    files = FarFiles()
    storage = far_storage(tmp_path, files)
    before = log.begin(storage, log.REFRESH)
    # The next step asks for the filesystem's abilities, the one after it writes.
    files.fails_at = files.step + 2
    assert before.snapshot is not None
    with pytest.raises(IndexStateError, match="cancelled by somebody else"):
        log.end(storage, log.REFRESH, before, log.ACTIVE, before.snapshot)
    view = log.read_log(storage)
    assert view.under_way is not None and view.under_way.state == log.UNREADABLE and view.number == number + 2
    check_readers_are_right(tmp_path)
    assert log.cancel(storage).state == log.ACTIVE


def test_a_writer_knows_its_own_entry_when_the_answer_got_lost(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    act(tmp_path, "refresh", far_storage(tmp_path, FarFiles(conditional=True, answers_lost=2), allowed=()))
    assert log.read_log(storage_of(tmp_path)).under_way is None


def test_an_entry_of_somebody_else_is_not_taken_for_ones_own(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    storage = far_storage(tmp_path)
    before = log.read_log(storage)
    log.begin(storage, log.OPTIMIZE)
    assert not storage.create(f"log/{before.number + 1:020d}.json", b'{"format": 1}')


def test_a_scheme_that_nobody_vouches_for_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_part(tmp_path / "t", "p0.parquet", 0)
    with pytest.raises(IndexStorageError, match=r"'far'.*add far to rtfilter\.store\.schemes"):
        create_index(tmp_path / "t", far_storage(tmp_path / "t", allowed=()))
    assert not (tmp_path / "t" / "_rtfilter").exists()


def test_data_files_are_uploaded_once(tmp_path: Path) -> None:
    prepared(tmp_path, "refresh")
    files = FarFiles()
    table = list_directory(str(tmp_path))
    actions.refresh(far_storage(tmp_path, files), "full", table, LocalRunner(1))
    first = files.done.count("up")
    assert first > 0 and files.done.count("rename") == first
    actions.refresh(far_storage(tmp_path, files), "full", table, LocalRunner(1))
    assert files.done.count("up") == first


def test_a_table_there_is_listed_and_read_as_here(tmp_path: Path) -> None:
    table = tmp_path / "t"
    for name, first in (("a=1/p0.parquet", 0), ("a=1/_hidden.parquet", 7), ("a=2/p1.parquet", 50), ("_rtfilter/x.parquet", 3)):
        write_part((table / name).parent, os.path.basename(name), first)
    (table / "empty.parquet").touch()
    files = FarFiles()
    listed, here = list_remote_table(files, far(table)), list_directory(str(table))
    assert [each.path for each in listed.files] == [far(each.local) for each in here.files]
    assert [(each.size_bytes, each.mtime_ms) for each in listed.files] == [(e.size_bytes, e.mtime_ms) for e in here.files]
    assert listed.root == far(table)
    report = actions.create(far_storage(table), definition(listed), listed, LocalRunner(1, RemoteSketching(files)))
    assert (report.files, report.packs, report.problems) == (2, 10, ())
    near = actions.create(storage_of(table, "near"), definition(here, name="near"), here, LocalRunner(1))
    assert (near.bytes_read, near.packs) == (report.bytes_read, report.packs)


def test_a_file_that_is_replaced_while_it_is_read_is_a_problem(tmp_path: Path) -> None:
    path = write_part(tmp_path, "p0.parquet", 0)
    listed = list_remote_table(FarFiles(), far(tmp_path))
    os.utime(path, (1, 1))
    runner = LocalRunner(1, RemoteSketching(FarFiles()))
    report = actions.create(far_storage(tmp_path), definition(listed), list_remote_table(FarFiles(), far(tmp_path)), runner)
    assert report.problems == ()
    report = actions.refresh(far_storage(tmp_path), "incremental", listed, runner)
    assert [problem for _, problem in report.problems] == ["ValueError: the file has changed since it was listed"]


def test_parts_of_a_file_there_are_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(range(100)))
    file = RemoteFile(FarFiles(), far(tmp_path / "f"), 100)
    assert file.seek(-3, os.SEEK_END) == 97 and file.read() == bytes([97, 98, 99])
    file.seek(10)
    assert file.read(5) == bytes(range(10, 15)) and file.tell() == 15
    assert file.seek(5, os.SEEK_CUR) == 20


def test_the_cache_drops_what_was_not_used_for_the_longest_time(tmp_path: Path) -> None:
    cache = cache_of(tmp_path / "t", 250)
    names = []
    for number in range(3):
        scratch = cache.scratch()
        Path(scratch).write_bytes(bytes([number]) * 100)
        names.append(digest_name(scratch))
        path = cache.admit(scratch, names[-1])
        os.utime(path, (number + 1, number + 1))
        if number == 1:
            assert cache.find(names[0]) is not None
    assert [cache.find(name) is not None for name in names] == [True, False, True]


def test_the_cache_takes_in_nothing_but_what_the_name_says(tmp_path: Path) -> None:
    cache = cache_of(tmp_path / "t")
    scratch = cache.scratch()
    Path(scratch).write_bytes(b"half of")
    with pytest.raises(IndexStorageError, match="damaged"):
        cache.admit(scratch, "data/" + "0" * 64 + ".parquet")
    assert not os.path.exists(scratch) and not os.listdir(cache.folder)


def test_what_a_dead_process_left_in_the_cache_goes(tmp_path: Path) -> None:
    cache = cache_of(tmp_path / "t")
    dead, alive, scratch = (cache.scratch() for _ in range(3))
    for path in (dead, alive, scratch):
        Path(path).write_bytes(b"x")
    os.utime(dead, (1, 1))
    cache.admit(scratch, digest_name(scratch))
    assert os.path.exists(alive) and not os.path.exists(dead)
