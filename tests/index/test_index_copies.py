"""The host's copies of indexes that only the bridge can reach."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import identities, list_directory
from rtfilter.store.index_files import data_files, local_cache, log
from rtfilter.store.index_files.data_files import LoadedBatches
from rtfilter.store.index_files.index_problems import IndexProblem
from rtfilter.store.index_files.local_cache import LocalCache
from rtfilter.store.index_reading.found_index import ShelvedIndex
from rtfilter.store.index_reading.reader import PackIndex
from rtfilter.store.remote import index_copies
from rtfilter.store.remote.index_copies import Mirror
from rtfilter.store.remote.remote_table import list_remote_table
from rtfilter.store.sketches.column_tests import ValueTest, long_keys
from tests.index.remote_files import FarFiles, cache_of, far
from tests.index.tables import RUNNER, create_index, indexed_table, storage_of, write_part


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_copies, "LOOK_AGAIN_S", 0.0)


def place_of(folder: Path) -> str:
    return far(folder / "_rtfilter")


def look(
    found: Mirror, folder: Path, files: FarFiles, columns: Sequence[str] = ("a", "s"), cache: LocalCache | None = None
) -> None:
    """A look to its end, as the bridge carries it out."""
    token, wishes = found.look([place_of(folder)], columns, cache or cache_of(folder))
    while token is not None:
        token, wishes = found.go_on(token, files.steps(wishes))


def shelved_in(found: Mirror, folder: Path, cache: LocalCache | None) -> tuple[ShelvedIndex, ...]:
    return found.shelved(place_of(folder), (cache or cache_of(folder)).directory)


def indexes(found: Mirror, folder: Path, cache: LocalCache | None = None) -> list[PackIndex]:
    return [each.index for each in shelved_in(found, folder, cache) if each.index is not None]


def problems(found: Mirror, folder: Path, cache: LocalCache | None = None) -> list[IndexProblem]:
    return [problem for each in shelved_in(found, folder, cache) for problem in each.problems]


def problem(found: Mirror, folder: Path, cache: LocalCache | None = None) -> tuple[str, str]:
    """The code of the only problem, and its sentence."""
    (shelved,) = shelved_in(found, folder, cache)
    (only,) = shelved.problems
    return only.reason, shelved.sentence


def kept(index: PackIndex, folder: Path, column: str, key: int) -> list[bool]:
    located = index.catalog().locate(identities(list_remote_table(FarFiles(), far(folder)).files))
    return [not rejected for rejected in index.judge(column, ValueTest(long_keys([key])), located.numbers).reject.tolist()]


def test_an_index_is_there_after_one_look_and_its_files_come_once(tmp_path: Path) -> None:
    write_part(tmp_path / "t", "p0.parquet", 0)
    create_index(tmp_path / "t")
    found, files = Mirror(LoadedBatches()), FarFiles()
    assert indexes(found, tmp_path / "t") == []
    look(found, tmp_path / "t", files)
    (index,) = indexes(found, tmp_path / "t")
    assert kept(index, tmp_path / "t", "a", 25) == [False, False, True, False, False] and not index.problems
    copied = files.done.count("down")
    assert copied == 5
    look(found, tmp_path / "t", files)
    assert files.done.count("down") == copied and indexes(found, tmp_path / "t") == [index]
    # The entry of the log was read once, too.
    assert files.done.count("text") == 1


def test_only_sketches_of_the_columns_asked_for_are_copied(tmp_path: Path) -> None:
    write_part(tmp_path / "t", "p0.parquet", 0)
    create_index(tmp_path / "t")
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, tmp_path / "t", files, ["S"])
    assert files.done.count("down") == 3
    look(found, tmp_path / "t", files, ["a"])
    assert files.done.count("down") == 5
    (index,) = indexes(found, tmp_path / "t")
    assert kept(index, tmp_path / "t", "a", 25).count(True) == 1


def looked_at(folder: Path) -> tuple[Mirror, FarFiles, PackIndex]:
    """A table of one file with an index that a mirror has found."""
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, folder, files)
    (index,) = indexes(found, folder)
    return found, files, index


def test_a_refresh_is_seen_by_the_next_look_and_a_deletion_too(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    found, files, before = looked_at(folder)
    write_part(folder, "p1.parquet", 50)
    actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert indexes(found, folder) == [before]
    look(found, folder, files)
    (after,) = indexes(found, folder)
    assert kept(after, folder, "a", 55).count(True) == 1 and len(kept(after, folder, "a", 55)) == 10
    actions.delete(storage_of(folder))
    look(found, folder, files)
    assert indexes(found, folder) == []


def test_an_index_that_was_removed_and_made_again_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    found, files, before = looked_at(folder)
    shutil.rmtree(folder)
    write_part(folder, "p1.parquet", 100)
    create_index(folder)
    look(found, folder, files)
    (after,) = indexes(found, folder)
    assert after.version != before.version and kept(after, folder, "a", 125).count(True) == 1


def test_places_of_long_ago_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_copies, "MOST_PLACES", 2)
    found, files = Mirror(LoadedBatches()), FarFiles()
    folders = [tmp_path / name for name in ("t", "u", "v")]
    for folder in folders:
        write_part(folder, "p0.parquet", 0)
        create_index(folder)
        look(found, folder, files)
    assert [len(indexes(found, folder)) for folder in folders] == [0, 1, 1]
    look(found, folders[0], files)
    assert [len(indexes(found, folder)) for folder in folders] == [1, 0, 1]


def test_an_action_under_way_shows_the_snapshot_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    log.begin(storage_of(folder), log.REFRESH)
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles())
    assert len(indexes(found, folder)) == 1


def test_a_look_that_fails_at_any_step_leaves_what_was_known_and_the_next_one_mends_it(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    for known in (False, True):
        for step in range(1, 9):
            found, cache = Mirror(LoadedBatches()), LocalCache(str(tmp_path / f"cache{known}{step}"))
            if known:
                look(found, folder, FarFiles(), ["a"], cache)
            files = FarFiles(step)
            look(found, folder, files, ["a", "s"], cache)
            if files.step < step:
                continue
            assert len(indexes(found, folder, cache)) == int(known) and problems(found, folder, cache), step
            assert all(kept(each, folder, "a", 25).count(True) == 1 for each in indexes(found, folder, cache))
            look(found, folder, FarFiles(), ["a", "s"], cache)
            (index,) = indexes(found, folder, cache)
            assert kept(index, folder, "a", 25).count(True) == 1 and not problems(found, folder, cache)
            assert not [name for name in os.listdir(cache.folder) if name.startswith(".scratch-")]


def test_a_file_that_is_not_what_its_name_says_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    for path in (folder / "_rtfilter" / "i" / "data").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles())
    reason, sentence = problem(found, folder)
    assert indexes(found, folder) == [] and reason == "INDEX_CORRUPT"
    assert f"Index i in {place_of(folder)} is not used" in sentence and "damaged" in sentence and "rebuild it" in sentence


def test_an_index_that_the_cache_can_not_hold_is_named_with_the_option(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles(), cache=cache_of(folder, 10))
    reason, sentence = problem(found, folder)
    assert indexes(found, folder) == [] and reason == "INDEX_TOO_LARGE"
    assert "rtfilter.store.cacheBytes is 10; raise that." in sentence
    look(found, folder, FarFiles())
    assert len(indexes(found, folder)) == 1 and problems(found, folder) == []


def test_hostile_names_are_never_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    (entry,) = [path for path in sorted((folder / "_rtfilter" / "i" / "log").iterdir())][-1:]
    name = next((folder / "_rtfilter" / "i" / "data").iterdir()).name
    entry.write_text(entry.read_text().replace(f"data/{name}", "data/../../../../etc/passwd"))
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, folder, files)
    assert indexes(found, folder) == [] and "down" not in files.done


def test_two_queries_at_once_do_not_look_twice(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found = Mirror(LoadedBatches())
    token, wishes = found.look([place_of(folder)], ["a"], cache_of(folder))
    assert token is not None and wishes and problem(found, folder)[0] == "INDEX_COMING"
    assert found.look([place_of(folder)], ["a"], cache_of(folder)) == (None, [])
    while token is not None:
        token, wishes = found.go_on(token, FarFiles().steps(wishes))
    assert problems(found, folder) == [] and len(indexes(found, folder)) == 1


def test_a_place_without_indexes_costs_one_listing(tmp_path: Path) -> None:
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, tmp_path / "nothing", files)
    assert files.done == ["list"] and found.shelved(place_of(tmp_path / "nothing"), cache_of(tmp_path / "nothing").directory) == ()


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    return indexed_table(tmp_path / "t")


def last_entry(folder: Path) -> Path:
    return max((folder / "_rtfilter" / "i" / "log").iterdir())


def test_a_place_that_nobody_has_looked_at_is_coming(indexed: Path) -> None:
    reason, sentence = problem(Mirror(LoadedBatches()), indexed)
    assert reason == "INDEX_COMING" and sentence.startswith(f"The indexes in {place_of(indexed)} are not used: which there are")


def test_a_place_that_can_not_be_listed_is_named_and_what_was_here_stays(indexed: Path) -> None:
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles(fails_at=1))
    reason, sentence = problem(found, indexed)
    assert reason == "INDEX_UNREACHABLE" and f"can't list {place_of(indexed)}: list failed on purpose" in sentence
    look(found, indexed, FarFiles())
    look(found, indexed, FarFiles(fails_at=1))
    assert len(indexes(found, indexed)) == 1 and [each.reason for each in problems(found, indexed)] == ["INDEX_UNREACHABLE"]
    look(found, indexed, FarFiles())
    assert problems(found, indexed) == []


@pytest.mark.parametrize("step", [2, 3, 4])
def test_a_log_or_data_file_that_can_not_be_read_is_unreachable(indexed: Path, step: int) -> None:
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles(fails_at=step))
    reason, sentence = problem(found, indexed)
    assert reason == "INDEX_UNREACHABLE" and place_of(indexed) in sentence and "check the path and the rights" in sentence


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "INDEX_CORRUPT"),
        (b'{"format": 2}', "INDEX_VERSION"),
        (b'{"format": 1, "state": "CREATING"}', "INDEX_UNFINISHED"),
    ],
)
def test_a_log_without_a_stable_entry_has_its_reason(indexed: Path, content: bytes, reason: str) -> None:
    for path in (indexed / "_rtfilter" / "i" / "log").iterdir():
        path.write_bytes(content)
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    assert indexes(found, indexed) == [] and problem(found, indexed)[0] == reason


@pytest.mark.parametrize(("content", "reason"), [(b"{", "INDEX_CORRUPT"), (b'{"format": 2}', "INDEX_VERSION")])
def test_an_entry_that_can_not_be_read_behind_a_stable_one_is_told_and_the_stable_one_is_used(
    indexed: Path, content: bytes, reason: str
) -> None:
    behind = last_entry(indexed).with_name(f"{9:020d}.json")
    behind.write_bytes(content)
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    assert len(indexes(found, indexed)) == 1
    assert problem(found, indexed)[0] == reason and "is used only as far as possible: entry 9" in problem(found, indexed)[1]
    behind.unlink()
    look(found, indexed, FarFiles())
    assert len(indexes(found, indexed)) == 1 and problems(found, indexed) == []


def test_an_index_that_was_deleted_says_so(indexed: Path) -> None:
    actions.delete(storage_of(indexed))
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    assert indexes(found, indexed) == [] and problem(found, indexed)[0] == "INDEX_DELETED"


def test_a_data_file_that_is_gone_is_corrupt(indexed: Path) -> None:
    next((indexed / "_rtfilter" / "i" / "data").iterdir()).unlink()
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    assert problem(found, indexed)[0] == "INDEX_CORRUPT" and "it is not there" in problem(found, indexed)[1]


def test_a_cache_that_can_not_be_written_is_named(indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles(), cache=(cache := LocalCache(str(tmp_path / "file" / "cache"))))
    reason, sentence = problem(found, indexed, cache)
    assert reason == "INDEX_CACHE" and f"{tmp_path}/file/cache" in sentence and "rtfilter.store.cacheDirectory" in sentence
    look(found, indexed, FarFiles(), cache=(cache := LocalCache("/proc/self")))
    assert problem(found, indexed, cache)[0] == "INDEX_CACHE"
    look(found, indexed, FarFiles())
    assert len(indexes(found, indexed)) == 1 and problems(found, indexed) == []


def test_a_full_disk_is_told_before_and_after_a_copy_fails(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = iter([10])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free)))
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    assert problem(found, indexed)[0] == "INDEX_CACHE" and "has room for 10 bytes" in problem(found, indexed)[1]
    # There was room, and somebody else has taken it.
    free = iter([1 << 30, 0])
    look(found, indexed, FarFiles(fails_at=4))
    assert problem(found, indexed)[0] == "INDEX_CACHE" and "has room for 0 bytes" in problem(found, indexed)[1]
    free = iter([1 << 30])
    look(found, indexed, FarFiles())
    assert len(indexes(found, indexed)) == 1 and problems(found, indexed) == []


def test_copies_that_are_gone_are_coming_again(indexed: Path) -> None:
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    cache = cache_of(indexed)
    copies = {path.name: path.read_bytes() for path in Path(cache.folder).iterdir()}
    for name in copies:
        os.unlink(os.path.join(cache.folder, name))
    (index,) = indexes(found, indexed)
    index.judge("a", ValueTest(long_keys([25])), np.arange(5))
    assert {each.reason for each in problems(found, indexed)} == {"INDEX_COMING"}
    # Another process has brought them.
    for name, content in copies.items():
        Path(cache.folder, name).write_bytes(content)
    look(found, indexed, FarFiles())
    (index,) = indexes(found, indexed)
    assert kept(index, indexed, "a", 25).count(True) == 1 and problems(found, indexed) == []


def test_a_copy_that_was_damaged_is_fetched_again(indexed: Path) -> None:
    found = Mirror(LoadedBatches())
    look(found, indexed, FarFiles())
    for path in Path(cache_of(indexed).folder).iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    (index,) = indexes(found, indexed)
    index.judge("a", ValueTest(long_keys([25])), np.arange(5))
    assert {each.reason for each in problems(found, indexed)} == {"INDEX_COMING"}
    look(found, indexed, FarFiles())
    (index,) = indexes(found, indexed)
    assert kept(index, indexed, "a", 25).count(True) == 1 and problems(found, indexed) == []


def no_descriptors(*_: object) -> NoReturn:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize(
    "ask", [lambda index: index.catalog(), lambda index: index.judge("a", ValueTest(long_keys([25])), np.arange(5))]
)
def test_sound_copies_that_could_not_be_opened_once_are_opened_anew_after_a_while(
    indexed: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[PackIndex], object]
) -> None:
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, indexed, files)
    (index,) = indexes(found, indexed)
    with monkeypatch.context() as short:
        short.setattr(data_files, "read_tail", no_descriptors)
        ask(index)
    for _ in range(2):
        look(found, indexed, files)
        # Not with every look: what is damaged for good would be read over and over.
        assert indexes(found, indexed) == [index]
        assert {each.reason for each in problems(found, indexed)} == {"INDEX_UNREACHABLE"}
        assert all("Too many open files" in each.text for each in problems(found, indexed))
    monkeypatch.setattr(index_copies, "TRY_AGAIN_S", 0.0)
    look(found, indexed, files)
    (anew,) = indexes(found, indexed)
    assert kept(anew, indexed, "a", 25).count(True) == 1 and problems(found, indexed) == []
    assert files.done.count("down") == 5
    # One that is well is not opened again.
    look(found, indexed, files)
    assert indexes(found, indexed) == [anew]


def test_answers_that_are_none_are_a_problem_and_no_error(indexed: Path) -> None:
    found = Mirror(LoadedBatches())
    wrong: list[list[Any]] = [[{}], [{"entries": [5]}], []]
    for answers in wrong:
        token, _ = found.look([place_of(indexed)], ["a"], cache_of(indexed))
        assert token is not None and found.go_on(token, answers) == (None, [])
        assert problem(found, indexed)[0] == "INDEX_CORRUPT"
    look(found, indexed, FarFiles())
    assert problems(found, indexed) == []


def test_a_problem_is_logged_once_until_it_has_gone(indexed: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = Mirror(LoadedBatches())
    for fails_at in (1, 1, 0, 1):
        look(found, indexed, FarFiles(fails_at=fails_at))
    assert len([each for each in caplog.records if "not used as it is now" in each.getMessage()]) == 2


def test_a_look_that_gave_way_to_others_can_begin_anew(indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_copies, "MOST_LOOKS", 1)
    found = Mirror(LoadedBatches())
    first, _ = found.look([place_of(indexed)], ["a"], cache_of(indexed))
    found.look([place_of(tmp_path / "other")], ["a"], cache_of(indexed))
    assert first is not None and found.go_on(first, []) == (None, [])
    look(found, indexed, FarFiles())
    assert len(indexes(found, indexed)) == 1


def forge(folder: Path, cache: LocalCache) -> None:
    """Gives every copy the content of the copies of another index, which knows nothing of the first one's table."""
    write_part(folder.parent / "other", "p0.parquet", 10**6)
    create_index(folder.parent / "other")
    theirs = {path.stat().st_size: path for path in (folder.parent / "other" / "_rtfilter" / "i" / "data").iterdir()}
    forged = 0
    for copy in Path(cache.folder).iterdir():
        if (lie := theirs.get(copy.stat().st_size)) is not None:
            copy.write_bytes(lie.read_bytes())
            forged += 1
    assert forged


def test_a_forged_copy_rejects_no_row_and_costs_a_copy(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look(Mirror(LoadedBatches()), indexed, FarFiles())
    forge(indexed, cache_of(indexed))
    monkeypatch.setattr(local_cache, "_checked", local_cache._Checked())
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, indexed, files)
    (index,) = indexes(found, indexed)
    assert kept(index, indexed, "a", 25) == [False, False, True, False, False] and not index.problems
    assert 1 <= files.done.count("down") <= 5


def test_what_one_cache_holds_is_nothing_to_another(indexed: Path, tmp_path: Path) -> None:
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, indexed, files)
    other = LocalCache(str(tmp_path / "other"))
    (unseen,) = found.shelved(place_of(indexed), other.directory)
    assert unseen.is_unseen and files.done.count("down") == 5
    look(found, indexed, files, cache=other)
    (theirs,) = found.shelved(place_of(indexed), other.directory)
    (mine,) = indexes(found, indexed)
    assert theirs.index is not None and theirs.index is not mine and theirs.index.identity != mine.identity
    assert files.done.count("down") == 10


def test_a_cache_that_others_can_write_to_is_told_once_and_its_index_is_not_used(
    indexed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create_index(indexed, storage_of(indexed, "second"), name="second")
    cache = cache_of(indexed)
    Path(cache.directory).mkdir()
    Path(cache.directory).chmod(0o777)
    found, files = Mirror(LoadedBatches()), FarFiles()
    for _ in range(2):
        look(found, indexed, files)
    assert indexes(found, indexed) == [] and {each.reason for each in problems(found, indexed)} == {"INDEX_CACHE"}
    assert "down" not in files.done and len(caplog.records) == 1 and "others can write to it" in caplog.text
    Path(cache.directory).chmod(0o700)
    look(found, indexed, files)
    assert len(indexes(found, indexed)) == 2 and problems(found, indexed) == []
