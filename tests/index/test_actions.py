"""Actions on an index: what each one leaves, which states allow it, and what a refresh reads."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rtfilter.errors import IndexDefinitionError, IndexStateError, IndexStorageError
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.build import Progress
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files import log, segments
from rtfilter.store.index_files.snapshot import Drift
from rtfilter.store.index_files.storage import DATA, LOG
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.sketches.column_tests import ValueTest, byte_keys, long_keys
from tests.index.tables import RUNNER, create_index, definition, kept, opened, storage_of, write_part

WANTED = ValueTest(long_keys([25]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    write_part(tmp_path / "t", "p1.parquet", 50)
    return tmp_path / "t"


def refresh(folder: Path, mode: str) -> int:
    """Bytes that it has read of the table."""
    return actions.refresh(storage_of(folder), mode, list_directory(str(folder)), RUNNER).bytes_read


def test_a_created_index_rejects_packs_and_knows_every_file(folder: Path) -> None:
    report = create_index(folder)
    assert (report.files, report.packs, report.problems) == (2, 10, ())
    index = opened(folder)
    assert kept(index, folder, "a", WANTED) == {"p0.parquet": [False, False, True, False, False], "p1.parquet": [False] * 5}
    text = ValueTest(byte_keys([b"s000000070"]))
    assert kept(index, folder, "s", text) == {"p0.parquet": [False] * 5, "p1.parquet": [False, False, True, False, False]}
    assert not index.problems


def test_a_listing_passes_over_what_spark_hides(folder: Path) -> None:
    create_index(folder)
    (folder / "_SUCCESS").write_text("x")
    (folder / ".part.crc").write_text("x")
    write_part(folder / "_k=1", "p2.parquet", 100)
    names = [os.path.relpath(file.local, folder) for file in list_directory(str(folder)).files]
    assert names == ["_k=1/p2.parquet", "p0.parquet", "p1.parquet"]


def test_an_incremental_refresh_reads_new_and_changed_files_only(folder: Path) -> None:
    create_index(folder)
    whole = refresh(folder, "full")
    assert refresh(folder, "incremental") == 0
    write_part(folder, "p2.parquet", 20)
    assert kept(opened(folder), folder, "a", WANTED)["p2.parquet"] is None
    one_file = refresh(folder, "incremental")
    assert 0 < one_file < whole * 0.6
    assert kept(opened(folder), folder, "a", WANTED)["p2.parquet"] == [True, False, False, False, False]
    write_part(folder, "p0.parquet", 1000, rows=40)
    assert kept(opened(folder), folder, "a", WANTED)["p0.parquet"] is None
    assert 0 < refresh(folder, "incremental") < whole * 0.6
    index = opened(folder)
    assert kept(index, folder, "a", WANTED)["p0.parquet"] == [False] * 4
    assert len(index.snapshot.segments) == 3


def test_a_file_that_is_gone_is_ignored_and_its_segment_goes_with_the_next_refresh(folder: Path) -> None:
    create_index(folder)
    write_part(folder, "p2.parquet", 20)
    refresh(folder, "incremental")
    (folder / "p2.parquet").unlink()
    assert set(kept(opened(folder), folder, "a", WANTED)) == {"p0.parquet", "p1.parquet"}
    refresh(folder, "incremental")
    assert len(opened(folder).snapshot.segments) == 1


def test_a_quick_refresh_reads_nothing_and_says_how_far_the_table_has_moved_on(folder: Path) -> None:
    create_index(folder)
    write_part(folder, "p2.parquet", 20)
    write_part(folder, "p3.parquet", 20)
    write_part(folder, "p0.parquet", 7, rows=20)
    (folder / "p1.parquet").unlink()
    assert refresh(folder, "quick") == 0
    snapshot = opened(folder).snapshot
    assert snapshot.drift == Drift(appended=2, changed=1, deleted=1) and snapshot.segments == ()
    assert kept(opened(folder), folder, "a", WANTED) == {"p0.parquet": None, "p2.parquet": None, "p3.parquet": None}


def test_optimize_merges_segments_without_a_change_of_verdicts(folder: Path) -> None:
    create_index(folder)
    for number in (2, 3, 4):
        write_part(folder, f"p{number}.parquet", 10 * number)
        refresh(folder, "incremental")
    (folder / "p3.parquet").unlink()
    before = kept(opened(folder), folder, "a", WANTED)
    assert actions.optimize(storage_of(folder), "quick", list_directory(str(folder))) == 1
    index = opened(folder)
    assert kept(index, folder, "a", WANTED) == before and index.snapshot.packs == 20
    assert sum(packs.count(False) for packs in before.values() if packs) > 10 and not index.problems


def test_a_deleted_index_rejects_nothing_until_it_is_restored(folder: Path) -> None:
    create_index(folder)
    storage = storage_of(folder)
    actions.delete(storage)
    assert open_index(storage) is None
    actions.restore(storage)
    assert kept(opened(folder), folder, "a", WANTED)["p1.parquet"] == [False] * 5


def test_vacuum_of_a_deleted_index_leaves_nothing_but_its_log(folder: Path) -> None:
    create_index(folder)
    storage = storage_of(folder)
    actions.delete(storage)
    assert actions.vacuum(storage) == 5
    assert storage.names(DATA) == [] and log.read_log(storage).state == log.DOES_NOT_EXIST
    create_index(folder)
    assert kept(opened(folder), folder, "a", WANTED)["p1.parquet"] == [False] * 5


def test_vacuum_removes_entries_of_the_log_that_are_over_and_old(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = storage_of(folder)
    create_index(folder)
    for number in (2, 3):
        write_part(folder, f"p{number}.parquet", 50 * number)
        refresh(folder, "incremental")
    before = storage.names(LOG)
    actions.vacuum(storage)
    assert storage.names(LOG)[: len(before)] == before, "a writer may still be at work behind young entries"
    monkeypatch.setattr(log, "KEPT_S", -1.0)
    actions.vacuum(storage)
    assert len(storage.names(LOG)) == 3 and log.read_log(storage).number == len(before) + 4
    assert kept(opened(folder), folder, "a", ValueTest(long_keys([125])))["p2.parquet"] == [False, False, True, False, False]
    write_part(folder, "p4.parquet", 200)
    refresh(folder, "incremental")
    assert kept(opened(folder), folder, "a", ValueTest(long_keys([225])))["p4.parquet"] == [False, False, True, False, False]


def test_vacuum_of_an_active_index_removes_old_snapshots_only(folder: Path) -> None:
    create_index(folder)
    storage = storage_of(folder)
    write_part(folder, "p1.parquet", 500)
    refresh(folder, "full")
    before = kept(opened(folder), folder, "a", WANTED)
    assert actions.vacuum(storage) == 5
    assert kept(opened(folder), folder, "a", WANTED) == before and not opened(folder).problems


@pytest.mark.parametrize(
    ("state", "action", "words"),
    [
        ("none", "refresh", "use create first"),
        ("none", "delete", "use create first"),
        ("none", "restore", "use create first"),
        ("none", "vacuum", "use create first"),
        ("active", "create", "use refresh, or another name"),
        ("active", "restore", "not deleted"),
        ("deleted", "create", "use restore, or vacuum"),
        ("deleted", "refresh", "use restore first"),
        ("deleted", "optimize", "use restore first"),
        ("deleted", "delete", "deleted already"),
    ],
)
def test_an_action_that_the_state_does_not_allow_names_the_way_out(folder: Path, state: str, action: str, words: str) -> None:
    storage, table = storage_of(folder), list_directory(str(folder))
    if state != "none":
        create_index(folder)
    if state == "deleted":
        actions.delete(storage)
    do: dict[str, Callable[[], object]] = {
        "create": lambda: create_index(folder),
        "refresh": lambda: refresh(folder, "full"),
        "optimize": lambda: actions.optimize(storage, "full", table),
        "delete": lambda: actions.delete(storage),
        "restore": lambda: actions.restore(storage),
        "vacuum": lambda: actions.vacuum(storage),
    }
    with pytest.raises(IndexStateError, match=words):
        do[action]()
    assert log.read_log(storage).under_way is None


def test_an_unknown_mode_is_refused_before_anything_happens(folder: Path) -> None:
    create_index(folder)
    with pytest.raises(IndexDefinitionError, match="incremental"):
        refresh(folder, "increment")
    assert log.read_log(storage_of(folder)).number == 2


def test_a_build_that_fails_leaves_the_state_before_it(folder: Path) -> None:
    table = list_directory(str(folder))
    for part in ("p0.parquet", "p1.parquet"):
        (folder / part).write_bytes(b"no parquet")
    with pytest.raises(IndexStorageError, match="none of the table's 2 files"):
        create_index(folder)
    view = log.read_log(storage_of(folder))
    assert view.state == log.DOES_NOT_EXIST and view.under_way is None
    assert table.files and not list((folder / "_rtfilter" / "i" / "data").iterdir())


def test_a_filesystem_without_hard_links_is_refused_with_a_way_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*paths: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(IndexStorageError, match=r"no hard links.*set rtfilter.store.location"):
        create_index(folder)
    assert not [path for path in (folder / "_rtfilter").rglob("*") if path.is_file()]


def test_a_full_disk_is_an_error_of_ours_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(segments.SegmentWriter, "add_file", refuse)
    with pytest.raises(IndexStorageError, match="No space left"):
        create_index(folder)
    assert not list((folder / "_rtfilter" / "i" / "data").iterdir())
    assert log.read_log(storage_of(folder)).under_way is None


def test_one_bad_file_is_a_problem_and_the_others_are_indexed(folder: Path) -> None:
    (folder / "p0.parquet").write_bytes(b"PAR1 no parquet PAR1")
    report = create_index(folder)
    assert report.files == 1 and "p0.parquet" in report.problems[0][0]
    assert kept(opened(folder), folder, "a", WANTED)["p0.parquet"] is None


def test_a_large_file_is_read_in_portions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rtfilter.store.index_actions import build

    monkeypatch.setattr(build, "PORTION_BYTES", 700)
    told: list[Progress] = []
    table = list_directory(str(folder))
    report = actions.create(storage_of(folder), definition(table), table, RUNNER, told.append)
    assert report.packs == 10 and told[-1].portions_done == told[-1].portions_total > 4
    assert told[0].bytes_done == 0 and told[-1].bytes_done == told[-1].bytes_total == table.bytes
    assert kept(opened(folder), folder, "a", WANTED)["p0.parquet"] == [False, False, True, False, False]


@pytest.mark.parametrize("act", ["refresh", "optimize"])
def test_a_list_of_the_table_that_another_action_is_newer_than_is_not_used(folder: Path, act: str) -> None:
    create_index(folder)
    storage, old_list = storage_of(folder), list_directory(str(folder))
    listed_at = log.read_log(storage).number
    write_part(folder, "p2.parquet", 20)
    refresh(folder, "incremental")
    with pytest.raises(log.MovedOnError, match="start it again"):
        if act == "refresh":
            actions.refresh(storage, "incremental", old_list, RUNNER, listed_at=listed_at)
        else:
            actions.optimize(storage, "full", old_list, listed_at)
    assert kept(opened(folder), folder, "a", WANTED)["p2.parquet"] == [True, False, False, False, False]


def test_a_vacuum_that_was_cancelled_removes_no_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_index(folder)
    write_part(folder, "p0.parquet", 1000)
    refresh(folder, "full")
    storage = storage_of(folder)
    names = sorted(storage.names(DATA))

    def cancelled_meanwhile(place: object, before: log.LogView) -> None:
        raise AssertionError("the vacuum went on")

    class Cancelling(type(storage)):  # type: ignore[misc]
        def names(self, folder: str) -> list[str]:
            found = super().names(folder)
            if folder == DATA:
                log.cancel(storage)
            return list(found)

    monkeypatch.setattr(log, "drop_old_entries", cancelled_meanwhile)
    with pytest.raises(IndexStateError, match="cancelled by somebody else"):
        actions.vacuum(Cancelling(storage.place))
    assert sorted(storage.names(DATA)) == names


def test_a_link_of_ones_own_that_is_there_already_is_no_other_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS may say so when its first answer got lost."""
    link = os.link

    def linked_twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", linked_twice)
    create_index(folder)
    assert kept(opened(folder), folder, "a", WANTED)["p0.parquet"] == [False, False, True, False, False]
    with pytest.raises(IndexStateError, match="it exists already"):
        create_index(folder)
