"""Footers kept in a cache directory: found by the next application, never believed of another file."""

from __future__ import annotations

import logging
import os
import random
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rtfilter.store.bounds.filters import BytesSetFilter, KeyFilter
from rtfilter.store.footer_cache import kept_footers
from rtfilter.store.footer_cache.kept_folder import KeptFolder, KeptIn, kept_in
from rtfilter.store.parquet import pack_statistics
from rtfilter.store.tables import footer_store
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter, Verdict
from tests.store.tables_at_hand import PATIENCE_S, keys, listing, write
from tests.store.test_replaced_files import take_the_place_of

OLD_S = 3600


@pytest.fixture(autouse=True)
def files_settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written by a test just now count as old ones."""
    monkeypatch.setattr(pack_statistics, "SETTLED_S", 0.0)


@pytest.fixture
def cache(tmp_path: Path) -> KeptIn:
    return kept_in(str(tmp_path / "cache"), 64 << 20)


@pytest.fixture
def table(tmp_path: Path) -> list[Path]:
    """Three files of two packs each: 0 to 9, 10 to 19; 100 to 109 ..."""
    (tmp_path / "t").mkdir()
    return [part(tmp_path / "t" / f"{i}.parquet", 100 * i) for i in range(3)]


def part(path: Path, first: int, **more: Any) -> Path:
    values = pa.array(range(first, first + 20), pa.int32())
    return write(path, {"a": values, "b": values, **more})


class Application:
    """What one application's host does with a table, by its cache directory."""

    def __init__(self, cache: KeptIn, paths: Sequence[Path], *columns: str) -> None:
        self.store = FooterStore()
        self.cache = cache
        self.columns = columns
        self.tails: dict[str, bytes] = {}
        self.ask(paths, *columns)

    def ask(self, paths: Sequence[Path], *columns: str, digest: str = "t") -> None:
        self.tell(*listing(paths), columns=columns, digest=digest)

    def tell(
        self, texts: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int], columns: Sequence[str], digest: str = "t"
    ) -> None:
        self.store.add_list(digest, texts, sizes, mtimes)
        self.store.recall(digest, self.cache, columns, PATIENCE_S, lambda file, tail: self.tails.update({file.path: tail}))
        self.store.prefetch(digest, columns)

    def verdict(self, column: str, keys: KeyFilter, type: str = "int", digest: str = "t") -> Verdict:
        found = self.store.verdict(digest, [ColumnFilter(column, type, keys)], wait_s=PATIENCE_S)
        assert found is not None
        return found

    def kept(self, column: str, keys: KeyFilter, type: str = "int", digest: str = "t") -> list[bool]:
        mask: list[bool] = self.verdict(column, keys, type, digest).keep[0].tolist()
        return mask

    def ends(self) -> None:
        # A verdict waits for the footers.
        self.store.verdict("t", [ColumnFilter(name, "int", keys(1)) for name in self.columns], wait_s=PATIENCE_S)
        assert self.store.kept.flush(PATIENCE_S)
        self.store.close()

    @property
    def read(self) -> int:
        return self.store.footers_read


@pytest.fixture
def first(cache: KeptIn, table: list[Path]) -> Iterator[None]:
    """An application that has asked for column a and has ended."""
    application = Application(cache, table, "a")
    assert application.kept("a", keys(105)) == [False, False, True, False, False, False]
    assert (application.read, application.store.footers_recalled) == (3, 0)
    application.ends()
    yield


def batches(cache: KeptIn) -> list[Path]:
    return sorted(Path(cache.folder.path).iterdir())


class TestTheNextApplication:
    def test_reads_no_footer(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        second = Application(cache, table, "a")
        verdict = second.verdict("a", keys(105, 210))
        assert verdict.keep[0].tolist() == [False, False, True, False, False, True]
        assert verdict.counts.tolist() == [2, 2, 2] and verdict.rows.tolist() == [10] * 6 and verdict.starts[0] == 4
        assert (second.read, second.store.footers_recalled) == (0, 3)

    def test_reads_footers_for_a_column_that_nobody_asked_for_and_keeps_both(
        self, first: None, cache: KeptIn, table: list[Path]
    ) -> None:
        second = Application(cache, table, "b")
        assert second.kept("b", keys(5)) == [True] + [False] * 5 and second.read == 3
        second.ask(table, "a")
        assert second.kept("a", keys(5)) == [True] + [False] * 5
        second.ends()
        third = Application(cache, table, "a", "b")
        assert third.kept("b", keys(219)) == [False] * 5 + [True] == third.kept("a", keys(219))
        assert third.read == 0

    @pytest.mark.parametrize("type", ["int", "bigint", "string"])
    def test_lays_out_before_keys_are_there(self, first: None, cache: KeptIn, table: list[Path], type: str) -> None:
        second = Application(cache, table, "a")
        second.store.lay_out("t", {"a": type})
        before = second.store.used_bytes
        # Whatever type was said, the fill's own counts.
        assert second.kept("a", keys(105, 210)) == [False, False, True, False, False, True]
        assert (second.store.used_bytes == before) == (type == "int")

    def test_lays_out_nothing_while_a_footer_is_missing(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        store = FooterStore()
        store.add_list("t", *listing([*table, part(table[0].with_name("3.parquet"), 300)]))
        store.recall("t", cache, ["a"], PATIENCE_S, lambda file, tail: None)
        before = store.used_bytes
        store.lay_out("t", {"a": "int"})
        store.lay_out("another list", {"a": "int"})
        assert store.used_bytes == before and store.footers_recalled == 3
        store.close()

    def test_asks_for_another_column_later(self, cache: KeptIn, table: list[Path]) -> None:
        Application(cache, table, "a", "b").ends()
        second = Application(cache, table, "a")
        assert second.kept("a", keys(5)) == [True] + [False] * 5
        second.ask(table, "b")
        assert second.kept("b", keys(105)) == [False, False, True, False, False, False] and second.read == 0

    def test_reads_the_footers_of_new_files_only(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        more = [table[0], part(table[0].with_name("new.parquet"), 300), *table[1:]]
        second = Application(cache, more, "a")
        assert second.kept("a", keys(105, 315)) == [False, False, False, True, True, False, False, False]
        assert (second.read, second.store.footers_recalled) == (1, 3)
        second.ends()
        third = Application(cache, more[::-1], "a")
        assert third.kept("a", keys(105, 315)) == [False, False, True, False, False, True, False, False]
        assert third.read == 0

    def test_finds_a_part_of_the_files(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        second = Application(cache, table[1:], "a")
        assert second.kept("a", keys(105)) == [True, False, False, False] and second.read == 0

    def test_finds_what_is_in_partitions_and_in_many_directories(self, cache: KeptIn, tmp_path: Path) -> None:
        folders = [tmp_path / "p" / f"year={i}" for i in range(20)] + [tmp_path / f"q{i}" for i in range(20)]
        for folder in folders:
            folder.mkdir(parents=True)
        paths = [part(folder / "0.parquet", 100 * i) for i, folder in enumerate(folders)]
        Application(cache, paths, "a").ends()
        assert len(batches(cache)) <= kept_footers.MOST_ROOTS
        second = Application(cache, paths, "a")
        assert np.flatnonzero(second.kept("a", keys(105, 3_919))).tolist() == [2, 79] and second.read == 0
        alone = Application(cache, [paths[7]], "a")
        assert alone.kept("a", keys(715)) == [False, True] and alone.read == 0

    def test_judges_all_types_as_the_first_one(self, cache: KeptIn, tmp_path: Path) -> None:
        draw = random.Random(4)
        columns: Mapping[str, tuple[str, Any]] = {
            "s": ("string", lambda i: [None if n == i else f"{'x' * (i * 7)}{n:04}" for n in range(20)]),
            "d": ("double", lambda i: [float(n + i) for n in range(20)]),
            "m": ("decimal(30,2)", lambda i: [None] * 10 + [i] * 10),
            "z": ("int", lambda i: [None] * 20),
        }
        types = {"m": pa.decimal128(30, 2), "z": pa.int32()}
        paths = [
            write(tmp_path / f"{i}.parquet", {name: pa.array(make(i), types.get(name)) for name, (_, make) in columns.items()})
            for i in range(9)
        ]
        one = Application(cache, paths, *columns)
        strings = BytesSetFilter(np.array([0, 4]), np.frombuffer(b"0013", dtype=np.uint8))
        asked = [
            ("s", "string", strings),
            ("d", "double", keys(draw.getrandbits(62))),
            ("z", "int", keys(1)),
            ("m", "int", keys(1)),
        ]
        expected = [one.kept(name, filter, type) for name, type, filter in asked]
        assert [any(mask) and not all(mask) for mask in expected[:1]] == [True] and not any(expected[2])
        figures = [one.verdict(name, filter, type).figures(0) for name, type, filter in asked]
        one.ends()
        two = Application(cache, paths, *columns)
        assert [two.kept(name, filter, type) for name, type, filter in asked] == expected
        assert [two.verdict(name, filter, type).figures(0) for name, type, filter in asked] == figures and two.read == 0

    def test_knows_columns_that_a_file_lacks_or_has_as_another_type(self, cache: KeptIn, table: list[Path]) -> None:
        more = [*table, write(table[0].with_name("other.parquet"), {"a": pa.array([f"{n:03}" for n in range(20)])})]
        Application(cache, more, "a", "b").ends()
        second = Application(cache, more, "a", "b")
        assert second.kept("a", keys(105)) == [False, False, True, False, False, False, True, True]
        assert second.kept("b", keys(105)) == [False, False, True, False, False, False, True, True] and second.read == 0

    def test_hears_the_digests_of_tails_that_only_the_bridge_can_read(self, cache: KeptIn, table: list[Path]) -> None:
        names = [f"s3a://bucket/t/{i}.parquet" for i in range(3)]
        _, sizes, _ = listing(table)
        mtimes = [int((time.time() - OLD_S) * 1000)] * 3
        one = Application(cache, [], "a")
        one.tell(names, sizes, mtimes, ["a"], digest="far")
        assert one.store.needs_bridge("far", ["a"]) == [0, 1, 2]
        for i, path in enumerate(table):
            one.store.put_footer_bytes("far", i, tail_of(path))
        expected = one.kept("a", keys(105), digest="far")
        one.ends()
        two = Application(cache, [], "a")
        two.tell(names, sizes, mtimes, ["a"], digest="far")
        assert two.store.knows("far", ["a"]) and two.store.needs_bridge("far", ["a"]) == []
        assert two.kept("a", keys(105), digest="far") == expected == [False, False, True, False, False, False]
        assert two.read == 0 and sorted(two.tails) == names and all(len(tail) == 16 for tail in two.tails.values())


class TestAnotherMachine:
    def test_finds_what_was_copied(self, first: None, cache: KeptIn, table: list[Path], tmp_path: Path) -> None:
        shutil.copytree(cache.directory, tmp_path / "copied")
        second = Application(KeptIn(str(tmp_path / "copied"), cache.limit_bytes), table, "a")
        assert second.kept("a", keys(105)) == [False, False, True, False, False, False]
        assert (second.read, second.store.footers_recalled) == (0, 3)

    def test_that_mounts_the_disk_as_another_device_finds_it(self, table: list[Path]) -> None:
        status = os.stat(table[0])
        fields = {name: getattr(status, name) for name in ("st_mtime_ns", "st_ctime_ns", "st_ino")}
        here, elsewhere = (_status(**fields, st_dev=number) for number in (1, 2))
        assert (
            pack_statistics.status_digest(here) == pack_statistics.status_digest(elsewhere) == pack_statistics.status_digest(status)
        )
        for name in fields:
            other = _status(**{**fields, name: fields[name] + 1}, st_dev=1)
            assert pack_statistics.status_digest(other) != pack_statistics.status_digest(status)


class TestAFileThatIsAnotherOne:
    @pytest.mark.parametrize("in_place", [False, True])
    def test_of_the_same_size_and_time_is_read(self, first: None, cache: KeptIn, table: list[Path], in_place: bool) -> None:
        take_the_place_of(table[1], part(table[1].with_name("other"), 500), in_place)
        second = Application(cache, table, "a")
        assert second.kept("a", keys(105, 505)) == [False, False, True, False, False, False]
        assert (second.read, second.store.footers_recalled) == (1, 2)
        second.ends()
        third = Application(cache, table, "a")
        assert third.kept("a", keys(105, 505)) == [False, False, True, False, False, False] and third.read == 0

    def test_replaced_after_it_was_recalled_is_unknown_at_once(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        second = Application(cache, table, "a")
        assert not any(second.kept("a", keys(505)))
        take_the_place_of(table[1], part(table[1].with_name("other"), 500))
        assert second.verdict("a", keys(505)).counts.tolist() == [2, -1, 2]
        second.ask(table, "a")
        assert second.kept("a", keys(505)) == [False, False, True, False, False, False] and second.read == 1

    def test_appended_to_or_with_another_time_is_read(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        write(table[0], {"a": pa.array(range(900, 930), pa.int32())})
        status = table[2].stat()
        os.utime(table[2], ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000))
        second = Application(cache, table, "a")
        assert second.kept("a", keys(905)) == [True] + [False] * 6
        assert (second.read, second.store.footers_recalled) == (2, 1)

    def test_with_another_schema_under_the_old_name_is_read(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        table[0].unlink()
        write(table[0], {"A": pa.array(range(700, 720), pa.int64()), "c": pa.array(range(20), pa.int32())})
        second = Application(cache, table, "a")
        assert second.kept("a", keys(705), "bigint")[:2] == [True, False] and second.read == 1

    def test_is_not_kept_while_it_is_too_young(self, cache: KeptIn, table: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pack_statistics, "SETTLED_S", OLD_S)
        Application(cache, table, "a").ends()
        assert not Path(cache.folder.path).exists()

    @pytest.mark.parametrize("age_s", [1, None])
    def test_elsewhere_that_is_young_or_without_a_time_is_not_kept(
        self, cache: KeptIn, table: list[Path], age_s: int | None
    ) -> None:
        one = Application(cache, [], "a")
        mtime = 0 if age_s is None else int((time.time() - age_s) * 1000)
        one.tell(["s3a://b/t/0"], [listing(table)[1][0]], [mtime], ["a"], digest="far")
        assert one.store.needs_bridge("far", ["a"]) == [0]
        one.store.put_footer_bytes("far", 0, tail_of(table[0]))
        one.ends()
        assert not Path(cache.folder.path).exists()

    def test_elsewhere_with_another_size_or_time_is_asked_of_the_bridge(self, cache: KeptIn, table: list[Path]) -> None:
        names, (size, *_) = [f"s3a://b/t/{i}" for i in range(3)], listing(table)[1]
        mtime = int((time.time() - OLD_S) * 1000)
        one = Application(cache, [], "a")
        one.tell(names, [size] * 3, [mtime] * 3, ["a"], digest="far")
        one.store.needs_bridge("far", ["a"])
        for i in range(3):
            one.store.put_footer_bytes("far", i, tail_of(table[i]))
        one.ends()
        two = Application(cache, [], "a")
        two.tell(names, [size, size + 1, size], [mtime, mtime, mtime + 1], ["a"], digest="far")
        assert two.store.needs_bridge("far", ["a"]) == [1, 2]


class TestTheFolder:
    def test_is_of_this_user_alone(self, first: None, cache: KeptIn) -> None:
        assert stat.S_IMODE(os.stat(cache.folder.path).st_mode) == 0o700
        assert [stat.S_IMODE(path.stat().st_mode) for path in batches(cache)] == [0o600]

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
    @pytest.mark.parametrize("above", [0, 1, 2])
    def test_that_others_can_write_to_is_left_alone(
        self, first: None, cache: KeptIn, table: list[Path], mode: int, above: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        spoiled = [Path(cache.folder.path), *Path(cache.folder.path).parents][above]
        spoiled.chmod(mode)
        before = [path.name for path in batches(cache)]
        with caplog.at_level(logging.WARNING):
            second = Application(cache, table, "a")
            assert second.kept("a", keys(105)) == [False, False, True, False, False, False] and second.read == 3
            second.ends()
        assert [path.name for path in batches(cache)] == before and len(caplog.records) == 1
        assert f"others can write to it: '{spoiled}'" in caplog.records[0].message

    @pytest.mark.parametrize("is_link", [False, True])
    def test_has_a_file_that_others_could_have_written(self, first: None, cache: KeptIn, table: list[Path], is_link: bool) -> None:
        (path,) = batches(cache)
        if is_link:
            path.rename(cache.directory + "/elsewhere")
            path.symlink_to(cache.directory + "/elsewhere")
        else:
            path.chmod(0o666)
        second = Application(cache, table, "a")
        assert second.kept("a", keys(105)) == [False, False, True, False, False, False] and second.read == 3

    def test_that_is_a_link_is_not_followed(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        moved = Path(cache.folder.path).with_name("elsewhere")
        Path(cache.folder.path).rename(moved)
        Path(cache.folder.path).symlink_to(moved)
        second = Application(cache, table, "a")
        assert second.kept("a", keys(105)) == [False, False, True, False, False, False] and second.read == 3
        second.ends()
        assert len(list(moved.iterdir())) == 1

    def test_keeps_files_of_other_names_and_kinds(self, first: None, cache: KeptIn, table: list[Path]) -> None:
        (name,) = [path.name for path in batches(cache)]
        strange = {path: Path(cache.folder.path, path) for path in ("notes.txt", "x.footers", f"{name}.bak")}
        for path in strange.values():
            path.write_text("mine")
        Path(cache.folder.path, f"{'0' * 32}-{'0' * 16}-{'0' * 32}.footers").mkdir()
        os.mkfifo(Path(cache.folder.path, f"{name[:33]}{'f' * 16}-{'1' * 32}.footers"))
        second = Application(KeptIn(cache.directory, 1), table, "a", "b")
        assert second.kept("b", keys(105)) == [False, False, True, False, False, False]
        second.ends()
        assert [path.read_text() for path in strange.values()] == ["mine"] * 3
        assert len(batches(cache)) == 5 + (name in os.listdir(cache.folder.path))

    def test_holds_its_bound_by_what_was_not_used_for_longest(self, cache: KeptIn, tmp_path: Path) -> None:
        folders = [tmp_path / f"t{i}" for i in range(4)]
        for i, folder in enumerate(folders):
            folder.mkdir()
            Application(cache, [part(folder / "0.parquet", i)], "a").ends()
            time.sleep(0.02)
        sizes = [path.stat().st_size for path in batches(cache)]
        assert len(sizes) == 4
        used = Application(cache, [folders[0] / "0.parquet"], "a")
        assert used.read == 0
        small = KeptIn(cache.directory, max(sizes) * 3)
        (tmp_path / "t9").mkdir()
        Application(small, [part(tmp_path / "t9" / "0.parquet", 9)], "a").ends()
        assert len(batches(cache)) == 3
        assert [Application(small, [folder / "0.parquet"], "a").store.footers_recalled for folder in folders] == [1, 0, 0, 1]

    def test_that_hangs_holds_nobody_up(
        self, first: None, cache: KeptIn, table: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        goes_on = threading.Event()

        def hangs(self: KeptFolder) -> None:
            goes_on.wait(PATIENCE_S)

        monkeypatch.setattr(KeptFolder, "check", hangs)
        monkeypatch.setattr(KeptFolder, "make", hangs)
        second = FooterStore()
        began = time.monotonic()
        for number in range(8):
            second.add_list(str(number), *listing(table))
            # Of the first ones something may still come; where many hang, no other is begun.
            assert second.recall(str(number), cache, ["a"], 0.05, lambda file, tail: None) == (number >= kept_footers.MOST_READERS)
            if number == 0:
                assert not second.recall("0", cache, ["a"], 0.05, lambda file, tail: None)
                with monkeypatch.context() as patched:
                    patched.setattr(footer_store, "MOST_RECALL_S", 0.0)
                    assert second.recall("0", cache, ["a"], 0.05, lambda file, tail: None)
        assert time.monotonic() - began < PATIENCE_S / 2
        second.prefetch("7", ["a"])
        found = second.verdict("7", [ColumnFilter("a", "int", keys(105))], wait_s=PATIENCE_S)
        assert found is not None and found.keep[0].tolist() == [False, False, True, False, False, False]
        assert not second.kept.flush(0.1)
        goes_on.set()
        assert second.kept.flush(PATIENCE_S)


class TestDamage:
    @pytest.mark.parametrize("at", [0.0, 0.05, 0.3, 0.6, 0.9, 0.999, "cut", "empty", "renamed"])
    def test_is_ignored_and_written_anew_with_one_warning(
        self, first: None, cache: KeptIn, table: list[Path], at: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        (path,) = batches(cache)
        content = bytearray(path.read_bytes())
        if at == "cut":
            content = content[: len(content) // 2]
        elif at == "empty":
            content = bytearray()
        elif at == "renamed":
            path = path.rename(path.with_name(f"{path.name[:50]}{'a' * 32}.footers"))
        else:
            content[int(len(content) * at)] ^= 1
        path.write_bytes(content)
        with caplog.at_level(logging.WARNING):
            second = Application(cache, table, "a")
            assert second.kept("a", keys(105)) == [False, False, True, False, False, False]
            assert second.read == 3
            second.ends()
        assert len(caplog.records) == 1
        third = Application(cache, table, "a")
        assert third.kept("a", keys(105)) == [False, False, True, False, False, False] and third.read == 0

    def test_every_byte_counts_or_does_not_matter(
        self, first: None, cache: KeptIn, table: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Nothing is written again meanwhile.
        monkeypatch.setattr(kept_footers, "QUIET_S", 3_600.0)
        (path,) = batches(cache)
        whole = path.read_bytes()
        draw = random.Random(7)
        for at in draw.sample(range(len(whole)), 60):
            content = bytearray(whole)
            content[at] ^= 1 << draw.randrange(8)
            path.write_bytes(content)
            second = Application(cache, table, "a")
            assert second.kept("a", keys(105)) == [False, False, True, False, False, False]
            assert second.read == 3, at
            second.store.close()

    def test_what_another_version_understood_is_not_believed(
        self, first: None, cache: KeptIn, table: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(kept_footers, "_made_by", lambda: {"source": "another"})
        second = Application(cache, table, "a")
        assert second.kept("a", keys(105)) == [False, False, True, False, False, False] and second.read == 3


def test_applications_at_the_same_time_use_one_folder(cache: KeptIn, table: list[Path]) -> None:
    wrong: list[Any] = []

    def run(number: int) -> None:
        for _ in range(5):
            application = Application(cache, table[number % 2 :], "a" if number % 3 else "b")
            mask = application.kept("a" if number % 3 else "b", keys(205))
            if mask != [False] * (2 * len(table[number % 2 :]) - 2) + [True, False]:
                wrong.append(mask)
            application.ends()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    last = Application(cache, table, "a", "b")
    assert last.kept("a", keys(205)) == [False] * 4 + [True, False] and last.read == 0


def _status(**fields: int) -> Any:
    return SimpleNamespace(**fields)


def tail_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") :]
