"""The host's verdicts on tables and indexes that only the bridge can open."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rtfilter.store.bounds.filters import filter_of_keys
from rtfilter.store.index_files.local_cache import LocalCache, cache_directory_of
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.parquet.footer_digest import read_tail
from rtfilter.store.remote.index_copies import MOST_PLACES_AT_ONCE
from rtfilter.store.sketches.kinds import Bloom
from rtfilter.store.tables.verdict import ColumnFilter
from tests.index.remote_files import FarFiles, far
from tests.index.tables import create_index, write_spread


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "home"))


def tell(store: PackStore, folder: Path) -> str:
    """The table's list and its footers, as the bridge brings them."""
    files = sorted(folder.glob("*.parquet"))
    status = [os.stat(path) for path in files]
    store.add_list("d", [far(path) for path in files], [s.st_size for s in status], [s.st_mtime_ns // 10**6 for s in status])
    for index in store.footers.needs_bridge("d", ["a"]):
        with open(files[index], "rb") as file:
            store.put_footer_bytes("d", index, read_tail(file, status[index].st_size))
    return "d"


def look(store: PackStore, folder: Path) -> None:
    mirror = store.shelf.mirror
    token, wishes = mirror.look(store.remote_places("d", ""), ["a"], LocalCache(cache_directory_of("")))
    while token is not None:
        token, wishes = mirror.go_on(token, FarFiles().steps(wishes))


def verdict(store: PackStore) -> StoreVerdict:
    wanted = ColumnFilter("a", "bigint", filter_of_keys(np.array([7003], dtype=np.int64)))
    found = store.verdict("d", [wanted], wait_s=5)
    assert found is not None
    return found


def kept(store: PackStore) -> list[int]:
    return [int(pack) for pack in np.flatnonzero(verdict(store).packs.keep[0])]


def test_packs_are_kept_until_the_index_is_here(store: PackStore, folder: Path) -> None:
    tell(store, folder)
    for _ in ("before the look", "during it"):
        assert kept(store) == list(range(10))
        (use,) = verdict(store).uses
        assert use.reason == "INDEX_COMING" and "is found out while queries run" in use.detail and far(folder) in use.detail
        store.shelf.mirror.look(store.remote_places("d", ""), ["a"], LocalCache(cache_directory_of("")))


def test_packs_are_rejected_once_it_is(store: PackStore, folder: Path) -> None:
    tell(store, folder)
    look(store, folder)
    assert kept(store) == [7]
    (use,) = verdict(store).uses
    assert use.packs_rejected == 9


def test_a_file_of_another_footer_is_read_though_size_and_time_agree(store: PackStore, folder: Path) -> None:
    path = folder / "p1.parquet"
    before = os.stat(path)
    write_spread(folder, "p1.parquet", 5, highest=10**6 + 1)
    os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
    assert os.stat(path).st_size == before.st_size
    tell(store, folder)
    look(store, folder)
    assert kept(store) == [5, 6, 7, 8, 9]


def test_a_file_whose_footer_did_not_come_is_read(store: PackStore, folder: Path) -> None:
    tell(store, folder)
    look(store, folder)
    other = PackStore()
    # The footers are known from elsewhere, but nobody has told their digests.
    other.add_list("d", *[[getattr(f, name) for f in store._lists["d"].files] for name in ("path", "size_bytes", "mtime_ms")])
    other.footers.needs_bridge("d", ["a"])
    for index, path in enumerate(sorted(folder.glob("*.parquet"))):
        with open(path, "rb") as file:
            other.footers.put_footer_bytes("d", index, read_tail(file, path.stat().st_size))
    look(other, folder)
    assert kept(other) == list(range(10))
    other.footers.close()


def test_only_places_that_this_process_can_not_open_are_remote(store: PackStore, folder: Path) -> None:
    tell(store, folder)
    assert store.remote_places("d", "") == (far(folder / "_rtfilter"),)
    assert store.remote_places("d", str(folder / "store")) == ()
    assert store.remote_places("d", "s3a://b/store/") == ("s3a://b/store",)
    assert store.remote_places("nobody knows it", "") == ()


def test_of_a_table_in_more_directories_than_are_looked_into_nothing_is_coming_after_the_look(
    store: PackStore, tmp_path: Path
) -> None:
    folders = [tmp_path / f"t{number:02d}" for number in range(MOST_PLACES_AT_ONCE + 4)]
    for folder in folders:
        write_spread(folder, "p.parquet", 0)
    files = [folder / "p.parquet" for folder in folders]
    create_index(folders[0], sketches=(Bloom("a"),))
    create_index(folders[-1], sketches=(Bloom("a"),))
    store.add_list("d", [far(path) for path in files], *[[int(path.stat().st_size) for path in files]] * 2)
    uses = verdict(store).uses
    assert [use.reason for use in uses] == ["INDEX_COMING"] * MOST_PLACES_AT_ONCE
    assert [use.place for use in uses] == [far(folder / "_rtfilter") for folder in folders[:MOST_PLACES_AT_ONCE]]
    look(store, tmp_path)
    (use,) = verdict(store).uses
    assert (use.place, use.problems) == (far(folders[0] / "_rtfilter"), ())
