"""Tables that are single files in one folder: each has indexes of its own."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter import Index, MinMax, indexes
from rtfilter.errors import IndexStateError
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_actions.made_indexes import forget
from rtfilter.store.open_indexes import IndexShelf
from rtfilter.store.placed_indexes import ListedTable, holds_files_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        pq.write_table(pa.table({name: [1, 2]}), tmp_path / f"{name}.parquet")
    return tmp_path


def made(table: Path, column: str, name: str = "i") -> Index:
    return Index.create(None, str(table), [MinMax(column)], name=name)


def test_files_side_by_side_have_indexes_of_the_same_name(folder: Path) -> None:
    a, b = made(folder / "a.parquet", "a"), made(folder / "b.parquet", "b")
    assert a.place != b.place
    for table, column in ((folder / "a.parquet", "a"), (folder / "b.parquet", "b")):
        (found,) = indexes(None, str(table))
        assert (found.name, found.table, found.sketches) == ("i", str(table), (MinMax(column),))
        assert Index.load(None, str(table), "i").stats()["files_indexed"] == 1
        assert Index.at(None, found.place).table == str(table) and Index.at(None, found.place).name == "i"
    a.delete()
    a.vacuum()
    assert indexes(None, str(folder / "a.parquet")) == []
    assert b.state == "ACTIVE" and b.stats()["files_deleted"] == 0


def test_the_folder_as_a_table_has_none_of_its_files_indexes(folder: Path) -> None:
    pq.write_table(pa.table({"a": [3, 4]}), folder / "b.parquet")
    made(folder / "a.parquet", "a")
    assert indexes(None, str(folder)) == []
    whole = made(folder, "a")
    assert [each.place for each in indexes(None, str(folder))] == [whole.place]
    assert whole.stats()["files_indexed"] == 2


def test_an_index_made_of_a_file_before_is_found_and_not_taken_for_anothers(folder: Path) -> None:
    index = made(folder / "a.parquet", "a")
    before = folder / "_rtfilter" / "i"
    shutil.move(index.place, before)
    forget(index.place)  # nothing was noted of indexes then
    assert [each.place for each in indexes(None, str(folder / "a.parquet"))] == [str(before)]
    assert indexes(None, str(folder / "b.parquet")) == []
    assert Index.load(None, str(folder / "a.parquet"), "i").refresh("full").files == 1
    with pytest.raises(IndexStateError):
        made(folder / "a.parquet", "a")
    made(folder / "b.parquet", "b")


def test_queries_find_the_index_of_their_file(folder: Path) -> None:
    made(folder / "a.parquet", "a")
    made(folder / "b.parquet", "b")
    file = folder / "a.parquet"
    status = file.stat()
    identity = FileIdentity(f"file:{file}", status.st_size, status.st_mtime_ns // 1_000_000)
    found = {each.name: each for each in IndexShelf().shelved([str(folder / "_rtfilter")])}
    assert set(found) == {"i@a.parquet", "i@b.parquet"}

    for files, mine in (((identity,), ["i@a.parquet"]), ((identity, FileIdentity(f"file:{folder}/b.parquet", 1, 1)), [])):
        is_table = functools.partial(holds_files_of, ListedTable(files, np.zeros(len(files), dtype=np.int64), ()))
        assert [name for name, each in found.items() if each.concerns(is_table, False)] == mine
    index = found["i@a.parquet"].index
    assert index is not None and index.catalog().locate([identity]).counts.tolist() == [1]
