"""The host's copies of indexes that only the bridge can reach."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from rtfilter.store.packindex import actions, log, mirror
from rtfilter.store.packindex.datafiles import LoadedBatches
from rtfilter.store.packindex.listing import identities, list_directory
from rtfilter.store.packindex.local_cache import LocalCache
from rtfilter.store.packindex.mirror import Mirror
from rtfilter.store.packindex.reader import PackIndex
from rtfilter.store.packindex.remote_table import list_remote_table
from rtfilter.store.sketches.asked import ValueTest, long_keys
from tests.index.far import FarFiles, cache_of, far
from tests.index.tables import RUNNER, create_index, storage_of, write_part


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror, "LOOK_AGAIN_S", 0.0)


def place_of(folder: Path) -> str:
    return far(folder / "_rtfilter")


def look(
    found: Mirror, folder: Path, files: FarFiles, columns: Sequence[str] = ("a", "s"), cache: LocalCache | None = None
) -> None:
    """A look to its end, as the bridge carries it out."""
    token, wishes = found.look([place_of(folder)], columns, cache or cache_of(folder))
    while token is not None:
        token, wishes = found.go_on(token, files.steps(wishes))


def kept(index: PackIndex, folder: Path, column: str, key: int) -> list[bool]:
    located = index.catalog().locate(identities(list_remote_table(FarFiles(), far(folder)).files))
    return [not rejected for rejected in index.judge(column, ValueTest(long_keys([key])), located.numbers).reject.tolist()]


def test_an_index_is_there_after_one_look_and_its_files_come_once(tmp_path: Path) -> None:
    write_part(tmp_path / "t", "p0.parquet", 0)
    create_index(tmp_path / "t")
    found, files = Mirror(LoadedBatches()), FarFiles()
    assert found.indexes(place_of(tmp_path / "t")) == []
    look(found, tmp_path / "t", files)
    (index,) = found.indexes(place_of(tmp_path / "t"))
    assert kept(index, tmp_path / "t", "a", 25) == [False, False, True, False, False] and not index.problems
    copied = files.done.count("down")
    assert copied == 5
    look(found, tmp_path / "t", files)
    assert files.done.count("down") == copied and found.indexes(place_of(tmp_path / "t")) == [index]
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
    (index,) = found.indexes(place_of(tmp_path / "t"))
    assert kept(index, tmp_path / "t", "a", 25).count(True) == 1


def test_a_refresh_is_seen_by_the_next_look_and_a_deletion_too(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, folder, files)
    (before,) = found.indexes(place_of(folder))
    write_part(folder, "p1.parquet", 50)
    actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert found.indexes(place_of(folder)) == [before]
    look(found, folder, files)
    (after,) = found.indexes(place_of(folder))
    assert kept(after, folder, "a", 55).count(True) == 1 and len(kept(after, folder, "a", 55)) == 10
    actions.delete(storage_of(folder))
    look(found, folder, files)
    assert found.indexes(place_of(folder)) == []


def test_an_action_under_way_shows_the_snapshot_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    log.begin(storage_of(folder), log.REFRESH)
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles())
    assert len(found.indexes(place_of(folder))) == 1


def test_a_look_that_fails_at_any_step_leaves_what_was_known(tmp_path: Path) -> None:
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
            indexes = found.indexes(place_of(folder))
            assert len(indexes) == int(known) and found.problems, step
            assert all(kept(each, folder, "a", 25).count(True) == 1 for each in indexes)
            look(found, folder, FarFiles(), ["a", "s"], cache)
            (index,) = found.indexes(place_of(folder))
            assert kept(index, folder, "a", 25).count(True) == 1 and not index.problems
            assert not [name for name in os.listdir(cache.directory) if name.startswith(".scratch-")]


def test_a_file_that_is_not_what_its_name_says_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    for path in (folder / "_rtfilter" / "i" / "data").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles())
    assert found.indexes(place_of(folder)) == [] and "damaged" in next(iter(found.problems.values()))


def test_an_index_that_the_cache_can_not_hold_is_named_with_the_option(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found = Mirror(LoadedBatches())
    look(found, folder, FarFiles(), cache=cache_of(folder, 10))
    assert found.indexes(place_of(folder)) == [] and "rtfilter.store.cacheBytes" in next(iter(found.problems.values()))


def test_hostile_names_are_never_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    (entry,) = [path for path in sorted((folder / "_rtfilter" / "i" / "log").iterdir())][-1:]
    name = next((folder / "_rtfilter" / "i" / "data").iterdir()).name
    entry.write_text(entry.read_text().replace(f"data/{name}", "data/../../../../etc/passwd"))
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, folder, files)
    assert found.indexes(place_of(folder)) == [] and "down" not in files.done


def test_two_queries_at_once_do_not_look_twice(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write_part(folder, "p0.parquet", 0)
    create_index(folder)
    found = Mirror(LoadedBatches())
    token, wishes = found.look([place_of(folder)], ["a"], cache_of(folder))
    assert token is not None and wishes and found.is_coming(place_of(folder))
    assert found.look([place_of(folder)], ["a"], cache_of(folder)) == (None, [])
    while token is not None:
        token, wishes = found.go_on(token, FarFiles().steps(wishes))
    assert not found.is_coming(place_of(folder)) and len(found.indexes(place_of(folder))) == 1


def test_a_place_without_indexes_costs_one_listing(tmp_path: Path) -> None:
    found, files = Mirror(LoadedBatches()), FarFiles()
    look(found, tmp_path / "nothing", files)
    assert files.done == ["list"] and not found.problems and not found.is_coming(place_of(tmp_path / "nothing"))
