"""Random lives of star-trees: files come, change and go, and after every action the tree answers what its files hold."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from rtfilter.star_tree.actions import tree_actions
from rtfilter.store.index_actions import actions
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import DATA
from tests.cases_share import cases
from tests.star_tree.small_tables import check_answers, covered_paths, definition_of, reader_of, storage_of, write_part

STEPS = 14
LIVES = 12


def table_files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.suffix == ".parquet")


def change_files(folder: Path, random_: random.Random) -> None:
    """One to three files are new, replaced or gone; one is always left."""
    for _ in range(random_.randint(1, 3)):
        there = table_files(folder)
        if len(there) > 1 and random_.random() < 0.3:
            os.unlink(folder / random_.choice(there))
        else:
            name = random_.choice(there) if random_.random() < 0.3 else f"f{random_.randrange(10**9)}.parquet"
            write_part(folder, name, random_.randrange(5_000), random_.randint(1, 40))


def act(folder: Path, random_: random.Random) -> str:
    """An action; after one that looks at the table all of it is covered, or as much as before."""
    storage, reader, before = storage_of(folder), reader_of(folder), covered_paths(folder)
    name = random_.choice(["incremental", "incremental", "full", "optimize", "vacuum", "delete and restore"])
    if name in tree_actions.REFRESH_MODES:
        tree_actions.refresh(storage, name, reader)
        assert covered_paths(folder) == table_files(folder)
    elif name == "optimize":
        tree_actions.optimize(storage, reader)
    elif name == "vacuum":
        actions.vacuum(storage)
        tree = log.read_log(storage).tree
        assert tree is not None and set(storage.names(DATA)) == {file.name for file in tree.data_files}
    else:
        actions.delete(storage)
        actions.restore(storage)
    assert name in tree_actions.REFRESH_MODES or covered_paths(folder) == before
    return name


@pytest.mark.parametrize("seed", range(cases(LIVES)))
def test_a_tree_answers_what_its_files_hold(tmp_path: Path, seed: int) -> None:
    random_, done = random.Random(seed), Counter[str]()
    change_files_of_a_new_table(tmp_path, random_)
    tree_actions.create(storage_of(tmp_path), definition_of(tmp_path, max_leaf=random_.choice([1, 5, 10_000])), reader_of(tmp_path))
    for _ in range(STEPS):
        # Segments of files that are as they were are all that can be held against the files.
        if random_.random() < 0.6:
            change_files(tmp_path, random_)
            tree_actions.refresh(storage_of(tmp_path), "incremental", reader_of(tmp_path))
        done[act(tmp_path, random_)] += 1
        assert check_answers(tmp_path) == table_files(tmp_path)
    assert len(done) > 1


def change_files_of_a_new_table(folder: Path, random_: random.Random) -> None:
    write_part(folder, "f0.parquet", 0, random_.randint(1, 60))
    change_files(folder, random_)
