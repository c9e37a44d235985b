"""Writers of star-trees that die: at every step of every action, and by a real kill. Readers stay right, and the next one works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rtfilter.errors import IndexStateError, IndexStorageError
from rtfilter.star_tree.actions import tree_actions
from rtfilter.star_tree.tree_files import write_segment
from rtfilter.store.index_actions import actions
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import DATA, SCRATCH, IndexStorage
from tests.cases_share import steps
from tests.index.dying_storage import DyingStorage, Killed
from tests.star_tree.small_tables import check_answers, definition_of, reader_of, storage_of, write_part

MOST_STEPS = 60
ACTIONS = ("create", "refresh", "optimize", "delete", "restore", "vacuum", "vacuum deleted")
ROOT = Path(__file__).parents[2]


def prepared(folder: Path, action: str) -> None:
    write_part(folder, "a.parquet", 0)
    if action == "create":
        return
    act(folder, "create", storage_of(folder))
    if action in ("refresh", "optimize", "vacuum"):
        write_part(folder, "b.parquet", 50)
    if action in ("optimize", "vacuum"):
        act(folder, "refresh", storage_of(folder))
    if action == "vacuum":
        act(folder, "optimize", storage_of(folder))
    if action in ("restore", "vacuum deleted"):
        actions.delete(storage_of(folder))


def act(folder: Path, action: str, storage: IndexStorage) -> None:
    if action == "create":
        tree_actions.create(storage, definition_of(folder), reader_of(folder))
    elif action == "refresh":
        tree_actions.refresh(storage, "incremental", reader_of(folder))
    elif action == "optimize":
        tree_actions.optimize(storage, reader_of(folder))
    else:
        {"delete": actions.delete, "restore": actions.restore}.get(action, actions.vacuum)(storage)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_writer_that_dies_at_any_step_harms_nobody(tmp_path: Path, action: str, before: bool) -> None:
    died = 0
    for step in steps(MOST_STEPS):
        folder = tmp_path / str(step)
        prepared(folder, action)
        covered, state = check_answers(folder), log.read_log(storage_of(folder)).state
        try:
            act(folder, action, DyingStorage(storage_of(folder).place, step, before))
        except Killed:
            died += 1
        else:
            break
        check_answers(folder)
        view = log.read_log(storage_of(folder))
        if view.under_way is not None:
            assert view.state == state and check_answers(folder) == covered
            with pytest.raises(IndexStateError, match="run cancel"):
                act(folder, action, storage_of(folder))
            assert log.cancel(storage_of(folder)).state == state and check_answers(folder) == covered
            act(folder, action, storage_of(folder))
            check_answers(folder)
    else:
        pytest.fail("the action never came to its end")
    assert died >= 2


KILLED_AT = {
    # In the middle of the work in memory, of the first file, and of the entry that would show the tree.
    "grouped": "rtfilter.star_tree.actions.tree_actions.built_tree",
    "first file": "rtfilter.star_tree.tree_files._write_rows",
    "last entry": "rtfilter.store.index_files.log.end",
}
KILL = """
import os, signal, sys
from importlib import import_module
from pathlib import Path
from rtfilter.star_tree.actions import tree_actions
from tests.star_tree.small_tables import definition_of, reader_of, storage_of

where, action, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
module, _, name = where.rpartition(".")
setattr(import_module(module), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
if action == "create":
    tree_actions.create(storage_of(folder), definition_of(folder), reader_of(folder))
else:
    tree_actions.refresh(storage_of(folder), "full", reader_of(folder))
"""


@pytest.mark.parametrize("where", KILLED_AT)
@pytest.mark.parametrize("action", ["create", "refresh"])
def test_a_killed_build_leaves_nothing_visible(tmp_path: Path, action: str, where: str) -> None:
    folder = tmp_path / "t"
    prepared(folder, action)
    covered = check_answers(folder)
    command = [sys.executable, "-c", KILL, KILLED_AT[where], action, str(folder)]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert check_answers(folder) == covered and (covered == []) == (action == "create")
    if log.read_log(storage_of(folder)).under_way is not None:
        log.cancel(storage_of(folder))
    act(folder, action, storage_of(folder))
    assert len(check_answers(folder)) == (1 if action == "create" else 2)
    actions.vacuum(storage_of(folder))
    tree, there = log.read_log(storage_of(folder)).tree, set(storage_of(folder).names(DATA))
    assert tree is not None and there == {file.name for file in tree.data_files}
    assert not [name for name in os.listdir(Path(storage_of(folder).place) / "data") if name.startswith(SCRATCH)]


def test_a_build_that_fails_at_its_files_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_part(tmp_path, "a.parquet", 0)

    def fail(*_: object) -> None:
        raise IndexStorageError("no space left")

    monkeypatch.setattr("rtfilter.star_tree.tree_files._node_arrays", fail)
    with pytest.raises(IndexStorageError, match="no space"):
        act(tmp_path, "create", storage_of(tmp_path))
    storage = storage_of(tmp_path)
    assert storage.names(DATA) == [] and log.read_log(storage).state == log.DOES_NOT_EXIST
    monkeypatch.undo()
    act(tmp_path, "create", storage)
    assert check_answers(tmp_path) == ["a.parquet"]


def test_a_cancelled_build_that_fails_leaves_the_next_ones_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_part(tmp_path, "a.parquet", 0)
    storage = storage_of(tmp_path)

    def another_is_made(*_: object, **__: object) -> None:
        monkeypatch.undo()
        log.cancel(storage)
        act(tmp_path, "create", storage)
        raise IndexStorageError("no space left")

    monkeypatch.setattr(tree_actions, "write_segment", another_is_made)
    with pytest.raises(IndexStorageError, match="no space"):
        act(tmp_path, "create", storage)
    assert check_answers(tmp_path) == ["a.parquet"]


def test_a_cancelled_build_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody cancels a refresh and makes another: of the first one nothing counts."""
    prepared(tmp_path, "refresh")
    storage, written = storage_of(tmp_path), write_segment

    def cancelled_meanwhile(*arguments: object, **more: object) -> object:
        monkeypatch.undo()
        log.cancel(storage)
        act(tmp_path, "refresh", storage)
        return written(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_actions, "write_segment", cancelled_meanwhile)
    with pytest.raises(IndexStateError, match="cancelled by somebody else"):
        act(tmp_path, "refresh", storage)
    assert check_answers(tmp_path) == ["a.parquet", "b.parquet"]
    actions.vacuum(storage)
    assert check_answers(tmp_path) == ["a.parquet", "b.parquet"]
