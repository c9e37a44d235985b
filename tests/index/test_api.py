"""`rtfilter.Index` without a Spark session: definition, life, stats."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rtfilter
from rtfilter import Bloom, CMap, Histogram, Index, IndexDefinitionError, IndexStateError, IndexStorageError, MinMax, ValueSet
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.sketches.kinds import Sketch
from tests.index.tables import write_part

SKETCHES: list[Sketch] = [MinMax("a"), Bloom("a", fpp=0.05), Histogram("a"), ValueSet("s"), CMap("s")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "p0.parquet", 0)
    write_part(tmp_path / "t", "p1.parquet", 50)
    return tmp_path / "t"


def test_an_index_is_made_found_and_told_of(folder: Path) -> None:
    made = Index.create(None, str(folder), SKETCHES, name="fact_idx")
    assert made.state == "ACTIVE" and Path(made.place) == folder / "_rtfilter" / "fact_idx"
    loaded = Index.load(None, str(folder), "fact_idx")
    assert loaded.sketches == tuple(SKETCHES)
    assert [each.name for each in rtfilter.indexes(None, str(folder))] == ["fact_idx"]
    stats = loaded.stats()
    assert (stats["files"], stats["files_indexed"], stats["packs"], stats["under_way"]) == (2, 2, 10, None)
    assert [(each["kind"], each["column"]) for each in stats["sketches"]] == [(each.kind, each.column) for each in SKETCHES]
    assert stats["bytes"] > sum(each["bytes"] for each in stats["sketches"]) > 0
    assert "fact_idx" in repr(loaded) and "ACTIVE" in repr(loaded)


def test_an_index_and_its_stats_are_tables_in_a_notebook(folder: Path) -> None:
    index = Index.create(None, str(folder), SKETCHES, name="fact_idx")
    for shown in (index._repr_html_(), index.stats()._repr_html_()):
        assert "<table>" in shown and "fact_idx" in shown and "ACTIVE" in shown and "files indexed" in shown
        assert all(f"column {sketch.column}" in shown for sketch in SKETCHES)
    assert json.loads(json.dumps(index.stats())) == index.stats()


def test_stats_say_how_far_the_table_has_moved_on(folder: Path) -> None:
    index = Index.create(None, str(folder), [MinMax("a")], name="i")
    write_part(folder, "p2.parquet", 100)
    write_part(folder, "p0.parquet", 7, rows=20)
    (folder / "p1.parquet").unlink()
    stats = index.stats()
    wanted = {"files": 2, "files_indexed": 0, "files_appended": 1, "files_changed": 1, "files_deleted": 1}
    assert {key: stats[key] for key in wanted} == wanted
    assert index.refresh().files == 2
    assert index.stats()["files_indexed"] == 2 and index.stats()["files_deleted"] == 0


def test_the_whole_life_of_an_index(folder: Path) -> None:
    index = Index.create(None, str(folder), [MinMax("a")], name="i")
    index.refresh("full")
    assert index.optimize("full") == 1
    index.delete()
    assert index.state == "DELETED" and rtfilter.indexes(None, str(folder))[0].state == "DELETED"
    index.restore()
    assert index.state == "ACTIVE"
    index.delete()
    index.vacuum()
    assert index.state == "DOES_NOT_EXIST" and rtfilter.indexes(None, str(folder)) == []
    assert index.cancel() == "DOES_NOT_EXIST"
    Index.create(None, str(folder), [Bloom("s")], name="i")
    assert index.sketches == (Bloom("s"),)


def test_a_refresh_lists_the_table_again_when_another_one_ended_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, other = Index.create(None, str(folder), [MinMax("a")], name="i"), Index.load(None, str(folder), "i")
    plain, lists = index._table, []

    def listed_before_the_other() -> object:
        lists.append(plain())
        if len(lists) == 1:
            write_part(folder, "p2.parquet", 100)
            other.refresh()
        return lists[-1]

    monkeypatch.setattr(index, "_table", listed_before_the_other)
    assert index.refresh().files == 0
    assert len(lists) == 2 and index.stats()["files_indexed"] == 3


def test_an_action_that_died_shows_in_stats_and_cancel_ends_it(folder: Path) -> None:
    index = Index.create(None, str(folder), [MinMax("a")], name="i")
    log.begin(LocalStorage(index.place), log.REFRESH)
    assert index.stats()["under_way"] == "REFRESHING" and index.state == "ACTIVE"
    with pytest.raises(IndexStateError, match="run cancel"):
        index.refresh()
    assert index.cancel() == "ACTIVE"
    index.refresh()


def test_a_location_of_its_own_holds_indexes_of_many_tables(folder: Path, tmp_path: Path) -> None:
    write_part(tmp_path / "u", "p.parquet", 0)
    store = str(tmp_path / "store")
    Index.create(None, str(folder), [MinMax("a")], name="one", location=store)
    Index.create(None, str(tmp_path / "u"), [MinMax("a")], name="two", location=store)
    from rtfilter.index.find import indexes_in

    assert [each.name for each in indexes_in(str(folder), store)] == ["one"]
    assert Index.load(None, str(folder), "one", location=store).refresh().files == 0
    with pytest.raises(IndexStateError, match="use create"):
        Index.load(None, str(folder), "one")


def test_a_name_in_a_shared_location_belongs_to_one_table(folder: Path, tmp_path: Path) -> None:
    write_part(tmp_path / "other", "p0.parquet", 500)
    here = str(tmp_path / "store")
    Index.create(None, str(folder), [MinMax("a")], name="i", location=here)
    before = Index.load(None, str(folder), "i", location=here).stats()
    with pytest.raises(IndexStateError, match=r"is an index of the table .* not of .*other.* a name of its own"):
        Index.load(None, str(tmp_path / "other"), "i", location=here)
    with pytest.raises(IndexStateError, match="a name of its own"):
        Index.create(None, str(tmp_path / "other"), [MinMax("a")], name="i", location=here)
    assert Index.load(None, str(folder), "i", location=here).stats() == before


@pytest.mark.parametrize(
    ("sketches", "words"),
    [
        ([], "a list of one sketch or more"),
        ([MinMax("a"), MinMax("a")], "twice"),
        ([MinMax("aa")], "Did you mean 'a'"),
        ([MinMax("k")], "Spark skips its files by itself"),
        ([CMap("a")], "does not fit the column's type bigint"),
    ],
)
def test_a_definition_that_can_not_be_says_why(tmp_path: Path, sketches: list[MinMax], words: str) -> None:
    write_part(tmp_path / "t" / "k=1", "p.parquet", 0)
    with pytest.raises(IndexDefinitionError, match=words):
        Index.create(None, str(tmp_path / "t"), sketches, name="i")
    assert not (tmp_path / "t" / "_rtfilter").exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b"])
def test_a_name_that_is_none_of_a_directory_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(IndexDefinitionError, match="can't be the name"):
        Index.create(None, str(folder), [MinMax("a")], name=name)


def test_a_table_that_is_not_there_or_not_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IndexDefinitionError, match="there is no table"):
        Index.create(None, str(tmp_path / "none"), [MinMax("a")], name="i")
    with pytest.raises(IndexDefinitionError, match="holds no table file"):
        Index.create(None, str(tmp_path), [MinMax("a")], name="i")
    with pytest.raises(IndexStorageError, match="only Spark can open"):
        Index.create(None, "s3a://bucket/t", [MinMax("a")], name="i")
    with pytest.raises(IndexDefinitionError, match="needs a Spark session"):
        Index.create(None, "some_table", [MinMax("a")], name="i")


def test_a_single_file_is_a_table_too(tmp_path: Path) -> None:
    path = write_part(tmp_path, "p.parquet", 0)
    write_part(tmp_path, "other.parquet", 0)
    index = Index.create(None, str(path), [MinMax("a")], name="i")
    assert index.stats()["files"] == 1 and Path(index.place) == tmp_path / "_rtfilter" / "i@p.parquet"


def test_types_of_a_file_are_those_that_spark_infers() -> None:
    types = {
        pa.int8(): "tinyint",
        pa.uint16(): "int",
        pa.timestamp("us", tz="UTC"): "timestamp",
        pa.timestamp("ms"): "timestamp_ntz",
        pa.decimal128(9, 2): "decimal(9,2)",
        pa.dictionary(pa.int32(), pa.string()): "string",
        pa.list_(pa.int32()): "list<item: int32>",
    }
    assert {arrow: spark_type_of(arrow) for arrow in types} == types


def test_columns_missing_or_of_another_type_in_a_file_leave_its_packs_open(tmp_path: Path) -> None:
    write_part(tmp_path, "p0.parquet", 0)
    pq.write_table(pa.table({"s": ["x"]}), tmp_path / "p1.parquet")
    pq.write_table(pa.table({"a": ["text"], "A": [1]}), tmp_path / "p2.parquet")
    index = Index.create(None, str(tmp_path), [MinMax("a")], name="i")
    table = pq.read_table(next(iter((Path(index.place) / "data").glob("*.parquet"))))
    assert index.stats()["packs"] == 7 and table is not None
    sketch_files = [pq.read_table(path) for path in (Path(index.place) / "data").glob("*.parquet")]
    bounds = next(each for each in sketch_files if "nulls" in each.column_names)
    assert bounds["nulls"].to_pylist() == [0] * 5 + [None, None]


def test_a_long_table_name_or_a_sketch_kind_is_imported_without_starting_spark() -> None:
    code = "import rtfilter, sys; rtfilter.MinMax('a'); assert 'pyspark' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
