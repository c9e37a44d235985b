"""Corrupt, truncated and hostile index files: packs are kept, nothing is raised, nothing outside is opened."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter import Index
from rtfilter.errors import IndexStorageError
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files import log
from rtfilter.store.index_files.index_problems import INDEX_UNREACHABLE, IndexProblemError
from rtfilter.store.index_files.storage import DATA, LOG, LocalStorage, checked_name
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.sketches.column_tests import ValueTest, long_keys
from rtfilter.store.sketches.kinds import Bloom, Histogram, MinMax, ValueSet
from tests.index.tables import RUNNER, create_index, kept, storage_of, write_part

ABSENT = ValueTest(long_keys([7_777_777]))
ALL_KINDS = (MinMax("a"), Bloom("a"), ValueSet("a"), Histogram("a"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    create_index(tmp_path / "t", sketches=ALL_KINDS)
    return tmp_path / "t"


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "_rtfilter" / "i" / "data").iterdir())


def check_nothing_is_raised(folder: Path) -> bool:
    """Whether the packs, none of which has the key, are still rejected by what is left of the index."""
    index = open_index(storage_of(folder))
    if index is None:
        return False
    packs = kept(index, folder, "a", ABSENT)["p0.parquet"]
    assert packs is None or isinstance(packs, list)
    return packs == [False] * 5 and not index.problems


def test_the_index_works_before_it_is_damaged(folder: Path) -> None:
    assert check_nothing_is_raised(folder)


def rewritten(content: bytes) -> dict[str, bytes]:
    middle = len(content) // 2
    return {
        "empty": b"",
        "cut": content[:middle],
        "cut by one": content[:-1],
        "zeros": bytes(len(content)),
        "wrong magic": content[:-4] + b"PARX",
        "longer": content + b"PAR1",
        "absurd footer": content[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        "negative footer": content[:-8] + b"\xff\xff\xff\xffPAR1",
    }


@pytest.mark.parametrize("damage", list(rewritten(b"")))
def test_every_damaged_file_leaves_its_packs_open(folder: Path, damage: str) -> None:
    for path in data_files(folder):
        whole = path.read_bytes()
        path.write_bytes(rewritten(whole)[damage])
        assert not check_nothing_is_raised(folder), path
        path.write_bytes(whole)
    assert check_nothing_is_raised(folder)


def test_a_damaged_index_is_warned_of_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data_files(folder)[0].write_bytes(b"")
    index = open_index(storage_of(folder))
    assert index is not None
    for _ in range(3):
        kept(index, folder, "a", ABSENT)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1 and "Its packs are read" in warnings[0]


def test_a_missing_file_leaves_its_packs_open(folder: Path) -> None:
    for path in data_files(folder):
        whole = path.read_bytes()
        path.unlink()
        assert not check_nothing_is_raised(folder)
        path.write_bytes(whole)


def test_single_bytes_turned_over_never_reject_a_pack_that_has_the_key(folder: Path) -> None:
    rng = np.random.default_rng(3)
    wanted = ValueTest(long_keys([25]))
    for path in data_files(folder):
        whole = path.read_bytes()
        for at in rng.choice(len(whole), 40, replace=False).tolist():
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            index = open_index(storage_of(folder))
            assert index is not None
            packs = kept(index, folder, "a", wanted)["p0.parquet"]
            assert packs is None or packs[2], (path, at)
        path.write_bytes(whole)


def with_log(folder: Path, change: Callable[[dict[str, Any]], None]) -> LocalStorage:
    """The index with its latest log entry changed."""
    path = folder / "_rtfilter" / "i" / "log" / f"{2:020d}.json"
    entry = json.loads(path.read_text())
    change(entry)
    path.write_text(json.dumps(entry))
    return storage_of(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry.update(format=99),
        lambda entry: entry.update(state="HACKED"),
        lambda entry: entry.pop("snapshot"),
        lambda entry: entry.update(snapshot=[]),
        lambda entry: entry["snapshot"].update(sketches=[{"kind": "eval", "column": "a"}]),
        lambda entry: entry["snapshot"].update(types={"a": "array<int>"}),
        lambda entry: entry["snapshot"].update(types={}),
        lambda entry: entry["snapshot"]["segments"][0]["files"].update(name="../../../../etc/passwd"),
        lambda entry: entry["snapshot"]["segments"][0]["files"].update(name="data/../../p0.parquet"),
        lambda entry: entry["snapshot"]["segments"][0]["files"].update(rows=-1),
        lambda entry: entry["snapshot"]["segments"][0]["sketches"].pop(),
        lambda entry: entry["snapshot"]["segments"][0]["packs"].update(rows=10**15),
        lambda entry: entry["snapshot"].update(sketches=[{"kind": "min_max", "column": f"c{i}"} for i in range(10**4)]),
    ],
)
def test_a_hostile_log_entry_is_no_stable_one(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    storage = with_log(folder, change)
    assert open_index(storage) is None
    view = log.read_log(storage)
    assert view.under_way is not None and view.state == log.DOES_NOT_EXIST
    log.cancel(storage)
    create_index(folder)
    assert check_nothing_is_raised(folder)


def spoil_data(folder: Path) -> None:
    for path in data_files(folder):
        path.write_bytes(bytes(path.stat().st_size))


def spoil_log(folder: Path, content: bytes) -> None:
    for path in (folder / "_rtfilter" / "i" / "log").iterdir():
        path.write_bytes(content)


@pytest.mark.parametrize("mode", ["quick", "incremental"])
def test_a_refresh_loses_nothing_where_the_index_can_not_be_read_just_now(
    folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object) -> None:
        raise IndexProblemError(INDEX_UNREACHABLE, "can't read data/x of the index: Input/output error.")

    with monkeypatch.context() as here:
        here.setattr(actions, "load_catalog", unreachable)
        with pytest.raises(IndexStorageError, match="Input/output"):
            actions.refresh(storage_of(folder), mode, list_directory(str(folder)), RUNNER)
    assert check_nothing_is_raised(folder)
    assert actions.refresh(storage_of(folder), mode, list_directory(str(folder)), RUNNER).bytes_read == 0


def test_a_quick_refresh_of_a_damaged_index_is_refused(folder: Path) -> None:
    spoil_data(folder)
    before = log.read_log(storage_of(folder)).snapshot
    with pytest.raises(IndexStorageError, match="damaged"):
        actions.refresh(storage_of(folder), "quick", list_directory(str(folder)), RUNNER)
    assert log.read_log(storage_of(folder)).snapshot == before


def test_an_incremental_refresh_of_a_damaged_index_whose_table_can_not_be_read_leaves_it(folder: Path) -> None:
    spoil_data(folder)
    before = log.read_log(storage_of(folder)).snapshot
    (folder / "p0.parquet").write_bytes(b"no parquet")
    with pytest.raises(IndexStorageError, match="none of the table's 1 file can"):
        actions.refresh(storage_of(folder), "incremental", list_directory(str(folder)), RUNNER)
    assert log.read_log(storage_of(folder)).snapshot == before


@pytest.mark.parametrize(
    "spoil", [spoil_data, lambda folder: spoil_log(folder, b"{"), lambda folder: spoil_log(folder, b'{"format": 2}')]
)
def test_the_way_out_that_is_told_of_a_damaged_or_newer_index_leads_out(folder: Path, spoil: Callable[[Path], None]) -> None:
    spoil(folder)
    assert not check_nothing_is_raised(folder)
    index = Index.load(None, str(folder), "i")
    if index.cancel() == log.ACTIVE:
        index.refresh("full")
    else:
        Index.create(None, str(folder), ALL_KINDS, name="i")
    assert check_nothing_is_raised(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": 1}'])
def test_a_log_entry_that_is_no_json_object_is_passed_over(folder: Path, content: bytes) -> None:
    storage = storage_of(folder)
    (folder / "_rtfilter" / "i" / "log" / f"{3:020d}.json").write_bytes(content)
    assert check_nothing_is_raised(folder)
    log.cancel(storage)
    actions.refresh(storage, "incremental", list_directory(str(folder)), RUNNER)
    assert check_nothing_is_raised(folder)


def test_other_row_counts_and_columns_than_the_log_says_are_refused(folder: Path) -> None:
    index = open_index(storage_of(folder))
    assert index is not None
    segment = index.snapshot.segments[0]
    bounds = folder / "_rtfilter" / "i" / segment.sketches[0].name
    table = pq.read_table(bounds)
    wrong = [
        table.slice(0, 4),
        table.rename_columns(["rows", "nulls", "high", "low"]),
        table.append_column("x", pa.array([1] * 5)),
        pa.table({f"c{i}": [1] * 5 for i in range(3000)}),
    ]
    for each in wrong:
        pq.write_table(each, bounds)
        size = os.path.getsize(bounds)
        with_log(folder, lambda entry, size=size: entry["snapshot"]["segments"][0]["sketches"][0].update(bytes=size))  # type: ignore[misc]
        index = open_index(storage_of(folder))
        assert index is not None
        kept(index, folder, "a", ABSENT)
        assert "min_max a" in index.problems


def test_a_link_in_place_of_a_file_is_not_followed(folder: Path) -> None:
    path = data_files(folder)[0]
    outside = folder.parent / "outside.parquet"
    path.rename(outside)
    path.symlink_to(outside)
    assert not check_nothing_is_raised(folder)
    with pytest.raises(IndexStorageError, match="no ordinary file"):
        storage_of(folder).local_file(f"{DATA}/{path.name}")


@pytest.mark.parametrize("linked", [DATA, LOG])
def test_a_link_in_place_of_a_folder_is_refused_and_nothing_is_deleted_behind_it(folder: Path, linked: str) -> None:
    outside = folder.parent / "outside"
    ours = Path(storage_of(folder).place) / linked
    ours.rename(outside)
    ours.symlink_to(outside)
    theirs = outside / f"{'0' * 64}.parquet" if linked == DATA else outside / f"{'0' * 19}9.json"
    theirs.write_bytes(b"somebody else's")
    before = sorted(outside.iterdir())
    with pytest.raises(IndexStorageError, match=f"{linked} is a link"):
        actions.vacuum(storage_of(folder))
    assert sorted(outside.iterdir()) == before and theirs.read_bytes() == b"somebody else's"
    if linked == DATA:
        assert not check_nothing_is_raised(folder)
    else:
        with pytest.raises(IndexStorageError, match="log is a link"):
            open_index(storage_of(folder))


@pytest.mark.parametrize("name", ["data/../x", "/etc/passwd", "log/1.json", "data/" + "g" * 64 + ".parquet", "data/x.parquet", ""])
def test_only_names_of_the_format_are_ever_opened(name: str) -> None:
    with pytest.raises(IndexStorageError, match="is no name of a file of an index"):
        checked_name(name)
