"""Indexes laid over the packs of one file list: which of these they know, and what they say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rtfilter.errors import IndexStorageError
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.catalog import Located
from rtfilter.store.index_files.index_problems import INDEX_STALE, Coverage, IndexUse, problem_of
from rtfilter.store.index_reading.found_index import ShelvedIndex
from rtfilter.store.index_reading.reader import PackIndex
from rtfilter.store.parquet.paths import below
from rtfilter.store.sketches.arrays import Bools, Int64s
from rtfilter.store.sketches.column_tests import KeyBloom, ValueTest
from rtfilter.store.sketches.outcomes import Outcome, agreed, partial
from rtfilter.store.sketches.predicates import Leaf
from rtfilter.store.tables.verdict import ColumnFilter, Verdict


@dataclass(frozen=True, slots=True)
class ListedTable:
    """The files of one digest, the directories that their indexes may be in, and where their packs are in indexes used lately."""

    files: tuple[FileIdentity, ...]
    sizes: Int64s
    places: tuple[str, ...]
    located: dict[tuple[str, str, str], Located] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        return int(self.sizes.sum())


@dataclass(frozen=True, slots=True)
class PlacedIndex:
    """An index over one layout: pack `places[i]` of the layout is pack `numbers[i]` of the index. `files`: those that it knows."""

    shelved: ShelvedIndex
    index: PackIndex
    places: Int64s
    numbers: Int64s
    files: Bools
    coverage: Coverage


def without_files(placed: PlacedIndex, changed: Sequence[int], files: Sequence[FileIdentity]) -> PlacedIndex:
    """An index that does not know these files of a list as they are."""
    mine = [i for i in changed if placed.files[i]]
    before = placed.coverage
    unknown = before.files_unknown + len(mine), before.bytes_unknown + sum(files[i].size_bytes for i in mine)
    return replace(placed, coverage=Coverage(before.files, unknown[0], before.bytes, unknown[1])) if mine else placed


def packs_told_of(placed: Sequence[PlacedIndex], leaves: Iterable[Leaf], packs: int, case_sensitive: bool) -> int:
    """Of how many packs some index holds anything of one of these columns."""
    told = np.zeros(packs, dtype=np.bool_)
    for leaf in leaves:
        for each in placed:
            column = each.index.column(leaf.column, leaf.type, case_sensitive)
            if column is not None:
                told[each.places] |= each.index.tells(column, each.numbers)
    return int(np.count_nonzero(told))


def asked_by_bloom(filter_: ColumnFilter) -> list[Leaf]:
    """What the bloom filter of a filled filter asks, if it has one."""
    if filter_.bloom is None:
        return []
    return [Leaf(filter_.column, filter_.type, ValueTest(KeyBloom(filter_.bloom), filter_.keys.keep_nulls, exact=False))]


def packs_of(counts: Any, files: Bools) -> Int64s:
    """The numbers, end to end over all known files, of the packs of some files."""
    return np.flatnonzero(np.repeat(files, np.maximum(counts, 0)))


def holds_files_of(listed: ListedTable, root: str, only_file: str | None = None) -> bool:
    """Whether the table with this root is the one that was listed; one location may hold indexes of many tables.

    `only_file`: the table is this file of the root.
    """
    inside = [below(file.path, root.rstrip("/")) for file in (listed.files[0], listed.files[-1])]
    return any(each is not None for each in inside) if only_file is None else all(each == only_file for each in inside)


def judge_by(
    placed: Sequence[PlacedIndex], packs: int, case_sensitive: bool, deadline_s: float, accepts: bool = False
) -> Callable[[Leaf], Outcome]:
    def judge(leaf: Leaf) -> Outcome:
        return agreed((_judged(each, leaf, packs, case_sensitive, deadline_s, accepts) for each in placed), packs)

    return judge


def _judged(placed: PlacedIndex, leaf: Leaf, packs: int, case_sensitive: bool, deadline_s: float, accepts: bool) -> Outcome:
    """The verdict of one index on the packs of a layout."""
    outcome = partial(packs)
    column = placed.index.column(leaf.column, leaf.type, case_sensitive)
    if column is None:
        return outcome
    try:
        found = placed.index.judge(column, leaf.test, placed.numbers, accepts=accepts, deadline_s=deadline_s)
    except (IndexStorageError, ValueError, IndexError, MemoryError) as error:
        placed.index.problems[f"verdict on {column}"] = problem_of(error)
        return outcome
    outcome.reject[placed.places], outcome.accept[placed.places] = found.reject, found.accept
    return outcome


def unused_index(shelved: ShelvedIndex, listed: ListedTable) -> IndexUse:
    files, total = len(listed.files), listed.total_bytes
    coverage = Coverage(files, files, total, total)
    return IndexUse(shelved.name, shelved.place, coverage, 0, shelved.problems, shelved.problems[0].reason)


def use_of(placed: PlacedIndex, packs: Verdict, keep: tuple[Bools, ...], static: Outcome | None, max_stale: float) -> IndexUse:
    before, after = packs.keep_all_of(range(len(packs.keep))), np.ones(packs.packs_total, dtype=np.bool_)
    for each in (*keep, *(() if static is None else (~static.reject,))):
        after &= each
    refused = INDEX_STALE if placed.coverage.stale_share > max_stale else ""
    rejected = 0 if refused else int(np.count_nonzero((before & ~after)[placed.places]))
    name, place = placed.index.snapshot.definition.name, placed.shelved.place
    return IndexUse(name, place, placed.coverage, rejected, placed.shelved.problems, refused)
