"""Files beyond the bound of memory are judged by bounds around all their packs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rtfilter.store.bounds.filters import EmptyFilter, KeyFilter
from rtfilter.store.footer_cache.kept_folder import kept_in
from rtfilter.store.footer_cache.kept_list import KEPT_FILE_BYTES, KeptList
from rtfilter.store.index_files.catalog import Located
from rtfilter.store.index_layouts import completed
from rtfilter.store.parquet import pack_statistics
from rtfilter.store.tables import footer_store
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter, Verdict
from tests.store.tables_at_hand import PATIENCE_S, keys, listing, loaded, verdict_on, write
from tests.store.test_random_files import filters_of
from tests.store.test_replaced_files import take_the_place_of

FILES = 60
# For the packs of some of these files, and for bounds of all of them.
SCARCE = 40_000


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_store, "WHOLE_AT_ONCE", 7)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of ten packs: of file i whole numbers and texts from 100 i to 100 i + 99, without 100 i + 40 to 59; c has nulls."""
    folder = tmp_path_factory.mktemp("whole")
    found = []
    for i in range(FILES):
        values = [100 * i + n if n < 40 or n >= 60 else 100 * i for n in range(100)]
        columns: dict[str, Any] = {
            "a": pa.array(values, pa.int32()),
            "s": [f"{'x' * 9}{value:06}" for value in values],
            "c": pa.array([None] * 100 if i % 2 else values, pa.int64()),
            "d": pa.array([float("nan") if n == 5 else -0.0 if i == 0 else float(value) for n, value in enumerate(values)]),
        }
        found.append(write(folder / f"{i:02}.parquet", columns))
    return found


def scarce(paths: Sequence[Path], *columns: str, cache_bytes: int = SCARCE) -> FooterStore:
    store = FooterStore(cache_bytes=cache_bytes)
    loaded(store, paths, *columns)
    return store


def files_kept(verdict: Verdict) -> list[int]:
    """Those that a scan reads anything of."""
    counts, _, keep = verdict.for_reading(verdict.keep[0])
    file_of = np.repeat(np.arange(len(counts)), np.maximum(counts, 0))
    return sorted({*np.flatnonzero(counts < 0).tolist(), *file_of[keep].tolist()})


def test_files_are_rejected_whole_where_their_packs_do_not_fit(paths: list[Path]) -> None:
    store = scarce(paths, "a")
    verdict = verdict_on(store, "t", "a", keys(105, 5_998))
    assert verdict.whole is not None and int(verdict.whole.sum()) > 10 and not verdict.files_unknown
    assert files_kept(verdict) == [1, 59] and store.used_bytes <= SCARCE
    assert verdict.rows_total == 100 * FILES and verdict.value_spans == (100 * FILES,)
    # In the gap of a file there is no value, which only its packs tell.
    gaps = verdict_on(store, "t", "a", keys(*(100 * i + 50 for i in range(FILES))))
    assert files_kept(gaps) == np.flatnonzero(verdict.whole).tolist()
    assert store.footers_read == FILES
    store.close()


def test_no_footer_is_read_again(paths: list[Path]) -> None:
    store = scarce(paths, "a")
    for number in range(4):
        assert files_kept(verdict_on(store, "t", "a", keys(100 * number))) == [number]
        store.prefetch("t", ["a"])
    assert store.footers_read == FILES
    store.prefetch("t", ["a", "s"])
    text = filters_of([b"xxxxxxxxx000205"], keep_nulls=False)[0]
    assert 2 in files_kept(verdict_on(store, "t", "s", text, "string"))
    store.close()


def test_what_does_not_fit_at_all_is_unknown(paths: list[Path]) -> None:
    store = scarce(paths, "a", cache_bytes=500)
    verdict = verdict_on(store, "t", "a", keys(105))
    assert verdict.counts.tolist() == [-1] * FILES and verdict.whole is None
    assert files_kept(verdict) == list(range(FILES)) and store.used_bytes <= 2_000
    store.close()


@pytest.mark.parametrize(
    ("column", "type", "form"),
    [
        ("a", "int", keys(4_005)),
        ("a", "bigint", EmptyFilter()),
        ("s", "string", filters_of([b"xxxxxxxxx000205", b"xxxxxxxxx004199"], False)[0]),
        ("s", "string", filters_of([b"xxxxxxxxx000205", b"xxxxxxxxx000305"], True)[1]),
        ("c", "bigint", keys(205, 305)),
        ("c", "bigint", EmptyFilter(keep_nulls=True)),
        ("d", "double", keys(0)),
        ("d", "float", keys(0)),
    ],
)
def test_a_file_is_kept_where_its_packs_are(paths: list[Path], column: str, type: str, form: KeyFilter) -> None:
    plenty, short = scarce(paths, column, cache_bytes=256 << 20), scarce(paths, column, cache_bytes=SCARCE)
    exactly, verdict = (verdict_on(store, "t", column, form, type) for store in (plenty, short))
    assert exactly.whole is None and verdict.whole is not None
    # These keys lie in no gap: files tell as much as packs.
    assert files_kept(verdict) == files_kept(exactly) and (len(files_kept(exactly)) < FILES or type in ("float", "double"))
    for store in (plenty, short):
        store.close()


def test_a_replaced_file_is_unknown_and_read_again(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i:02}.parquet", {"a": pa.array(range(100 * i, 100 * i + 100), pa.int32())}) for i in range(FILES)]
    store = scarce(paths, "a")
    whole = verdict_on(store, "t", "a", keys(105)).whole
    assert whole is not None and whole[0]
    take_the_place_of(paths[0], write(tmp_path / "other", {"a": pa.array(range(100, 200), pa.int32())}))
    again = verdict_on(store, "t", "a", keys(105))
    assert again.counts[0] == -1 and again.whole is not None and not again.whole[0] and files_kept(again) == [0, 1]
    store.prefetch("t", ["a"])
    assert files_kept(verdict_on(store, "t", "a", keys(205))) == [2]
    store.close()


def test_what_was_kept_on_disk_is_held_whole_where_it_does_not_fit(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_statistics, "SETTLED_S", 0.0)
    place = kept_in(str(tmp_path / "cache"), 64 << 20)
    for cache_bytes, is_whole in ((256 << 20, False), (256 << 20, False), (15_000, True)):
        store = FooterStore(cache_bytes=cache_bytes)
        store.add_list("t", *listing(paths))
        store.recall("t", place, ["a"], PATIENCE_S, lambda file, tail: None)
        store.prefetch("t", ["a"])
        verdict = verdict_on(store, "t", "a", keys(105))
        assert (verdict.whole is not None) == is_whole and files_kept(verdict) == [1]
        assert store.kept.flush(PATIENCE_S)
        store.close()
    assert store.footers_read == 0 and store.footers_recalled == FILES


def test_a_column_that_is_read_later_is_held_whole_beside_packs_of_another(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_statistics, "SETTLED_S", 0.0)
    place = kept_in(str(tmp_path / "cache"), 64 << 20)
    before, store = FooterStore(), FooterStore(cache_bytes=60_000)
    for each in (before, store):
        each.add_list("t", *listing(paths))
        each.recall("t", place, ["a"], PATIENCE_S, lambda file, tail: None)
        each.prefetch("t", ["a"])
        assert verdict_on(each, "t", "a", keys(105)).whole is None and each.kept.flush(PATIENCE_S)
    text = filters_of([b"xxxxxxxxx000205"], keep_nulls=False)[0]
    for _ in range(3):
        store.prefetch("t", ["a", "s"])
        assert files_kept(verdict_on(store, "t", "s", text, "string")) == [2]
        assert files_kept(verdict_on(store, "t", "a", keys(105))) == [1]
    assert store.footers_recalled == store.footers_read == FILES
    for each in (before, store):
        each.close()


def test_a_list_of_which_nothing_is_kept_takes_what_is_said() -> None:
    assert KeptList(1_000).memory_bytes == 1_000 * KEPT_FILE_BYTES


def test_what_fits_nowhere_is_not_recalled(paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_statistics, "SETTLED_S", 0.0)
    place = kept_in(str(tmp_path / "cache"), 64 << 20)
    for cache_bytes, recalled in ((256 << 20, 0), (256 << 20, FILES), (1_000, 0)):
        store = FooterStore(cache_bytes=cache_bytes)
        store.add_list("t", *listing(paths))
        store.recall("t", place, ["a"], PATIENCE_S, lambda file, tail: None)
        assert store.footers_recalled == recalled
        store.prefetch("t", ["a"])
        verdict_on(store, "t", "a", keys(105))
        assert store.kept.flush(PATIENCE_S)
        store.close()


def test_an_index_knows_the_packs_of_whole_files() -> None:
    keep = np.array([True, False, True, True, False])
    whole = np.array([True, True, False, True, False])
    counts = np.array([1, 1, 2, 1, -1], dtype=np.int32)
    starts, rows = np.array([-1, -1, 4, 50, -1]), np.array([30, 30, 5, 5, 30])
    packs = Verdict(counts, starts, rows, (keep,), (None,), (np.ones(5, dtype=np.bool_),), whole=whole)
    index = Located(np.array([3, 2, 1, -1, 1], dtype=np.int32), np.arange(7), np.arange(7) * 10, np.arange(7) + 1)
    found = completed(packs, [index])
    assert (
        found.counts.tolist() == [3, 2, 2, 1, 1] and found.whole is not None and found.whole.tolist() == [False] * 3 + [True, False]
    )
    assert found.keep[0].tolist() == [True] * 3 + [False] * 2 + [True, True, False, True]
    assert found.starts.tolist() == [0, 10, 20, 30, 40, 4, 50, -1, 60] and found.bounded[0].tolist() == [True] * 8 + [False]
    counts, starts, keep = found.for_reading(found.keep[0])
    assert counts.tolist() == [3, 2, 2, 0, 1] and starts.tolist() == [0, 10, 20, 30, 40, 4, 50, 60] and len(keep) == 8


def test_many_threads_read_and_ask(paths: list[Path]) -> None:
    store = scarce(paths, "a")
    wrong: list[Any] = []

    def ask(number: int) -> None:
        for i in range(number, FILES, 6):
            store.prefetch("t", ["a"])
            found = store.verdict("t", [ColumnFilter("a", "int", keys(100 * i))], wait_s=PATIENCE_S)
            if found is None or i not in files_kept(found):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and store.used_bytes <= SCARCE
    store.close()
