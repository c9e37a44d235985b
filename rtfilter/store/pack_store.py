"""What the planner host asks: footers and indexes together. Each of them tells the truth about what it rejects; unknown is kept."""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.footer_cache.kept_folder import KeptIn
from rtfilter.store.index_files.catalog import Located
from rtfilter.store.index_files.file_check import FileTrust
from rtfilter.store.index_files.index_problems import Coverage, IndexUse, problem_of
from rtfilter.store.index_files.local_cache import cache_directory_of
from rtfilter.store.index_layouts import completed
from rtfilter.store.index_reading.found_index import ShelvedIndex
from rtfilter.store.index_reading.key_tests import test_of_filter
from rtfilter.store.index_reading.reader import PackIndex
from rtfilter.store.index_reading.reading_journal import ReadingJournal
from rtfilter.store.open_indexes import IndexShelf, store_places
from rtfilter.store.parquet.paths import is_remote, local_path
from rtfilter.store.placed_indexes import (
    ListedTable,
    PlacedIndex,
    asked_by_bloom,
    holds_files_of,
    judge_by,
    packs_of,
    packs_told_of,
    unused_index,
    use_of,
    without_files,
)
from rtfilter.store.remote.index_copies import MOST_PLACES_AT_ONCE
from rtfilter.store.sketches.arrays import Bools
from rtfilter.store.sketches.outcomes import Outcome, agreed, partial
from rtfilter.store.sketches.predicates import Leaf, Predicate, judge_predicate, leaves_of, parse_predicate
from rtfilter.store.tables.footer_store import MOST_LISTED_FILES, MOST_LISTS, FooterStore
from rtfilter.store.tables.remembered_counts import SeenTables
from rtfilter.store.tables.verdict import ColumnFilter, Verdict

# Well below the time that the bridge waits for an answer (rtfilter.planner.timeoutMs).
DEFAULT_INDEX_S = 0.5
# For sketches that are in memory.
LEAST_INDEX_S = 0.05
# Longest time for a look at the footers of files that lose packs; what it has found out is kept for the next query.
TRUST_S = 0.25
# Indexes of one file list whose layout is kept.
MOST_LOCATED = 8
# Indexes of which the coverage at the latest query is kept.
MOST_COVERAGES = 256

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreVerdict:
    """The packs of a scan: under each filter (`packs`), and under its static predicate (`static`, None without one).

    `sure`: for each filter the packs of which every row passes, by what indexes say of the form that packs were judged by.
    `packs_told`: of how many packs some index holds anything of a column that the static predicate asks for; counted only where
    that predicate rejects none.
    """

    packs: Verdict
    static: Outcome | None
    uses: tuple[IndexUse, ...]
    sure: tuple[Bools, ...] = ()
    packs_told: int = 0

    @property
    def static_keep(self) -> Bools | None:
        """The packs that the static predicate does not reject."""
        return None if self.static is None else ~self.static.reject


class PackStore:
    """A footer store and the indexes of the tables that it is asked about; thread-safe."""

    def __init__(self, footers: FooterStore | None = None, journal: ReadingJournal | None = None) -> None:
        self.footers = FooterStore() if footers is None else footers
        self.seen = SeenTables()
        self.shelf = IndexShelf(journal)
        self._trust = FileTrust()
        self._lock = threading.Lock()
        self._lists: OrderedDict[str, ListedTable] = OrderedDict()
        # By the identity of an index.
        self._coverages: OrderedDict[tuple[str, str, str], Coverage] = OrderedDict()

    def latest_coverage(self, index: PackIndex) -> Coverage | None:
        """What this version of an index knew of the files that the latest query with it has listed; None before there was one."""
        with self._lock:
            return self._coverages.get(index.identity)

    def add_list(self, digest: str, paths: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int]) -> None:
        """Makes a file list known, as FooterStore.add_list does. Raises ValueError."""
        files = self.footers.add_list(digest, paths, sizes, mtimes)
        with self._lock:
            if digest not in self._lists:
                self._lists[digest] = ListedTable(files, np.array(sizes, dtype=np.int64), store_places(paths, ""))
            self._lists.move_to_end(digest)
            while len(self._lists) > 1 and (len(self._lists) > MOST_LISTS or self._listed_files() > MOST_LISTED_FILES):
                self._lists.popitem(last=False)

    def listed_files(self, digest: str) -> tuple[FileIdentity, ...] | None:
        """The files of a list; None when it is not known."""
        with self._lock:
            listed = self._lists.get(digest)
        return None if listed is None else listed.files

    def _listed_files(self) -> int:
        return sum(len(listed.files) for listed in self._lists.values())

    def recall(self, digest: str, place: KeptIn, columns: Iterable[str], wait_s: float) -> bool:
        """Looks for kept footers, as FooterStore.recall does; what indexes say of their files counts from now on."""
        told = functools.partial(self._trust.tell_digest, source=place.directory)
        return self.footers.recall(digest, place, columns, wait_s, told)

    def put_footer_bytes(self, digest: str, index: int, tail: bytes) -> None:
        """A footer from the bridge, as FooterStore.put_footer_bytes has it; what indexes say of the file counts from now on."""
        self.footers.put_footer_bytes(digest, index, tail)
        with self._lock:
            listed = self._lists.get(digest)
        if listed is not None and 0 <= index < len(listed.files):
            self._trust.tell(listed.files[index], tail)

    def remote_places(self, digest: str, location: str) -> tuple[str, ...]:
        """The directories for indexes of a list that only the bridge can open; none when the digest is not known."""
        with self._lock:
            listed = self._lists.get(digest)
        places = () if listed is None else store_places((), location) if location else listed.places
        return tuple(place for place in places if is_remote(place))

    def verdict(
        self,
        digest: str,
        filters: Sequence[ColumnFilter],
        case_sensitive: bool = False,
        wait_s: float = 1.0,
        location: str = "",
        cache_directory: str = "",
        predicate: Mapping[str, Any] | None = None,
        index_s: float = DEFAULT_INDEX_S,
        max_stale: float = 1.0,
        accepts: bool = False,
        deadline_s: float = math.inf,
    ) -> StoreVerdict | None:
        """Which packs each filter keeps, by footers and by every index; None when the digest is not known.

        `location` is `rtfilter.store.location`, `cache_directory` `rtfilter.store.cacheDirectory`; `predicate` a static predicate
        as sketches/predicates.py describes it; `index_s` the seconds that indexes may take: packs whose sketches are not read by
        then are kept. `max_stale`: the share of the listed bytes that an index may not know as they are now; a staler one is not
        asked. `accepts`: packs that filters keep whole are looked for too, which takes twice the time. `deadline_s`: when, by the
        monotonic clock, footers are not waited for any more, and indexes have next to no time.
        """
        cache = cache_directory_of(cache_directory)
        packs = self.footers.verdict(digest, filters, case_sensitive, min(wait_s, max(deadline_s - time.monotonic(), 0.0)), cache)
        with self._lock:
            listed = self._lists.get(digest)
            if listed is not None:
                self._lists.move_to_end(digest)
        if packs is None or listed is None:
            return None
        if listed.files and not packs.files_unknown:
            names = (each.column for each in filters)
            self.seen.tell(listed.files, listed.total_bytes, packs.rows_total, zip(names, packs.value_spans, strict=True))
        now_s = time.monotonic()
        deadline_s = min(now_s + index_s, max(deadline_s, now_s + LEAST_INDEX_S))
        tree = None if predicate is None else parse_predicate(predicate)
        places = store_places((), location) if location else listed.places
        try:
            shelved = self.shelf.shelved(places, cache, deadline_s)
            return self._with_indexes(
                listed, packs, filters, tree, shelved, case_sensitive, location, deadline_s, max_stale, accepts, cache
            )
        except Exception as error:  # whatever an index has in it, what the footers say still holds
            _log.warning("the indexes of a table can't be used: %s: %s", type(error).__name__, error)
            unused = ShelvedIndex("", ", ".join(places), None, problem_of(error))
            return StoreVerdict(packs, None if tree is None else partial(packs.packs_total), (unused_index(unused, listed),))

    def _with_indexes(
        self,
        listed: ListedTable,
        packs: Verdict,
        filters: Sequence[ColumnFilter],
        tree: Predicate | None,
        shelved: Sequence[ShelvedIndex],
        case_sensitive: bool,
        location: str,
        deadline_s: float,
        max_stale: float,
        accepts: bool,
        cache: str,
    ) -> StoreVerdict:
        asked = [Leaf(each.column, each.type, test_of_filter(each.keys)) for each in filters]
        columns = [*asked, *(() if tree is None else leaves_of(tree))]
        places = store_places((), location) if location else listed.places
        relevant = [
            (each, each.index)
            for each in shelved
            if each.index is not None and any(each.index.column(leaf.column, leaf.type, case_sensitive) for leaf in columns)
        ]
        packs = completed(packs, [self._located(index, listed, deadline_s) for _, index in relevant])
        found = [self._place(each, index, listed, packs, deadline_s) for each, index in relevant]
        self._remember(found)
        placed = [each for each in found if each.coverage.stale_share <= max_stale]
        judge = judge_by(placed, packs.packs_total, case_sensitive, deadline_s, accepts)
        found_out = [
            agreed([judge(leaf), *map(judge, asked_by_bloom(each))], packs.packs_total)
            for leaf, each in zip(asked, filters, strict=True)
        ]
        keep = tuple(kept & ~each.reject for kept, each in zip(packs.keep, found_out, strict=True))
        exactly = judge_by(placed, packs.packs_total, case_sensitive, deadline_s, accepts=True)
        static = None if tree is None else judge_predicate(tree, exactly, packs.packs_total)
        packs_told = 0
        if tree is not None and static is not None and not bool(static.reject.any()):
            packs_told = packs_told_of(placed, leaves_of(tree), packs.packs_total, case_sensitive)
        keep, static, changed = self._trusted(listed.files, packs, placed, (keep, static), deadline_s + TRUST_S, cache)
        found = [without_files(each, changed, listed.files) for each in found]
        is_table = functools.partial(holds_files_of, listed)
        mine = [each for each in shelved if each.index is None and each.concerns(is_table, bool(location))]
        # A table may have more directories than are looked into: of the others nothing is coming.
        looked_into = [place for place in places if is_remote(place)][:MOST_PLACES_AT_ONCE]
        told = [each for each in mine if not each.is_unseen or each.place in looked_into]
        uses = [use_of(each, packs, keep, static, max_stale) for each in found if each.shelved.concerns(is_table, bool(location))]
        uses += [unused_index(each, listed) for each in told]
        return StoreVerdict(replace(packs, keep=keep), static, tuple(uses), tuple(each.accept for each in found_out), packs_told)

    def _remember(self, found: Sequence[PlacedIndex]) -> None:
        with self._lock:
            for each in found:
                self._coverages[each.index.identity] = each.coverage
                self._coverages.move_to_end(each.index.identity)
            while len(self._coverages) > MOST_COVERAGES:
                self._coverages.popitem(last=False)

    def _located(self, index: PackIndex, listed: ListedTable, deadline_s: float) -> Located:
        """Where the packs of a list are in an index; kept with the list, because ten thousand files take tens of ms.

        What an index with a problem says is not kept: the problem may go.
        """
        key = index.identity
        with self._lock:
            found = listed.located.get(key)
        if found is None:
            found = index.catalog(deadline_s).locate(listed.files)
            if index.problems:
                return found
            with self._lock:
                while len(listed.located) >= MOST_LOCATED:
                    del listed.located[next(iter(listed.located))]
                listed.located[key] = found
        return found

    def _place(
        self, shelved: ShelvedIndex, index: PackIndex, listed: ListedTable, packs: Verdict, deadline_s: float
    ) -> PlacedIndex:
        """The packs that footers and index agree on: same file, same number of packs, same starts."""
        located = self._located(index, listed, deadline_s)
        same = (packs.counts == located.counts) & (packs.counts >= 0)
        places, mine = packs_of(packs.counts, same), packs_of(located.counts, same)
        agree = (packs.starts[places] == located.starts[mine]) & (packs.rows[places] == located.rows[mine])
        if not bool(agree.all()):
            file_of = np.repeat(np.arange(len(listed.files)), np.maximum(packs.counts, 0))
            same[np.unique(file_of[places[~agree]])] = False
            places, mine = packs_of(packs.counts, same), packs_of(located.counts, same)
        unknown = ~same & (packs.counts != 0)
        unknown_bytes = int(listed.sizes[unknown].sum())
        coverage = Coverage(len(listed.files), int(np.count_nonzero(unknown)), listed.total_bytes, unknown_bytes)
        return PlacedIndex(shelved, index, places, located.numbers[mine], same, coverage)

    def _trusted(
        self,
        files: Sequence[FileIdentity],
        packs: Verdict,
        placed: Sequence[PlacedIndex],
        verdicts: tuple[tuple[Bools, ...], Outcome | None],
        deadline_s: float,
        cache: str,
    ) -> tuple[tuple[Bools, ...], Outcome | None, list[int]]:
        """The verdicts without what indexes say of files that are not the indexed ones, and which files these are.

        Only files that lose packs are looked at. Those for which there is no time count as other ones, and are not given.
        """
        keep, static = verdicts
        lost = np.zeros(packs.packs_total, dtype=np.bool_)
        for ours, theirs in zip(keep, packs.keep, strict=True):
            lost |= theirs & ~ours
        if static is not None:
            lost |= static.reject
        file_of = np.repeat(np.arange(len(files)), np.maximum(packs.counts, 0))
        doubtful, changed = [], []
        for i in np.unique(file_of[lost]).tolist():
            in_time = time.monotonic() <= deadline_s
            if not in_time or not self._is_unchanged(i, files[i], placed, deadline_s, cache):
                doubtful.append(i)
                changed += [i] if in_time else []
        if not doubtful:
            return keep, static, changed
        back = np.isin(file_of, doubtful)
        restored = tuple(np.where(back, theirs, ours) for ours, theirs in zip(keep, packs.keep, strict=True))
        return restored, None if static is None else Outcome(static.reject & ~back, static.accept & ~back), changed

    def _is_unchanged(self, number: int, file: FileIdentity, placed: Sequence[PlacedIndex], deadline_s: float, cache: str) -> bool:
        """Whether a listed file has the digest that every index which knows it has written down."""
        local = local_path(file.path)
        found = []
        for each in placed:
            known = each.index.catalog(deadline_s).find(file)
            if known is not None:
                found.append(known.digest)
            elif each.files[number]:
                # It was located, and now the index can't say what its digest is: its catalog was given up, and is not there again.
                return False
        if local is None:
            return all(self._trust.was_told(file, digest, cache) for digest in found)
        return all(self._trust.is_unchanged(local, digest) for digest in found)
