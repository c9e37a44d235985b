"""Damaged and hostile index folders of every kind in hostile/: verdicts stay right, and it costs next to nothing.

Each kind is met by a process of its own, so that what it takes can be told from what others took.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtfilter.host.arrow_memory import give_memory_back
from rtfilter.store.bounds.filters import filter_of_keys
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_facts import facts_of_indexes, roots_of_tables
from rtfilter.store.pack_store import PackStore, StoreVerdict
from rtfilter.store.tables.verdict import ColumnFilter
from tests.index.hostile.all_kinds import KINDS
from tests.index.hostile.index_folder import PACKS, IndexFolder, make_table

ABSENT = 500_000
# What an opening may take, and then some for the rest of a first query.
MOST_CPU_S = 1.0 + 0.5
MOST_CPU_LATER_S = 0.2
MOST_BYTES = 150 << 20
# Where there is no index, or none that is looked at, nothing is said in reports.
SILENT = {"log_that_is_a_file", "place_of_1000_indexes"}


@dataclass(frozen=True)
class Met:
    """What a process found. `lost`: packs kept that a good index would reject; `wrong`: rejected that have the key."""

    wrong: int
    lost: int
    reasons: frozenset[str]
    bytes: int
    first_cpu_s: float
    first_s: float
    later_cpu_s: float


def _ask(store: PackStore, folder: Path, key: int) -> StoreVerdict:
    files = list_directory(str(folder)).files
    listing = ([f"file:{file.local}" for file in files], [file.size_bytes for file in files], [file.mtime_ms for file in files])
    digest = repr(listing)
    store.add_list(digest, *listing)
    leaves = [("a", "bigint"), ("s", "string")]
    facts_of_indexes(store.shelf, roots_of_tables([f"file:{folder}"]), leaves)
    store.footers.prefetch(digest, ["a"])
    keys = filter_of_keys(np.array([key], dtype=np.int64))
    verdict = store.verdict(digest, [ColumnFilter("a", "bigint", keys)], wait_s=20)
    assert verdict is not None
    return verdict


def meet(folder: Path) -> Met:
    give_memory_back()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store = PackStore()
    cpu_s, at_s = time.process_time(), time.monotonic()
    first = _ask(store, folder, ABSENT)
    first_s = time.monotonic() - at_s
    # What goes on in the background is part of it.
    while any(name.startswith("opening") for name in _busy(store)) and time.monotonic() - at_s < 30:
        time.sleep(0.01)
    first_cpu_s = time.process_time() - cpu_s
    cpu_s = time.process_time()
    later = _ask(store, folder, ABSENT)
    later_cpu_s = time.process_time() - cpu_s
    wrong = sum(not bool(_ask(store, folder, 1_000 * pack + 3).packs.keep[0][pack]) for pack in range(PACKS))
    problems = [problem.reason for use in (*first.uses, *later.uses) for problem in use.problems]
    remarks = [use.remark.reason for use in (*first.uses, *later.uses) if use.remark is not None]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lost = int(np.count_nonzero(later.packs.keep[0]))
    return Met(wrong, lost, frozenset(problems + remarks), (after - before) * 1024, first_cpu_s, first_s, later_cpu_s)


def _busy(store: PackStore) -> list[str]:
    return ["opening" for _ in store.shelf._openings._begun]


def met(folder: Path) -> Met:
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        return pool.apply(meet, (folder,))


@pytest.fixture(scope="module", autouse=True)
def process_to_fork_from() -> None:
    multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.index.test_hostile_folders"])


def files_beside(index: IndexFolder) -> dict[str, Any]:
    """What is outside, as far as the damage itself did not put it there."""
    return {path.name: path.read_bytes() for path in index.outside.iterdir() if path.name == "marker"}


def test_the_good_index_rejects_every_pack(tmp_path: Path) -> None:
    index = make_table(tmp_path / "good")
    found = met(index.path.parents[1])
    assert (found.wrong, found.lost, found.reasons) == (0, 0, frozenset())


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 40 and set(KINDS) >= SILENT


@pytest.mark.parametrize("name", KINDS)
def test_a_hostile_folder_costs_filters_and_nothing_else(name: str, tmp_path: Path) -> None:
    index = make_table(tmp_path / "bad")
    table = {path.name: path.read_bytes() for path in index.path.parents[1].iterdir() if path.is_file()}
    KINDS[name](index)
    outside = files_beside(index)
    found = met(index.path.parents[1])
    print(found)
    assert found.wrong == 0
    # Sketches that are well do their work beside those that are not.
    assert found.lost == 0 or found.reasons or name in SILENT, "filters are lost, and nothing is said of it"
    assert found.bytes <= MOST_BYTES
    assert found.first_cpu_s <= MOST_CPU_S
    assert found.later_cpu_s <= MOST_CPU_LATER_S
    assert files_beside(index) == outside
    assert {path.name: path.read_bytes() for path in index.path.parents[1].iterdir() if path.is_file()} == table
