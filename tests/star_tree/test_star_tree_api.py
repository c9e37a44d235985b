"""`rtfilter.StarTree` without a session: bad input is named and leaves nothing, equal trees are found, trees are listed."""

from __future__ import annotations

import datetime
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rtfilter
from rtfilter import IndexDefinitionError, IndexStateError, IndexStorageError, StarTree
from rtfilter.index import star_tree_base
from tests.star_tree.small_tables import MEASURES, check_answers, write_part

WANTED: dict[str, Any] = {"dimensions": ["k", "s"], "measures": list(MEASURES), "name": "cube", "max_leaf": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_part(tmp_path / "t", "a.parquet", 0)
    write_part(tmp_path / "t", "b.parquet", 50)
    return tmp_path / "t"


def create(folder: Path, **changes: Any) -> StarTree:
    made: StarTree = StarTree.create(None, str(folder), **{**WANTED, **changes})
    return made


def test_create_load_and_stats(folder: Path) -> None:
    tree = create(folder)
    assert tree.state == "ACTIVE" and check_answers(folder) == ["a.parquet", "b.parquet"]
    assert tree.dimensions == ("k", "s") and tree.measures == tuple(MEASURES)
    loaded = StarTree.load(None, str(folder), "cube")
    stats = loaded.stats()
    assert (stats["files"], stats["files_covered"], stats["table_rows"]) == (2, 2, 100) and stats["bytes"] > 0
    write_part(folder, "c.parquet", 100)
    write_part(folder, "b.parquet", 700)
    stats = loaded.stats()
    assert [stats[f"files_{what}"] for what in ("covered", "appended", "changed", "deleted")] == [0, 1, 1, 0]
    assert loaded.refresh().files == 3 and loaded.stats()["files_covered"] == 3
    assert "star-tree cube" in loaded._repr_html_() and "by k, s" in repr(loaded)


BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"dimensions": ["k", "nowhere"]}, "'nowhere'"),
    ({"dimensions": ["k", "k"]}, "'k' is there twice"),
    ({"dimensions": []}, "1 to 12 dimensions"),
    ({"dimensions": ["k"] * 13}, "13 are named"),
    ({"dimensions": "k"}, "dimensions='k' is one text"),
    ({"dimensions": ["list"]}, "'list' is a list"),
    ({"measures": []}, "needs a measure"),
    ({"measures": "count(*)"}, "is one text"),
    ({"measures": ["count(*)"] * 65}, "65 are named"),
    ({"measures": ["count(*)", "count( * )"]}, "twice"),
    ({"measures": ["sum(s)"]}, "s is a string"),
    ({"measures": ["theta_sketch_agg(s)"]}, r"theta_sketch_agg\(s, 12\) is made by Spark: give a session"),
    ({"measures": ["sum(nowhere)"]}, "'nowhere'"),
    ({"measures": ["sum(f)"]}, "rtfilter.startree.floats"),
    ({"measures": ["median(x)"]}, "'median"),
    ({"measures": ["max(old)"]}, "'old' can't be in a measure: some are before 1582"),
    ({"dimensions": ["old"]}, "'old': some are before 1582"),
    ({"dimensions": ["ns"]}, "'ns': the file has timestamp"),
    ({"no_star": ["x"]}, "'x', which is no dimension"),
    ({"no_star": ["k", "k"]}, "twice"),
    ({"max_leaf": "10"}, "max_leaf='10'"),
    ({"max_leaf": 10**10}, "max_leaf=10000000000"),
    ({"max_rows": "ten"}, "max_rows='ten'"),
    (
        {"max_rows": 5},
        r"may have 5 rows \(max_rows\), .* make about 20 groups. .* Leave 'k' out, which makes about 1 ",
    ),
    ({"name": "../up"}, "'../up'"),
    ({"name": "@x"}, "'@x'"),
    ({"name": ""}, "''"),
)


@pytest.mark.parametrize(("changes", "text"), BAD, ids=[text for _, text in BAD])
def test_bad_input_is_named_and_leaves_nothing(tmp_path: Path, changes: dict[str, Any], text: str) -> None:
    days, moments = [datetime.date(1500, 1, 1)] * 20, [datetime.datetime(2020, 1, 1)] * 20
    columns: dict[str, Any] = {
        "k": pa.array(range(20), pa.int64()),
        "s": pa.array(["a"] * 20),
        "x": pa.array(range(20), pa.int64()),
        "price": pa.array(range(20), pa.decimal128(9, 2)),
        "f": pa.array([0.5] * 20),
        "list": pa.array([[1]] * 20),
        "old": pa.array(days),
        "ns": pa.array(moments, pa.timestamp("ns")),
    }
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "t" / "a.parquet")
    with pytest.raises(IndexDefinitionError, match=text):
        create(tmp_path / "t", **changes)
    assert os.listdir(tmp_path / "t") == ["a.parquet"]


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IndexDefinitionError, match="nowhere"):
        create(tmp_path / "nowhere")


@pytest.mark.parametrize("change", ["new", "gone", "replaced"])
def test_a_table_that_changes_during_the_build(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    grouped = star_tree_base.LocalReader.grouped

    def changed_meanwhile(reader: Any, *arguments: Any) -> Any:
        found = grouped(reader, *arguments)
        if change == "gone":
            os.unlink(folder / "b.parquet")
        else:
            write_part(folder, "c.parquet" if change == "new" else "b.parquet", 9_000, rows=70)
        return found

    monkeypatch.setattr(star_tree_base.LocalReader, "grouped", changed_meanwhile)
    with pytest.raises(IndexStorageError, match=rf"has changed while .*\.parquet (is|was) {change}"):
        create(folder)
    assert not (folder / "_rtfilter").exists()


def test_files_that_differ_in_a_column(folder: Path) -> None:
    pq.write_table(pa.table({"k": [1], "s": ["a"], "x": pa.array([1], pa.int32()), "price": [1]}), folder / "c.parquet")
    with pytest.raises(IndexDefinitionError, match=r"'x' as bigint, and .*c\.parquet has it as int"):
        create(folder)


def test_equal_trees_are_found(folder: Path) -> None:
    create(folder)
    with pytest.raises(IndexStateError, match=r"'cube' of .* holds the same"):
        create(folder, name="again", measures=list(reversed(MEASURES)))
    with pytest.raises(IndexStateError, match="it exists already; use refresh"):
        create(folder)
    other = create(folder, name="other", max_leaf=3)
    assert [each.name for each in rtfilter.star_trees(None, str(folder))] == ["cube", "other"]
    other.delete()
    assert create(folder, name="third", max_leaf=3).state == "ACTIVE"


def test_trees_of_single_files_side_by_side(folder: Path) -> None:
    one, two = (create(folder / name) for name in ("a.parquet", "b.parquet"))
    assert one.place.endswith("@star_trees/cube@a.parquet") and two.place.endswith("@star_trees/cube@b.parquet")
    assert [each.place for each in rtfilter.star_trees(None, str(folder / "a.parquet"))] == [one.place]
    assert rtfilter.star_trees(None, str(folder)) == []
    assert StarTree.load(None, str(folder / "b.parquet"), "cube").stats()["table_rows"] == 50


def test_a_location_of_its_own(folder: Path, tmp_path: Path) -> None:
    here = str(tmp_path / "store")
    tree = create(folder, location=here)
    assert tree.place == f"{here}/@star_trees/cube" and not (folder / "_rtfilter").exists()
    write_part(tmp_path / "u", "a.parquet", 0)
    with pytest.raises(IndexStateError, match=r"is a star-tree of the table .* a name of its own"):
        create(tmp_path / "u", location=here)
    assert create(tmp_path / "u", name="other", location=here).state == "ACTIVE"
    with pytest.raises(IndexStateError, match="has no star-tree"):
        StarTree.load(None, str(folder), "cube")


def test_a_tree_moves_with_its_table(folder: Path, tmp_path: Path) -> None:
    create(folder)
    shutil.copytree(folder, tmp_path / "moved", copy_function=shutil.copy2)
    moved = StarTree.load(None, str(tmp_path / "moved"), "cube")
    assert moved.stats()["files_covered"] == 2 and moved.refresh().files == 0


def test_a_tree_that_was_overwritten_with_its_table(folder: Path) -> None:
    tree = create(folder)
    shutil.rmtree(folder)
    write_part(folder, "a.parquet", 0)
    assert tree.state == "GONE" and [each.state for each in rtfilter.star_trees(None, str(folder))] == ["GONE"]
    with pytest.raises(IndexStateError, match=r"star-tree 'cube' .* is gone"):
        tree.refresh()
    tree.delete()
    assert rtfilter.star_trees(None, str(folder)) == []


def test_cancel_and_vacuum(folder: Path) -> None:
    tree = create(folder)
    write_part(folder, "c.parquet", 100)
    tree.refresh("full")
    assert tree.cancel() == "ACTIVE" and tree.vacuum(keep_s=0) > 0 and tree.stats()["bytes_to_vacuum"] == 0
    tree.delete()
    tree.restore()
    assert len(check_answers(folder)) == 3


def test_what_a_running_query_reads_outlives_a_vacuum(folder: Path) -> None:
    tree = create(folder)
    data = Path(tree.place) / "data"
    read = set(data.iterdir())
    write_part(folder, "c.parquet", 100)
    tree.refresh("full")
    assert tree.vacuum() == 0 and read < set(data.iterdir())
    # Both parts may have a file of equal content.
    assert 0 < tree.vacuum(keep_s=0) <= len(read) and not read <= set(data.iterdir())
    assert len(check_answers(folder)) == 3


def test_a_dry_run_stores_nothing(folder: Path) -> None:
    estimate = StarTree.create(None, str(folder), **{**WANTED, "dimensions": ["s", "k"]}, dry_run=True)
    assert not (folder / "_rtfilter").exists()
    assert "Move 'k' in front of 's'" in str(estimate) and estimate.values == {"s": 3, "k": 5}
    made = create(folder, dimensions=["s", "k"])
    assert made.last_build is not None and made.last_build.tree_rows == estimate.rows == estimate.to_dict()["rows"]
    assert estimate.bytes / 2 <= sum(file.bytes for file in _rows_files(made)) <= estimate.bytes * 2


def _rows_files(tree: StarTree) -> Any:
    from rtfilter.store.index_files.log import read_log

    held = StarTree.held_by(read_log(tree._storage))
    assert held is not None
    return held.segments[0].rows
