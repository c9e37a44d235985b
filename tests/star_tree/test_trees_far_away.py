"""Star-trees on a filesystem that Python can't open: the same life as on a local disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtfilter.errors import IndexStateError, IndexStorageError
from rtfilter.star_tree.actions import tree_actions
from rtfilter.star_tree.tree_files import covered_files, open_segment
from rtfilter.store.index_actions import actions
from rtfilter.store.index_files import log
from rtfilter.store.remote.remote_storage import RemoteStorage
from rtfilter.store.tree_places import tree_places
from tests.cases_share import steps
from tests.index.remote_files import FarFiles, GoneError, cache_of, far
from tests.star_tree.small_tables import definition_of, reader_of, write_part

MOST_STEPS = 200


def far_tree(folder: Path, files: FarFiles | None = None) -> RemoteStorage:
    place = f"{far(folder)}/store/@star_trees/cube"
    return RemoteStorage(place, files or FarFiles(), cache_of(folder), ["far"])


def covered(folder: Path) -> list[str]:
    view = log.read_log(far_tree(folder))
    if view.tree is None or view.state != log.ACTIVE:
        return []
    for segment in view.tree.segments:
        open_segment(far_tree(folder), view.tree.definition, segment)
    return sorted(file.path for segment in view.tree.segments for file in covered_files(far_tree(folder), segment))


def test_the_whole_life(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_part(table, "a.parquet", 0)
    storage, definition = far_tree(tmp_path), definition_of(table, root=str(table))
    tree_actions.create(storage, definition, reader_of(table))
    assert covered(tmp_path) == ["a.parquet"]
    assert tree_places([f"{far(tmp_path)}/store"], FarFiles()) == [storage.place]
    write_part(table, "b.parquet", 50)
    assert tree_actions.refresh(storage, "incremental", reader_of(table)).files == 1
    assert tree_actions.optimize(storage, reader_of(table)) == 1
    assert covered(tmp_path) == ["a.parquet", "b.parquet"]
    assert actions.vacuum(storage) > 0 and covered(tmp_path) == ["a.parquet", "b.parquet"]
    actions.delete(storage)
    actions.restore(storage)
    assert covered(tmp_path) == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize("dies", ["before", "after", None])
@pytest.mark.parametrize("action", ["create", "refresh"])
def test_a_step_that_fails_or_is_the_last_one_harms_nobody(tmp_path: Path, action: str, dies: str | None) -> None:
    went_wrong = 0
    for step in steps(MOST_STEPS):
        folder = tmp_path / str(step)
        table = folder / "t"
        write_part(table, "a.parquet", 0)
        definition = definition_of(table, root=str(table))
        if action == "refresh":
            tree_actions.create(far_tree(folder), definition, reader_of(table))
            write_part(table, "b.parquet", 50)
        before = covered(folder)
        storage = far_tree(folder, FarFiles(step, dies))
        try:
            if action == "create":
                tree_actions.create(storage, definition, reader_of(table))
            else:
                tree_actions.refresh(storage, "incremental", reader_of(table))
        except (GoneError, IndexStorageError, IndexStateError):
            went_wrong += 1
        else:
            break
        assert covered(folder) in (before, ["a.parquet"], ["a.parquet", "b.parquet"])
        if log.read_log(far_tree(folder)).under_way is not None:
            assert covered(folder) == before
            log.cancel(far_tree(folder))
        assert log.read_log(far_tree(folder)).under_way is None
    else:
        pytest.fail("the action never came to its end")
    assert went_wrong > 3
