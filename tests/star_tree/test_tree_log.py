"""A star-tree in the log that indexes have: the same actions, no index to those who look for indexes, and hostile entries."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from rtfilter.errors import IndexStateError, IndexStorageError
from rtfilter.store.index_actions import actions
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import DATA, LOG, LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeSnapshot, tree_snapshot_from_dict
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.open_indexes import IndexShelf, index_folders, store_places
from rtfilter.store.tree_places import tree_place, tree_places, tree_root, trees_folder
from tests.star_tree.stored_trees import stored_tree


def logged_tree(folder: Path) -> tuple[LocalStorage, TreeSnapshot]:
    """An active tree at its place inside a table in `folder`."""
    place = Path(tree_place("", str(folder), "cube"))
    storage, snapshot, _, _ = stored_tree(place.parent)
    assert storage.place == str(place)
    before = log.begin(storage, log.CREATE)
    log.end(storage, log.CREATE, before, log.ACTIVE, snapshot)
    return storage, snapshot


def test_a_log_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    storage, snapshot = logged_tree(tmp_path)
    view = log.read_log(storage)
    assert view.tree == snapshot and view.held == snapshot and view.snapshot is None and view.state == log.ACTIVE


def test_delete_restore_vacuum_and_cancel(tmp_path: Path) -> None:
    storage, snapshot = logged_tree(tmp_path)
    actions.delete(storage)
    assert log.read_log(storage).state == log.DELETED and log.read_log(storage).tree == snapshot
    actions.restore(storage)
    assert log.read_log(storage).tree == snapshot
    assert actions.vacuum(storage) == 0 and log.read_log(storage).tree == snapshot
    log.begin(storage, log.REFRESH)
    with pytest.raises(IndexStateError, match="star-tree in"):
        actions.delete(storage)
    assert log.cancel(storage).tree == snapshot
    actions.delete(storage)
    assert actions.vacuum(storage) == len({file.name for file in snapshot.data_files})
    assert log.read_log(storage).state == log.DOES_NOT_EXIST and storage.names(DATA) == []


def test_a_tree_whose_files_are_gone_is_not_restored(tmp_path: Path) -> None:
    storage, snapshot = logged_tree(tmp_path)
    actions.delete(storage)
    storage.delete(snapshot.segments[0].nodes.name)
    with pytest.raises(IndexStorageError, match=r"star-tree in.* 1 of its files"):
        actions.restore(storage)


def test_nobody_takes_it_for_an_index(tmp_path: Path) -> None:
    storage, _ = logged_tree(tmp_path)
    store = store_places([f"file:{tmp_path}/part-0.parquet"], "")
    assert index_folders(store[0]) == [] and IndexShelf().shelved(store) == []
    assert open_index(storage) is None
    assert tree_places(store) == [storage.place]
    assert tree_root(storage.place, None) == str(tmp_path)


def test_places(tmp_path: Path) -> None:
    assert tree_place("/indexes", "/t", "cube") == "/indexes/@star_trees/cube"
    assert tree_place("", "/t", "cube", "a.parquet") == "/t/_rtfilter/@star_trees/cube@a.parquet"
    assert tree_place("s3a://b/i/", "/t", "cube") == "s3a://b/i/@star_trees/cube"
    assert tree_places([str(tmp_path), "s3a://b/i"]) == [] and trees_folder("/i/") == "/i/@star_trees"


CHANGES: tuple[tuple[tuple[Any, ...], Any], ...] = (
    (("kind",), "cube"),
    (("name",), 3),
    (("dimensions",), []),
    (("dimensions",), "country"),
    (("dimensions",), ["country", "country"]),
    (("dimensions",), ["nowhere"]),
    (("dimensions",), [["country"]]),
    (("dimensions",), ["country"] * 13),
    (("measures",), []),
    (("measures",), ["sum(nowhere)"]),
    (("measures",), [3]),
    (("measures",), ["median(x)"]),
    (("measures",), ["sum(*)"]),
    (("max_leaf",), -1),
    (("max_leaf",), 10**12),
    (("max_leaf",), "1"),
    (("no_star",), ["x"]),
    (("types",), []),
    (("types", "country"), "array<int>"),
    (("types", "country"), None),
    (("floats",), 1),
    (("root",), {}),
    (("segments",), None),
    (("segments", 0, "rows"), None),
    (("segments", 0, "rows"), "abc"),
    (("segments", 0, "rows", 0, "name"), "data/../../secret"),
    (("segments", 0, "rows", 0, "rows"), -1),
    (("segments", 0, "nodes", "rows"), 2**70),
    (("segments", 0, "nodes", "bytes"), 1.5),
    (("segments", 0, "values"), {}),
    (("segments", 0, "table_rows"), -3),
    (("segments", 0, "table_rows"), True),
    (("segments", 0, "largest"), {"nowhere": 1}),
    (("segments", 0, "largest"), {"x": -1}),
    (("segments", 0, "largest"), {"x": 10**40}),
    (("segments", 0, "nullable"), ["nowhere"]),
    (("segments", 0, "nullable"), "x"),
    (("drift",), {"appended": "a"}),
    (("drift",), {"more": 1}),
    (("drift",), 3),
)


@pytest.mark.parametrize(("path", "value"), CHANGES, ids=[f"{'.'.join(map(str, path))}={value!r:.20}" for path, value in CHANGES])
def test_a_hostile_entry_is_refused(tmp_path: Path, path: tuple[Any, ...], value: Any) -> None:
    storage, snapshot = logged_tree(tmp_path)
    content = copy.deepcopy(snapshot.to_dict())
    part = content
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(IndexStorageError):
        tree_snapshot_from_dict(content)
    entry = {"format": 1, "state": log.ACTIVE, "at_s": 0, "writer": "w", "token": "t", "snapshot": content}
    assert storage.create(f"{LOG}/{3:020d}.json", json.dumps(entry).encode())
    latest = log.read_log(storage)
    assert latest.latest is not None and latest.latest.state == log.UNREADABLE and latest.tree == snapshot


@pytest.mark.parametrize(
    "part", ["kind", "name", "table", "dimensions", "measures", "max_leaf", "no_star", "types", "floats", "segments"]
)
def test_an_entry_without_a_part_is_refused(tmp_path: Path, part: str) -> None:
    content = stored_tree(tmp_path)[1].to_dict()
    del content[part]
    with pytest.raises(IndexStorageError):
        tree_snapshot_from_dict(content)


def test_two_segments_of_the_same_files_are_refused(tmp_path: Path) -> None:
    content = stored_tree(tmp_path)[1].to_dict()
    content["segments"] *= 2
    with pytest.raises(IndexStorageError, match="same files"):
        tree_snapshot_from_dict(content)
