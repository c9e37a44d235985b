"""The store: lists, footers read ahead, verdicts, bounds of memory."""

from __future__ import annotations

import datetime
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from rtfilter.store.bounds.filters import EmptyFilter, KeyFilter, filter_of_range
from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem, read_local_footer
from rtfilter.store.tables import footer_store, reads_under_way
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter, PackFigures
from tests.cases_share import cases
from tests.store.tables_at_hand import PATIENCE_S, kept, keys, listing, loaded, set_of, verdict_on, write


def ints(*values: int | None, type: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, type or pa.int32())


def tail_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") :]


@pytest.fixture
def three_files(tmp_path: Path) -> list[Path]:
    """Ten packs of ten values each: 0 to 39, 40 to 69, 70 to 99."""
    spans = [(0, 40), (40, 70), (70, 100)]
    return [write(tmp_path / f"{i}.parquet", {"a": ints(*range(*span)), "b": ints(*range(*span))}) for i, span in enumerate(spans)]


class TestVerdicts:
    def test_each_file_has_its_packs_in_list_order(self, store: FooterStore, three_files: list[Path]) -> None:
        verdict = verdict_on(store, loaded(store, three_files, "a"), "a", keys(5, 55))
        assert verdict.counts.tolist() == [4, 3, 3] and verdict.counts.dtype == np.int32
        assert verdict.keep[0].tolist() == [True, False, False, False, False, True, False, False, False, False]
        assert verdict.starts.dtype == np.int64 and verdict.starts[0] == verdict.starts[4] == verdict.starts[7] == 4
        assert (verdict.packs_total, verdict.rows_total, verdict.files_unknown) == (10, 100, 0)

    def test_figures_of_one_filter(self, store: FooterStore, three_files: list[Path]) -> None:
        verdict = verdict_on(store, loaded(store, three_files, "a"), "a", keys(5, 55))
        assert verdict.figures(0) == PackFigures(10, 8, 100, 80, value_span=100, packs_bounded=10)

    def test_every_filter_has_a_mask_of_its_own_and_they_intersect(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a", "b")
        filters = [ColumnFilter("a", "int", filter_of_range(0, 19)), ColumnFilter("b", "int", filter_of_range(10, 29))]
        verdict = store.verdict(digest, filters, wait_s=PATIENCE_S)
        assert verdict is not None
        assert [np.flatnonzero(mask).tolist() for mask in verdict.keep] == [[0, 1], [1, 2]]
        assert np.flatnonzero(verdict.keep_all_of([0, 1])).tolist() == [1]
        assert np.flatnonzero(verdict.keep_all_of([1])).tolist() == [1, 2]
        assert verdict.keep_all_of([]).all()

    def test_two_filters_on_one_column(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a")
        filters = [ColumnFilter("a", "int", filter_of_range(0, 19)), ColumnFilter("a", "int", EmptyFilter())]
        verdict = store.verdict(digest, filters, wait_s=PATIENCE_S)
        assert verdict is not None and [int(mask.sum()) for mask in verdict.keep] == [2, 0]

    def test_an_unknown_digest_has_no_verdict(self, store: FooterStore) -> None:
        assert store.verdict("?", [ColumnFilter("a", "int", keys(1))]) is None

    def test_a_table_without_files(self, store: FooterStore) -> None:
        verdict = verdict_on(store, loaded(store, [], "a"), "a", keys(1))
        assert verdict.counts.tolist() == [] and verdict.packs_total == 0 and verdict.rows_total == 0

    def test_the_same_question_has_the_same_answer(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a")
        first, second = (verdict_on(store, digest, "a", keys(5, 55)) for _ in range(2))
        assert first.keep[0].tolist() == second.keep[0].tolist() and first.starts is second.starts


class TestTypes:
    def test_a_column_widened_between_files_is_one_column(self, store: FooterStore, tmp_path: Path) -> None:
        old = write(tmp_path / "old.parquet", {"a": ints(1, 2)})
        new = write(tmp_path / "new.parquet", {"a": ints(1, 2**40, type=pa.int64())})
        far = write(tmp_path / "far.parquet", {"a": ints(2**40, 2**41, type=pa.int64())})
        assert kept(store, loaded(store, [old, new, far], "a"), "a", keys(2), "bigint") == [True, True, False]

    def test_a_file_with_values_that_the_type_can_not_hold_is_unknown(self, store: FooterStore, tmp_path: Path) -> None:
        # Under a tinyint schema Spark reads 300 as 44.
        paths = [write(tmp_path / f"{i}.parquet", {"a": ints(value)}) for i, value in enumerate((300, 5))]
        assert kept(store, loaded(store, paths, "a"), "a", keys(44), "tinyint") == [True, False]

    def test_an_unsigned_file_under_a_signed_schema_is_unknown_beyond_its_range(self, store: FooterStore, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": ints(2**32 - 5, type=pa.uint32())})
        digest = loaded(store, [path], "a")
        assert kept(store, digest, "a", keys(-5), "int") == [True]
        assert kept(store, digest, "a", keys(-5), "bigint") == [False]
        assert kept(store, digest, "a", keys(2**32 - 5), "bigint") == [True]

    def test_dates_and_whole_numbers_do_not_mix(self, store: FooterStore, tmp_path: Path) -> None:
        dates = write(tmp_path / "d.parquet", {"a": pa.array([datetime.date(2020, 1, 1)])})
        numbers = write(tmp_path / "n.parquet", {"a": ints(18262)})
        digest = loaded(store, [dates, numbers], "a")
        assert kept(store, digest, "a", keys(7), "date") == [False, True]
        assert kept(store, digest, "a", keys(7), "int") == [True, False]

    @pytest.mark.parametrize("type", ["string", "decimal(9,0)", "timestamp", ""])
    def test_other_types_reject_nothing(self, store: FooterStore, three_files: list[Path], type: str) -> None:
        assert all(kept(store, loaded(store, three_files, "a"), "a", EmptyFilter(), type))

    def test_a_column_missing_in_one_file_is_unknown_there(self, store: FooterStore, tmp_path: Path) -> None:
        paths = [write(tmp_path / "0.parquet", {"b": ints(1)}), write(tmp_path / "1.parquet", {"a": ints(1)})]
        assert kept(store, loaded(store, paths, "a"), "a", keys(9)) == [True, False]

    def test_packs_of_nulls_are_rejected(self, store: FooterStore, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"a": ints(None, None, 1, 2)}, pack_rows=2)
        assert kept(store, loaded(store, [path], "a"), "a", filter_of_range(-(2**63), 2**63 - 1)) == [False, True]

    def test_case_is_a_matter_of_the_question(self, store: FooterStore, tmp_path: Path) -> None:
        path = write(tmp_path / "t.parquet", {"Key": ints(1)})
        digest = loaded(store, [path], "key")
        assert kept(store, digest, "key", keys(9), case_sensitive=False) == [False]
        assert kept(store, digest, "key", keys(9), case_sensitive=True) == [True]
        assert kept(store, digest, "Key", keys(9), case_sensitive=True) == [False]


class TestUnknownFiles:
    def test_a_file_that_can_not_be_read_is_unknown_and_the_others_count(self, store: FooterStore, three_files: list[Path]) -> None:
        three_files[1].write_bytes(b"this is not a Parquet file at all")
        verdict = verdict_on(store, loaded(store, three_files, "a"), "a", keys(5))
        assert verdict.counts.tolist() == [4, -1, 3] and verdict.files_unknown == 1
        assert len(verdict.starts) == len(verdict.rows) == len(verdict.keep[0]) == 7
        assert "not a Parquet file" in store.problems("t")[f"file:{three_files[1]}"]

    def test_a_file_that_is_gone_is_unknown(self, store: FooterStore, three_files: list[Path]) -> None:
        store.add_list("t", *listing(three_files))
        three_files[0].unlink()
        store.prefetch("t", ["a"])
        assert verdict_on(store, "t", "a", keys(5)).counts.tolist() == [-1, 3, 3]

    @pytest.mark.parametrize("moment", ["before its footer is read", "after its footer is read"])
    @pytest.mark.parametrize("change", ["size", "time", "gone"])
    def test_a_file_replaced_since_it_was_listed_is_unknown(
        self, store: FooterStore, three_files: list[Path], moment: str, change: str
    ) -> None:
        store.add_list("t", *listing(three_files))
        if moment.startswith("after"):
            store.prefetch("t", ["a"])
            assert verdict_on(store, "t", "a", keys(5)).counts.tolist() == [4, 3, 3]
        replace_file(three_files[1], change)
        store.prefetch("t", ["a"])
        verdict = verdict_on(store, "t", "a", keys(5, 80))
        assert verdict.counts.tolist() == [4, -1, 3]
        assert verdict.keep[0].tolist() == [True, False, False, False, False, True, False]
        assert verdict.starts.tolist()[0] == verdict.starts.tolist()[4] == 4 and verdict.rows_total == 70

    def test_a_table_never_read_ahead_is_unknown_whole(self, store: FooterStore, three_files: list[Path]) -> None:
        store.add_list("t", *listing(three_files))
        verdict = verdict_on(store, "t", "a", keys(5))
        assert verdict.counts.tolist() == [-1, -1, -1] and verdict.packs_total == 0

    def test_a_column_never_read_ahead_rejects_nothing(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a")
        assert not all(kept(store, digest, "a", EmptyFilter()))
        verdict = verdict_on(store, digest, "b", EmptyFilter())
        assert verdict.counts.tolist() == [4, 3, 3] and verdict.keep[0].all()

    def test_a_column_read_later_counts_from_then_on(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a")
        assert all(kept(store, digest, "b", keys(5)))
        store.prefetch(digest, ["b"])
        assert kept(store, digest, "b", keys(5)).count(True) == 1
        assert kept(store, digest, "a", keys(5)).count(True) == 1


def replace_file(path: Path, change: str) -> None:
    status = path.stat()
    if change == "gone":
        path.unlink()
    elif change == "size":
        write(path, {"a": ints(*range(500))})
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    else:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000))


class TestReadingAhead:
    def test_a_verdict_waits_for_footers_under_way(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = hold_reads(monkeypatch)
        digest = loaded(store, three_files, "a")
        threading.Timer(0.2, gate.set).start()
        assert verdict_on(store, digest, "a", keys(5)).counts.tolist() == [4, 3, 3]

    def test_a_verdict_waits_no_longer_than_it_is_told(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = hold_reads(monkeypatch, only="1.parquet")
        digest = loaded(store, three_files, "a")
        started = time.monotonic()
        verdict = store.verdict(digest, [ColumnFilter("a", "int", keys(5))], wait_s=0.3)
        assert 0.25 < time.monotonic() - started < PATIENCE_S
        assert verdict is not None and verdict.counts.tolist() == [4, -1, 3]
        gate.set()
        assert verdict_on(store, digest, "a", keys(5)).counts.tolist() == [4, 3, 3]

    def test_files_are_read_side_by_side(self, store: FooterStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        paths = [write(tmp_path / f"{i}.parquet", {"a": ints(i)}) for i in range(4)]
        together = threading.Barrier(4, timeout=PATIENCE_S)
        replace_reader(monkeypatch, lambda _: together.wait())
        digest = loaded(store, paths, "a")
        assert verdict_on(store, digest, "a", keys(2)).keep[0].tolist() == [False, False, True, False]

    def test_a_footer_is_read_once_however_many_ask(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads: list[str] = []
        replace_reader(monkeypatch, reads.append)
        with ThreadPoolExecutor(8) as askers:
            list(askers.map(lambda i: loaded(store, three_files, "a", digest=f"t{i % 2}"), range(32)))
        for digest in ("t0", "t1"):
            assert verdict_on(store, digest, "a", keys(5)).counts.tolist() == [4, 3, 3]
        assert sorted(reads) == sorted(str(path) for path in three_files)

    def test_a_bad_file_is_not_tried_at_every_query(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        three_files[0].write_bytes(b"rubbish and more rubbish")
        reads: list[str] = []
        replace_reader(monkeypatch, reads.append)
        for _ in range(5):
            digest = loaded(store, three_files, "a")
            assert verdict_on(store, digest, "a", keys(5)).counts.tolist() == [-1, 3, 3]
        assert len(reads) == 3

    def test_a_file_of_two_tables_is_read_for_one(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verdict_on(store, loaded(store, three_files[:2], "a", digest="yesterday"), "a", keys(5))
        reads: list[str] = []
        replace_reader(monkeypatch, reads.append)
        verdict_on(store, loaded(store, three_files, "a", digest="today"), "a", keys(5))
        assert reads == [str(three_files[2])]

    def test_a_reader_that_fails_is_no_failure_of_the_verdict(
        self, store: FooterStore, three_files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: str) -> None:
            raise MemoryError

        replace_reader(monkeypatch, fail)
        assert verdict_on(store, loaded(store, three_files, "a"), "a", keys(5)).counts.tolist() == [-1, -1, -1]

    def test_many_files_in_many_threads(self, store: FooterStore, tmp_path: Path) -> None:
        paths = [write(tmp_path / f"{i}.parquet", {"a": ints(i)}) for i in range(300)]
        digest = loaded(store, paths, "a")
        with ThreadPoolExecutor(4) as askers:
            masks = list(askers.map(lambda i: np.flatnonzero(verdict_on(store, digest, "a", keys(i)).keep[0]).tolist(), range(20)))
        assert masks == [[i] for i in range(20)]

    def test_a_closed_store_answers_what_it_knows_and_reads_no_more(self, three_files: list[Path]) -> None:
        store = FooterStore()
        digest = loaded(store, three_files, "a")
        verdict_on(store, digest, "a", keys(5))
        store.close()
        store.prefetch(digest, ["b"])
        assert verdict_on(store, digest, "a", keys(5)).counts.tolist() == [4, 3, 3]


def replace_reader(monkeypatch: pytest.MonkeyPatch, before: Callable[[str], object]) -> None:
    """Every read of a footer calls `before` with its path first."""

    def read(path: str, size_bytes: int, mtime_ms: int, columns: list[str]) -> FileStats | FooterProblem:
        before(path)
        return read_local_footer(path, size_bytes, mtime_ms, columns)

    monkeypatch.setattr(footer_store, "read_local_footer", read)


def hold_reads(monkeypatch: pytest.MonkeyPatch, only: str = "") -> threading.Event:
    """Reads of paths that end so wait for the event."""
    gate = threading.Event()
    replace_reader(monkeypatch, lambda path: gate.wait(PATIENCE_S) if path.endswith(only) else None)
    return gate


class TestBridge:
    @pytest.fixture
    def remote(self, store: FooterStore, three_files: list[Path]) -> str:
        """A table of which the second file is on another filesystem."""
        paths, sizes, mtimes = listing(three_files)
        paths[1] = "s3a://bucket/1.parquet"
        store.add_list("r", paths, sizes, mtimes)
        return "r"

    def test_only_files_of_other_filesystems_are_asked_for(self, store: FooterStore, remote: str) -> None:
        assert store.needs_bridge(remote, ["a"]) == [1]

    def test_a_raw_footer_makes_the_file_known(self, store: FooterStore, remote: str, three_files: list[Path]) -> None:
        store.prefetch(remote, ["a"])
        assert store.needs_bridge(remote, ["a"]) == [1]
        store.put_footer_bytes(remote, 1, tail_of(three_files[1]))
        verdict = verdict_on(store, remote, "a", keys(5, 55))
        assert verdict.counts.tolist() == [4, 3, 3] and np.flatnonzero(verdict.keep[0]).tolist() == [0, 5]

    def test_a_verdict_waits_for_the_bridge(self, store: FooterStore, remote: str, three_files: list[Path]) -> None:
        store.prefetch(remote, ["a"])
        store.needs_bridge(remote, ["a"])
        threading.Timer(0.2, lambda: store.put_footer_bytes(remote, 1, tail_of(three_files[1]))).start()
        assert verdict_on(store, remote, "a", keys(5)).counts.tolist() == [4, 3, 3]

    def test_an_error_of_the_bridge_leaves_the_file_unknown_at_once(self, store: FooterStore, remote: str) -> None:
        store.prefetch(remote, ["a"])
        store.needs_bridge(remote, ["a"])
        store.put_footer_error(remote, 1, "access denied")
        started = time.monotonic()
        assert verdict_on(store, remote, "a", keys(5)).counts.tolist() == [4, -1, 3]
        assert time.monotonic() - started < PATIENCE_S
        assert "access denied" in store.problems(remote)["s3a://bucket/1.parquet"]

    def test_rubbish_of_the_bridge_leaves_the_file_unknown(self, store: FooterStore, remote: str) -> None:
        store.prefetch(remote, ["a"])
        store.needs_bridge(remote, ["a"])
        store.put_footer_bytes(remote, 1, b"PAR1")
        assert verdict_on(store, remote, "a", keys(5)).counts.tolist() == [4, -1, 3]

    def test_a_silent_bridge_is_waited_for_only_so_long(self, store: FooterStore, remote: str) -> None:
        store.prefetch(remote, ["a"])
        store.needs_bridge(remote, ["a"])
        verdict = store.verdict(remote, [ColumnFilter("a", "int", keys(5))], wait_s=0.2)
        assert verdict is not None and verdict.counts.tolist() == [4, -1, 3]

    def test_a_silent_bridge_is_asked_again_later(self, store: FooterStore, remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reads_under_way, "BRIDGE_ANSWERS_WITHIN_S", 0.0)
        assert store.needs_bridge(remote, ["a"]) == [1]
        assert store.needs_bridge(remote, ["a"]) == [1]

    def test_it_is_not_asked_twice_for_the_same(self, store: FooterStore, remote: str, three_files: list[Path]) -> None:
        assert store.needs_bridge(remote, ["a"]) == [1]
        assert store.needs_bridge(remote, ["A"]) == []
        store.put_footer_bytes(remote, 1, tail_of(three_files[1]))
        assert store.needs_bridge(remote, ["a"]) == []
        assert store.needs_bridge(remote, ["a", "b"]) == [1]

    def test_a_list_is_known_when_nothing_has_to_be_asked(self, store: FooterStore, remote: str, three_files: list[Path]) -> None:
        assert not store.knows("?", ["a"]) and not store.knows(remote, ["a"])
        store.needs_bridge(remote, ["a"])
        assert store.knows(remote, ["a"])
        store.put_footer_bytes(remote, 1, tail_of(three_files[1]))
        assert store.knows(remote, ["a"]) and not store.knows(remote, ["b"])

    @pytest.mark.parametrize("index", [-1, 3, 99])
    def test_what_does_not_fit_a_list_is_dropped(self, store: FooterStore, remote: str, index: int) -> None:
        store.put_footer_bytes(remote, index, b"")
        store.put_footer_error(remote, index, "")
        store.put_footer_bytes("?", 0, b"")
        assert store.problems(remote) == {}


class TestBoundsOfMemory:
    def test_the_longest_unused_list_goes_first(self, three_files: list[Path]) -> None:
        store = FooterStore(most_lists=2)
        for digest in ("a", "b"):
            store.add_list(digest, *listing(three_files))
        assert store.knows("a", [])
        store.add_list("c", *listing(three_files))
        assert [store.knows(digest, []) for digest in "abc"] == [True, False, True]
        store.close()

    def test_lists_of_unequal_length_are_refused(self, store: FooterStore) -> None:
        with pytest.raises(ValueError, match="a size and a time per path"):
            store.add_list("t", ["/a"], [1, 2], [3])

    def test_statistics_stay_within_the_bound_and_verdicts_stay_right(self, tmp_path: Path) -> None:
        paths = [write(tmp_path / f"{i}.parquet", {"a": ints(*range(i * 10, i * 10 + 10))}, pack_rows=1) for i in range(40)]
        store = FooterStore(cache_bytes=20_000)
        unknown = []
        for i in range(0, 40, 4):
            digest = loaded(store, paths[i : i + 4], "a", digest=f"t{i}")
            verdict = verdict_on(store, digest, "a", keys(i * 10))
            unknown.append(verdict.files_unknown)
            assert store.used_bytes <= 20_000
        assert unknown[0] == 0
        store.close()

    def test_no_memory_means_that_every_file_is_unknown(self, three_files: list[Path]) -> None:
        store = FooterStore(cache_bytes=0)
        assert verdict_on(store, loaded(store, three_files, "a"), "a", keys(5)).counts.tolist() == [-1, -1, -1]
        assert store.used_bytes < 100
        store.close()

    def test_the_bound_can_be_changed(self, store: FooterStore, three_files: list[Path]) -> None:
        digest = loaded(store, three_files, "a")
        assert verdict_on(store, digest, "a", keys(5)).files_unknown == 0
        assert store.used_bytes > 0
        store.limit_cache(0)
        assert store.used_bytes == 0
        assert verdict_on(store, digest, "a", keys(5)).files_unknown == 3

    def test_a_table_laid_out_needs_its_files_no_more(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        paths = [write(tmp_path / f"{i}.parquet", {"a": ints(*range(100)), "b": ints(*range(100))}, pack_rows=1) for i in range(3)]
        # Room for both tables laid out with one column each, but not for all their files beside them.
        store = FooterStore(cache_bytes=70_000)
        digest = loaded(store, paths, "a", "b")
        assert verdict_on(store, digest, "a", keys(5)).files_unknown == 0
        reads: list[str] = []
        replace_reader(monkeypatch, reads.append)
        other = write(tmp_path / "other.parquet", {"a": ints(*range(500)), "b": ints(*range(500))}, pack_rows=1)
        verdict_on(store, loaded(store, [other], "a", "b", digest="other"), "a", keys(5))
        assert len(store._cache) < 4
        store.prefetch(digest, ["a"])
        assert verdict_on(store, digest, "a", keys(5)).files_unknown == 0
        assert reads == [str(other)]
        store.close()


class TestNoWrongReject:
    """The whole way: random values into files, filters on them; no pack that holds a key may go, and some must go."""

    small = st.integers(-30, 30)
    value = st.one_of(st.none(), small, st.sampled_from([-(2**63), 2**63 - 1]))

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=cases(60))
    @given(
        files=st.lists(st.lists(value, min_size=1, max_size=25), min_size=1, max_size=4),
        key_values=st.sets(st.one_of(small, st.sampled_from([-(2**63), 2**63 - 1])), max_size=6),
        pack_rows=st.integers(1, 5),
        with_statistics=st.lists(st.booleans(), min_size=4, max_size=4),
    )
    def test_no_pack_with_a_key_is_rejected(
        self, tmp_path: Path, files: list[list[int | None]], key_values: set[int], pack_rows: int, with_statistics: list[bool]
    ) -> None:
        paths = [
            write(tmp_path / f"{i}.parquet", {"a": ints(*values, type=pa.int64())}, pack_rows, write_statistics=with_statistics[i])
            for i, values in enumerate(files)
        ]
        packs = [values[at : at + pack_rows] for values in files for at in range(0, len(values), pack_rows)]
        store = FooterStore()
        digest = loaded(store, paths, "a")
        forms: list[KeyFilter] = [EmptyFilter()]
        if key_values:
            forms = [set_of(key_values), filter_of_range(min(key_values), max(key_values))]
        for form in forms:
            keep = kept(store, digest, "a", form, "bigint")
            assert len(keep) == len(packs)
            assert all(keep[i] for i, pack in enumerate(packs) if key_values.intersection(pack))
            event(f"rejects: {not all(keep)}")
        store.close()

    def test_a_selective_set_on_sorted_values_does_reject(self, store: FooterStore, tmp_path: Path) -> None:
        rng = np.random.default_rng(7)
        values = np.sort(rng.integers(0, 100_000, 20_000))
        paths = [write(tmp_path / f"{i}.parquet", {"a": part}, pack_rows=100) for i, part in enumerate(np.array_split(values, 4))]
        wanted = rng.choice(values, 20)
        keep = kept(store, loaded(store, paths, "a"), "a", set_of(wanted.tolist()), "bigint")
        packs = [part[at : at + 100] for part in np.array_split(values, 4) for at in range(0, len(part), 100)]
        holding = [bool(np.isin(pack, wanted).any()) for pack in packs]
        assert len(keep) == 200 and all(keep[i] for i, holds in enumerate(holding) if holds)
        assert keep.count(False) >= 150
