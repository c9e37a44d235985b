"""What is known of a table's indexes while a query is planned: which there are and what they could judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from planner.counted import counted
from rtfilter.store.index_files.index_problems import INDEX_STALE, Coverage, IndexProblem
from rtfilter.store.index_files.local_cache import cache_directory_of
from rtfilter.store.index_files.snapshot import Drift
from rtfilter.store.index_reading.found_index import ShelvedIndex
from rtfilter.store.index_reading.reader import STORE_FOLDER, PackIndex
from rtfilter.store.open_indexes import IndexShelf, store_places, without_partitions
from rtfilter.store.parquet.paths import absolute, is_remote


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """An index of a table before anything is asked of it; `name` is empty for all indexes of a place.

    `covers`: which of the columns asked about it can judge; `mistyped`: which it has of a type that has other values. `is_usable`:
    whether it is asked at all. `remarks`: why not, or what there is to say of one that is asked all the same, as codes of
    index_use.py and sentences.
    """

    name: str
    covers: frozenset[str]
    is_usable: bool
    remarks: tuple[IndexProblem, ...] = ()
    mistyped: frozenset[str] = frozenset()


# What an index knew of its table's files when a query last asked it, None where none has asked this version of it.
CoverageOf: TypeAlias = Callable[[PackIndex], Coverage | None]


def roots_of_tables(paths: Iterable[str]) -> list[str]:
    """Where tables may be that are read from these paths (Hadoop's texts): a path may be a file, or a partition's directory.

    What is above a directory is another table, whose indexes are not those of this one. Of a path that this process can't open
    nobody knows here which it is: both it and what is above it are given.
    """
    near = (without_partitions(each) for path in paths for each in _path_or_above(path))
    return list(dict.fromkeys(near))


def _path_or_above(path: str) -> tuple[str, ...]:
    above = os.path.dirname(path)
    if is_remote(path):
        return path, above
    return (above if os.path.isfile(absolute(path)) else path,)


def facts_of_indexes(
    shelf: IndexShelf,
    roots: Sequence[str],
    leaves: Iterable[tuple[str, str]],
    case_sensitive: bool = False,
    location: str = "",
    cache_directory: str = "",
    coverage_of: CoverageOf = lambda _: None,
    max_stale: float = 1.0,
) -> tuple[IndexFacts, ...]:
    """The indexes of a table with these roots (Hadoop's texts), and which of these columns (name, type) each can judge.

    `location` is `rtfilter.store.location`, `cache_directory` `rtfilter.store.cacheDirectory`, `max_stale`
    `rtfilter.index.maxStale`. A location may hold indexes of many tables; of one that can't be read nobody knows which.
    """
    own = frozenset(absolute(root) for root in roots)
    wanted = tuple(leaves)
    inside = dict.fromkeys(os.path.join(absolute(root), STORE_FOLDER) for root in roots)
    places = store_places((), location) if location else tuple(inside)
    found = _without_strangers(shelf.shelved(places, cache_directory_of(cache_directory)), sum(map(is_remote, places)))
    concerned = [each for each in found if each.concerns(lambda root, _: root in own, bool(location))]
    return tuple(
        _facts(each, wanted, case_sensitive, coverage_of, max_stale)
        for each in sorted(concerned, key=lambda each: each.index is None)
    )


def _without_strangers(found: Sequence[ShelvedIndex], remote_places: int) -> list[ShelvedIndex]:
    """Without places that nobody has looked at, where others of the table were: a root may be a directory of it, or a file.

    Of several that nobody has looked at the first one stands for all.
    """
    unseen = [each for each in found if each.is_unseen]
    told = unseen[:1] if len(unseen) == remote_places else []
    return [each for each in found if not each.is_unseen or each in told]


def _facts(
    shelved: ShelvedIndex, wanted: Sequence[tuple[str, str]], case_sensitive: bool, coverage_of: CoverageOf, max_stale: float
) -> IndexFacts:
    remarks = [IndexProblem(problem.reason, shelved.sentence) for problem in shelved.problems[:1]]
    index = shelved.index
    if index is None:
        return IndexFacts(shelved.name, frozenset(), False, tuple(remarks))
    covers = frozenset(name for name, type_ in wanted if index.column(name, type_, case_sensitive) is not None)
    mistyped = frozenset(name for name, _ in wanted if name not in covers and index.has_column(name, case_sensitive))
    stale = _coverage_sentence(shelved.name, coverage_of(index), max_stale) or _drift_sentence(shelved.name, index.snapshot.drift)
    return IndexFacts(shelved.name, covers, True, (*remarks, *([IndexProblem(INDEX_STALE, stale)] if stale else ())), mistyped)


def _coverage_sentence(name: str, coverage: Coverage | None, max_stale: float) -> str:
    """What the latest query has found. Files may be other ones by now, so an index that it did not use is asked again."""
    if coverage is None or not coverage.files_unknown:
        return ""
    if coverage.stale_share > max_stale:
        others = f"the others were {coverage.stale_share:.0%} of the table's bytes, more than rtfilter.index.maxStale allows"
        return f"The latest query did not use index {name}: it covered {coverage.text} as they were then, and {others}; refresh it."
    return f"At the latest query index {name} covered {coverage.text} as they were then; refresh it."


def _drift_sentence(name: str, drift: Drift) -> str:
    """What the last quick refresh has found."""
    lacked = [counted(count, f"{kind} file") for count, kind in ((drift.appended, "new"), (drift.changed, "changed")) if count]
    return f"Index {name} lacked {' and '.join(lacked)} when it was last looked at; refresh it." if lacked else ""
