"""Footers and indexes together, as the host asks them."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rtfilter.store import open_indexes
from rtfilter.store.bounds.filters import EmptyFilter, KeyFilter, filter_of_keys
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import index_place, list_directory
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import PackIndex
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.remote.remote_steps import MOST_INDEXES_IN_A_PLACE
from rtfilter.store.sketches import rows
from rtfilter.store.sketches.column_tests import ValueTest, long_keys
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, ValueSet
from rtfilter.store.tables.verdict import ColumnFilter
from tests.index.tables import RUNNER, create_index, definition, opened, storage_of, write_part, write_spread

SPREAD = {"a": "bigint", "s": "string"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_spread(tmp_path / "t", "p0.parquet", 0)
    write_spread(tmp_path / "t", "p1.parquet", 5)
    return tmp_path / "t"


def keys(*values: int) -> KeyFilter:
    return filter_of_keys(np.array(sorted(values), dtype=np.int64))


def ask(store: PackStore, folder: Path, wanted: KeyFilter, paths: Sequence[Path] = (), **more: object) -> StoreVerdict:
    files = list(paths) or [Path(file.local) for file in list_directory(str(folder)).files]
    status = [os.stat(path) for path in files]
    listing = ([f"file:{path}" for path in files], [s.st_size for s in status], [s.st_mtime_ns // 1_000_000 for s in status])
    digest = repr(listing)
    store.add_list(digest, *listing)
    store.footers.prefetch(digest, ["a"])
    verdict = store.verdict(digest, [ColumnFilter("a", "bigint", wanted)], wait_s=20, **more)  # type: ignore[arg-type]
    assert verdict is not None
    return verdict


def kept(verdict: StoreVerdict) -> list[int]:
    return [int(pack) for pack in np.flatnonzero(verdict.packs.keep[0])]


def test_without_an_index_the_footers_keep_every_pack(store: PackStore, folder: Path) -> None:
    verdict = ask(store, folder, keys(7003))
    assert kept(verdict) == list(range(10)) and verdict.uses == ()


def test_an_index_rejects_what_footers_can_not(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    verdict = ask(store, folder, keys(7003))
    assert kept(verdict) == [7]
    assert verdict.uses[0].packs_rejected == 9 and "rejects 9 packs" in verdict.uses[0].detail


def test_a_filter_on_another_column_or_type_does_not_ask_the_index(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(CMap("s"),))
    verdict = ask(store, folder, keys(7003))
    assert kept(verdict) == list(range(10)) and verdict.uses == ()


def test_several_indexes_of_a_table_add_up(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a", 0.5),), name="one")
    table = list_directory(str(folder))
    actions.create(storage_of(folder, "two"), definition(table, (ValueSet("a"),), name="two"), table, RUNNER)
    verdict = ask(store, folder, keys(2003, 8004))
    assert kept(verdict) == [2, 8] and len(verdict.uses) == 2


def test_an_index_in_a_location_of_its_own_is_found_there(store: PackStore, folder: Path, tmp_path: Path) -> None:
    table = list_directory(str(folder))
    storage = LocalStorage(index_place(str(tmp_path / "store"), str(folder), "i"))
    fixed = definition(table, (Bloom("a"),))
    actions.create(storage, type(fixed)(fixed.name, fixed.table, str(folder), fixed.sketches, fixed.types), table, RUNNER)
    assert kept(ask(store, folder, keys(7003))) == list(range(10))
    assert kept(ask(store, folder, keys(7003), location=str(tmp_path / "store"))) == [7]


def test_partition_directories_are_no_roots(store: PackStore, tmp_path: Path) -> None:
    write_spread(tmp_path / "k=1", "p.parquet", 0)
    write_spread(tmp_path / "k=2" / "l=x", "p.parquet", 5)
    create_index(tmp_path, sketches=(Bloom("a"),))
    assert kept(ask(store, tmp_path, keys(7003))) == [7]


def test_a_table_that_moves_with_its_index_keeps_it(store: PackStore, folder: Path, tmp_path: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    shutil.move(str(folder), str(tmp_path / "moved"))
    assert kept(ask(store, tmp_path / "moved", keys(7003))) == [7]


def test_appended_and_changed_files_are_kept_until_a_refresh(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    write_spread(folder, "p2.parquet", 10)
    write_spread(folder, "p0.parquet", 40, packs=3)
    verdict = ask(store, folder, keys(7003))
    assert kept(verdict) == [0, 1, 2, 5, 8, 9, 10, 11, 12]
    assert verdict.uses[0].coverage.files_unknown == 2 and "covers 1 of 3 files" in verdict.uses[0].detail
    actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert kept(ask(store, folder, keys(7003))) == [5]


def test_a_file_replaced_with_equal_size_and_time_is_found_out_by_its_footer(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    path = folder / "p0.parquet"
    before = path.stat()
    assert kept(ask(store, folder, keys(7003))) == [7]
    write_spread(folder, "p0.parquet", 7, highest=10**6 + 1)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert kept(ask(PackStore(), folder, keys(7003))) == [0, 1, 2, 3, 4, 7]


def test_a_part_of_the_table_and_another_order_are_told_apart(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    other = folder.parent / "other" / "p.parquet"
    write_spread(folder.parent / "other", "p.parquet", 5)
    files = [folder / "p1.parquet", other, folder / "p0.parquet"]
    assert kept(ask(store, folder, keys(7003), paths=files)) == [2, *range(5, 10)]


def test_no_key_at_all_rejects_every_pack_with_values(store: PackStore, folder: Path) -> None:
    create_index(folder)
    assert kept(ask(store, folder, EmptyFilter())) == []


def test_a_static_predicate_is_judged_without_any_filter(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(CMap("s"),))
    predicate = {"op": "eq", "column": "s", "type": "string", "value": b"key-0007003".hex()}
    verdict = ask(store, folder, keys(7003), predicate=predicate)
    assert verdict.static_keep is not None and np.flatnonzero(verdict.static_keep).tolist() == [7]
    assert kept(verdict) == list(range(10))


def test_an_index_is_read_anew_after_each_action(store: PackStore, folder: Path) -> None:
    storage = storage_of(folder)
    create_index(folder, sketches=(Bloom("a"),))
    assert kept(ask(store, folder, keys(7003))) == [7]
    actions.delete(storage)
    assert kept(ask(store, folder, keys(7003))) == list(range(10))
    actions.restore(storage)
    assert kept(ask(store, folder, keys(7003))) == [7]


def test_an_index_that_takes_too_long_keeps_what_it_has_not_judged(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    assert kept(ask(store, folder, keys(7003), index_s=-1.0)) == list(range(10))
    assert kept(ask(store, folder, keys(7003), index_s=60.0)) == [7]


def test_an_unknown_digest_is_nothing_known(store: PackStore) -> None:
    assert store.verdict("?", [ColumnFilter("a", "bigint", keys(1))]) is None


def test_case_of_names_counts_only_where_spark_says_so(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    files = list_directory(str(folder)).files
    listing = ([f.path for f in files], [f.size_bytes for f in files], [f.mtime_ms for f in files])
    store.add_list("d", *listing)
    store.footers.prefetch("d", ["a"])
    for case_sensitive, expected in ((False, [7]), (True, list(range(10)))):
        verdict = store.verdict("d", [ColumnFilter("A", "bigint", keys(7003))], case_sensitive, wait_s=20)
        assert verdict is not None and kept(verdict) == expected


def test_a_table_of_distinct_bounds_is_rejected_by_footers_and_index_alike(store: PackStore, tmp_path: Path) -> None:
    write_part(tmp_path, "p.parquet", 0)
    create_index(tmp_path)
    verdict = ask(store, tmp_path, keys(25))
    assert kept(verdict) == [2] and verdict.uses[0].packs_rejected == 0


def test_an_index_that_was_removed_and_made_again_is_another_one(store: PackStore, tmp_path: Path) -> None:
    """Its log counts from one again: neither the number nor the name of its latest entry tells the two apart."""
    folder = tmp_path / "t"
    write_spread(folder, "b.parquet", 5)
    create_index(folder, sketches=(Bloom("a"),))
    write_spread(folder, "a.parquet", 0)
    first, second = folder / "a.parquet", folder / "b.parquet"
    both = [first, second]
    assert kept(ask(store, folder, keys(7003), both)) == [0, 1, 2, 3, 4, 7]
    before = store.shelf.shelved([str(folder / "_rtfilter")])[0].index
    shutil.rmtree(folder / "_rtfilter")
    create_index(folder, sketches=(Bloom("a"),))
    after = store.shelf.shelved([str(folder / "_rtfilter")])[0].index
    assert before is not None and after is not None and after is not before and before.version != after.version
    assert kept(ask(store, folder, keys(7003), both)) == [7]
    assert kept(ask(store, folder, keys(1003), both)) == [1]


def test_an_index_that_was_made_again_between_two_looks_is_seen(store: PackStore, folder: Path) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    assert kept(ask(store, folder, keys(7003))) == [7]
    # As a table is overwritten: everything in it goes, its indexes too.
    shutil.rmtree(folder)
    write_spread(folder, "p2.parquet", 10)
    create_index(folder, sketches=(Bloom("a"),))
    assert kept(ask(store, folder, keys(12003))) == [2]


def test_more_indexes_in_a_place_than_are_looked_at_are_told_of(
    store: PackStore, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_indexes, "MOST_INDEXES_IN_A_PLACE", 2)
    for name in ("i", "j", "k"):
        create_index(folder, storage_of(folder, name), sketches=(Bloom("a"),))
    place = str(folder / "_rtfilter")
    assert len(store.shelf.shelved([place])) == len(store.shelf.shelved([place])) == 2
    assert caplog.text.count("holds 3 indexes; queries look at the first 2 by name") == 1


def test_all_indexes_of_a_place_stay_open() -> None:
    assert open_indexes.MOST_OPEN > MOST_INDEXES_IN_A_PLACE


@pytest.mark.parametrize("in_time", [True, False])
def test_a_sketch_that_takes_long_is_asked_no_longer_than_allowed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, in_time: bool
) -> None:
    """A histogram is asked pack by pack here, and the clock goes on by a second with each."""
    create_index(folder, sketches=(Histogram("a"),))
    clock = itertools.count()
    monkeypatch.setattr(rows, "_KEYS_BY_PACKS", 1)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    found = opened(folder).judge(
        "a", ValueTest(long_keys([500_500])), np.arange(10, dtype=np.int64), deadline_s=100.0 if in_time else 4.0
    )
    rejected = np.flatnonzero(found.reject).tolist()
    assert rejected == list(range(10)) if in_time else rejected == list(range(len(rejected))) and 0 < len(rejected) < 10


def test_a_file_whose_digest_an_index_can_not_tell_any_more_is_read_whole(
    store: PackStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_index(folder, sketches=(Bloom("a"),))
    assert kept(ask(store, folder, keys(7003))) == [7]
    (index,) = [each.index for each in store.shelf.shelved([str(folder / "_rtfilter")])]
    assert index is not None
    # Where the packs are is known from the first query.
    monkeypatch.setattr(PackIndex, "catalog", lambda self, *_: self._nothing())
    assert kept(ask(store, folder, keys(7003))) == list(range(10))
