"""The host's verdicts on tables and indexes that only the bridge can open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rtfilter.store.filters import filter_of_keys
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.packindex.footer import read_tail
from rtfilter.store.sketches.kinds import Bloom
from rtfilter.store.tables import ColumnFilter
from tests.index.far import FarFiles, cache_of, far
from tests.index.tables import create_index
from tests.index.test_pack_store import write_spread


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_spread(tmp_path / "t", "p0.parquet", 0)
    write_spread(tmp_path / "t", "p1.parquet", 5)
    create_index(tmp_path / "t", sketches=(Bloom("a"),))
    return tmp_path / "t"


@pytest.fixture
def store() -> Iterator[PackStore]:
    store = PackStore()
    yield store
    store.footers.close()


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
    token, wishes = mirror.look(store.remote_places("d", ""), ["a"], cache_of(folder))
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
    assert kept(store) == list(range(10)) and verdict(store).uses == ()
    token, _ = store.shelf.mirror.look(store.remote_places("d", ""), ["a"], cache_of(folder))
    assert token is not None and kept(store) == list(range(10))
    (use,) = verdict(store).uses
    assert use.reason == "INDEX_COMING" and "being copied" in use.detail and far(folder) in use.name


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
