"""Static predicates against a table's indexes alone, staleness, and packs that pass whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter import Bloom, CMap, Index, MinMax, ValueSet
from rtfilter.store.bounds.filters import KeyFilter, filter_of_keys, filter_of_range
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_facts import facts_of_indexes, roots_of_tables
from rtfilter.store.index_files import log
from rtfilter.store.index_files.index_problems import INDEX_CORRUPT, INDEX_DELETED, INDEX_STALE, INDEX_UNFINISHED, INDEX_VERSION
from rtfilter.store.index_files.snapshot import Drift
from rtfilter.store.index_files.storage import LOG
from rtfilter.store.index_layouts import completed
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.sketches.bloom import bloom_bytes
from rtfilter.store.tables.verdict import ColumnFilter
from tests.index.tables import PACK_ROWS, RUNNER, create_index, opened, storage_of, write_part

EQ_25 = {"op": "eq", "column": "a", "type": "bigint", "value": 25}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    write_part(tmp_path / "t", "p1.parquet", 50)
    return tmp_path / "t"


def ask(store: PackStore, folder: Path, predicate: Any = EQ_25, keys: KeyFilter | None = None, **more: Any) -> StoreVerdict:
    """A verdict for which no footer was read ahead."""
    files = list_directory(str(folder)).files
    listing = ([f"file:{file.local}" for file in files], [file.size_bytes for file in files], [file.mtime_ms for file in files])
    store.add_list(repr(listing), *listing)
    filters = [] if keys is None else [ColumnFilter("a", "bigint", keys)]
    verdict = store.verdict(repr(listing), filters, predicate=predicate, wait_s=0.0, **more)
    assert verdict is not None
    return verdict


def rejected(verdict: StoreVerdict) -> list[int]:
    assert verdict.static is not None
    return np.flatnonzero(verdict.static.reject).tolist()


def test_a_static_verdict_needs_no_footer_of_the_table(store: PackStore, folder: Path) -> None:
    create_index(folder)
    verdict = ask(store, folder)
    assert verdict.packs.counts.tolist() == [5, 5] and verdict.packs.rows.tolist() == [PACK_ROWS] * 10
    assert rejected(verdict) == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    metadata = pq.ParquetFile(folder / "p0.parquet").metadata
    assert verdict.packs.starts[1] == metadata.row_group(1).column(0).dictionary_page_offset


def test_a_file_that_no_index_knows_stays_unknown(store: PackStore, folder: Path) -> None:
    create_index(folder)
    write_part(folder, "p2.parquet", 20)
    verdict = ask(store, folder)
    assert verdict.packs.counts.tolist() == [5, 5, -1] and len(rejected(verdict)) == 9
    assert verdict.uses[0].reason == "" and "2 of 3 files as they are now" in verdict.uses[0].detail


def test_layouts_come_from_footers_first_and_then_from_the_first_index_that_knows_a_file(store: PackStore, folder: Path) -> None:
    create_index(folder)
    files = list_directory(str(folder)).files
    listing = ([file.path for file in files], [file.size_bytes for file in files], [file.mtime_ms for file in files])
    store.add_list("d", *listing)
    bare = store.footers.verdict("d", [], wait_s=0.0)
    assert bare is not None and bare.counts.tolist() == [-1, -1]
    located = opened(folder).catalog().locate(store._lists["d"].files)
    both = completed(bare, [located, located])
    assert both.counts.tolist() == [5, 5] and both.starts.tolist() == located.starts.tolist()
    assert completed(both, [located]) is both and completed(bare, []) is bare


def test_a_file_changed_in_place_is_not_judged(store: PackStore, folder: Path) -> None:
    create_index(folder)
    path, before = folder / "p1.parquet", (folder / "p1.parquet").stat()
    write_part(folder, "p1.parquet", 20)
    with path.open("ab"):
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if path.stat().st_size == before.st_size:
        assert not set(range(5, 10)) & set(rejected(ask(store, folder)))
    else:
        assert ask(store, folder).packs.counts.tolist() == [5, -1]


def test_an_index_staler_than_allowed_is_not_asked_and_says_so(store: PackStore, folder: Path) -> None:
    create_index(folder)
    write_part(folder, "p2.parquet", 20)
    write_part(folder, "p3.parquet", 20)
    assert len(rejected(ask(store, folder, max_stale=0.6))) == 9
    stale = ask(store, folder, max_stale=0.4)
    assert rejected(stale) == [] and stale.uses[0].reason == INDEX_STALE
    assert "covers 2 of 4 files as they are now, and the others are 50% of the table's bytes" in stale.uses[0].detail
    assert "refresh" in stale.uses[0].detail
    actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert ask(store, folder, max_stale=0.0).uses[0].reason == ""


def test_sure_packs_are_those_that_a_filter_or_predicate_keeps_whole(store: PackStore, folder: Path) -> None:
    create_index(folder)
    below = {"op": "lt", "column": "a", "type": "bigint", "value": 20}
    verdict = ask(store, folder, below, filter_of_range(10, 34), accepts=True)
    assert verdict.static is not None and np.flatnonzero(verdict.static.accept).tolist() == [0, 1]
    assert np.flatnonzero(verdict.sure[0]).tolist() == [1, 2]
    assert not ask(store, folder, below, filter_of_range(10, 34)).sure[0].any()
    assert not ask(store, folder, below, filter_of_keys(np.array([10, 11], dtype=np.int64)), accepts=True).sure[0].any()


def facts(store: PackStore, folder: Path, **more: Any) -> list[tuple[str, list[str], str]]:
    leaves = [("a", "bigint"), ("s", "string"), ("a", "string")]
    found = facts_of_indexes(store.shelf, [f"file:{folder}"], leaves, **more)
    return [(each.name, sorted(each.covers), "" if each.is_usable else each.remarks[0].reason) for each in found]


def test_before_a_query_an_index_tells_which_columns_it_could_judge(store: PackStore, folder: Path) -> None:
    assert facts(store, folder) == []
    create_index(folder, sketches=(Bloom("a"),))
    assert facts(store, folder) == [("i", ["a"], "")]
    assert facts(store, folder.parent) == []


def reasons_of_plans(store: PackStore, *paths: str, **more: Any) -> list[str]:
    found = facts_of_indexes(store.shelf, roots_of_tables(paths), [("a", "bigint")], **more)
    return [remark.reason for each in found for remark in each.remarks]


def test_an_index_of_an_enclosing_directory_is_not_told_for_the_tables_in_it(store: PackStore, folder: Path) -> None:
    write_part(folder / "orders" / "day=1", "p.parquet", 0)
    create_index(folder)
    actions.delete(storage_of(folder))
    for path in (f"file:{folder}", f"{folder}/", f"file:{folder}/p0.parquet"):
        assert reasons_of_plans(store, path) == [INDEX_DELETED], path
    for path in (f"file:{folder}/orders", f"file:{folder}/orders/day=1", f"file:{folder}/orders/day=1/p.parquet"):
        assert reasons_of_plans(store, path) == [], path


def test_an_index_of_an_enclosing_directory_in_a_location_for_many_tables_is_not_told_either(
    store: PackStore, folder: Path, tmp_path: Path
) -> None:
    write_part(folder / "orders", "p.parquet", 0)
    location = str(tmp_path / "store")
    Index.create(None, str(folder), [Bloom("a")], name="t", location=location).delete()
    assert reasons_of_plans(store, f"file:{folder}", location=location) == [INDEX_DELETED]
    assert reasons_of_plans(store, f"file:{folder}/orders", location=location) == []


def test_of_a_path_elsewhere_nobody_knows_whether_it_is_a_file(tmp_path: Path) -> None:
    assert roots_of_tables(["far:/lake/t/k=1/p.parquet", "far:/lake/t"]) == [
        "far:/lake/t/k=1/p.parquet",
        "far:/lake/t",
        "far:/lake",
    ]
    assert roots_of_tables([f"file:{tmp_path}"]) == [f"file:{tmp_path}"]


def test_a_quick_refresh_leaves_a_remark(store: PackStore, folder: Path) -> None:
    create_index(folder)
    write_part(folder, "p2.parquet", 20)
    actions.refresh(storage_of(folder), "quick", list_directory(str(folder)), RUNNER)
    assert opened(folder).snapshot.drift == Drift(appended=1)
    (found,) = facts_of_indexes(store.shelf, [str(folder)], [("a", "bigint")])
    assert found.is_usable and "lacked 1 new file when" in found.remarks[0].text


def test_an_index_that_can_not_be_used_has_a_reason(store: PackStore, folder: Path) -> None:
    create_index(folder)
    storage = storage_of(folder)
    actions.delete(storage)
    assert facts(store, folder) == [("i", [], INDEX_DELETED)]
    for reason, content in (
        (INDEX_CORRUPT, b"{"),
        (INDEX_VERSION, b'{"format": 7}'),
        (INDEX_UNFINISHED, b'{"format": 1, "state": "CREATING"}'),
    ):
        place = folder / "_rtfilter" / reason.lower() / LOG
        place.mkdir(parents=True)
        (place / f"{1:020d}.json").write_bytes(content)
        assert (reason.lower(), [], reason) in facts(store, folder)
    (folder / "_rtfilter" / "empty").mkdir()
    assert len(facts(store, folder)) == 4
    actions.vacuum(storage)
    assert log.read_log(storage).state == log.DOES_NOT_EXIST and len(facts(store, folder)) == 3


def test_in_a_location_for_many_tables_only_the_own_indexes_count(store: PackStore, folder: Path, tmp_path: Path) -> None:
    write_part(tmp_path / "other", "p.parquet", 0)
    for table in (folder, tmp_path / "other"):
        Index.create(None, str(table), [Bloom("a")], name=table.name, location=str(tmp_path / "store"))
    assert facts(store, folder, location=str(tmp_path / "store")) == [("t", ["a"], "")]
    verdict = ask(store, folder, location=str(tmp_path / "store"))
    assert [use.name for use in verdict.uses] == ["t"] and len(rejected(verdict)) == 9


def test_sizes_of_sketches_are_what_they_are_made_to_be(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows, pack_rows = 240_000, 60_000
    columns: dict[str, Any] = {f"c{number}": rng.integers(0, 10**9, rows) for number in range(12)}
    columns["s"] = [f"code-{number:09d}" for number in columns["c0"].tolist()]
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "t" / "p.parquet", row_group_size=pack_rows)
    index = Index.create(None, str(tmp_path / "t"), [MinMax("c0"), CMap("s"), Bloom("c1"), ValueSet("c2")], name="i")
    stats = index.stats()
    sizes = {each["kind"]: each["bytes"] for each in stats["sketches"]}
    assert sizes["min_max"] + sizes["cmap"] < 0.01 * stats["table_bytes"]
    wanted = sum(bloom_bytes(len(np.unique(columns["c1"][begin : begin + pack_rows])), 0.01) for begin in range(0, rows, pack_rows))
    assert abs(sizes["bloom"] - wanted) < 0.1 * wanted
