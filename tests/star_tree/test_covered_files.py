"""Which segments a query may use, by the files that it lists."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rtfilter.star_tree.actions import tree_actions
from rtfilter.star_tree.opened_trees import Covered, FoundTree, OpenedTrees, covered
from rtfilter.store.index_actions.listing import identities, list_directory
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.tree_snapshot import TreeSnapshot
from rtfilter.store.open_indexes import store_places
from tests.star_tree.small_tables import definition_of, reader_of, storage_of, write_part


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tree of two segments, of a and b, and of c."""
    table = tmp_path / "t"
    write_part(table, "a.parquet", 0)
    write_part(table, "b.parquet", 50)
    tree_actions.create(storage_of(table), definition_of(table), reader_of(table))
    write_part(table, "c.parquet", 100)
    tree_actions.refresh(storage_of(table), "incremental", reader_of(table))
    return table


def looked_at(folder: Path, trees: OpenedTrees | None = None) -> Covered:
    trees = trees or OpenedTrees()
    files = identities(list_directory(str(folder)).files)
    (tree,) = trees.find(store_places([file.path for file in files], ""))
    return covered(trees, tree, files)


def snapshot_of(folder: Path) -> TreeSnapshot:
    snapshot = read_log(storage_of(folder)).tree
    assert snapshot is not None
    return snapshot


def test_all_files_are_covered(folder: Path) -> None:
    assert looked_at(folder) == Covered(snapshot_of(folder).segments, (), ())


def test_a_new_file_is_read_beside_them(folder: Path) -> None:
    write_part(folder, "d.parquet", 150)
    assert looked_at(folder) == Covered(snapshot_of(folder).segments, (3,), ())


def test_a_segment_with_a_changed_file_is_not_used(folder: Path) -> None:
    write_part(folder, "b.parquet", 600, rows=7)
    assert looked_at(folder) == Covered(snapshot_of(folder).segments[1:], (0, 1), ("b.parquet",))


def test_a_segment_with_a_file_that_is_gone_is_not_used(folder: Path) -> None:
    os.unlink(folder / "a.parquet")
    assert looked_at(folder) == Covered(snapshot_of(folder).segments[1:], (0,), ("a.parquet",))


def test_a_file_in_anothers_place_with_its_size_and_time(folder: Path) -> None:
    """S27, as `cp --preserve` does it: the footer tells, also where the tree was used before."""
    trees = OpenedTrees()
    assert len(looked_at(folder, trees).segments) == 2
    before = os.stat(folder / "b.parquet")
    write_part(folder, "b.parquet", 50 + 660)
    os.utime(folder / "b.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(folder / "b.parquet").st_size == before.st_size
    assert looked_at(folder, trees) == Covered(snapshot_of(folder).segments[1:], (0, 1), ("b.parquet",))


def test_a_file_in_two_segments_counts_once(folder: Path) -> None:
    """As in a log that somebody has written by hand."""
    snapshot = snapshot_of(folder)
    twice = replace(snapshot, segments=(*snapshot.segments, snapshot.segments[1]))
    files = identities(list_directory(str(folder)).files)
    found = covered(OpenedTrees(), FoundTree("cube", storage_of(folder).place, twice), files)
    assert found == Covered(snapshot.segments, (), ("c.parquet",))
