"""One index as readers see it: its latest stable snapshot, loaded as far as verdicts need it."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise

import numpy as np

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.catalog import Catalog, load_catalog
from rtfilter.store.index_files.data_files import LoadedBatches, SketchFile, open_sketch_file
from rtfilter.store.index_files.index_problems import INDEX_COMING, INDEX_SLOW, INDEX_TOO_LARGE, IndexProblem, problem_of
from rtfilter.store.index_files.log import ACTIVE, LogView, read_log
from rtfilter.store.index_files.open_limits import UNLIMITED, Allowance
from rtfilter.store.index_files.snapshot import Snapshot, domain_of_column
from rtfilter.store.index_files.storage import IndexFiles
from rtfilter.store.index_reading.background_opening import Openings
from rtfilter.store.parquet.paths import absolute
from rtfilter.store.sketches.arrays import At, Bools, Int64s
from rtfilter.store.sketches.column_tests import ValueTest
from rtfilter.store.sketches.domain import can_stand_for
from rtfilter.store.sketches.kinds import KINDS, Sketch
from rtfilter.store.sketches.outcomes import Outcome, partial
from rtfilter.store.sketches.rows import SketchRows

STORE_FOLDER = "_rtfilter"
_CATALOG = "catalog"

_log = logging.getLogger(__name__)


class PackIndex:
    """The verdicts of one snapshot, whose log entry has that `version`. What can't be read is told once to `problems` and leaves
    packs open."""

    def __init__(
        self,
        storage: IndexFiles,
        snapshot: Snapshot,
        version: str,
        loaded: LoadedBatches | None = None,
        openings: Openings | None = None,
    ) -> None:
        self.storage, self.snapshot, self.version = storage, snapshot, version
        self.problems: dict[str, IndexProblem] = {}
        self._loaded = LoadedBatches() if loaded is None else loaded
        # None: whoever has this index has asked for it, and waits.
        self._openings = openings
        self._catalog: Catalog | None = None
        # Sketch files by segment and number in the definition.
        self._unusable: set[tuple[int, int]] = set()
        self._segment_ends = np.cumsum([segment.packs.rows for segment in snapshot.segments], dtype=np.int64)

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells it from every other one that is open: its directory, where its data files come from, its version."""
        return self.storage.place, self.storage.cache_directory, self.version

    @property
    def root(self) -> str:
        """The table's root as a path of this machine."""
        return table_root(self.storage.place, self.snapshot)

    def catalog(self, deadline_s: float = math.inf) -> Catalog:
        """Files and packs, loaded at first use; none when the index's own files can't be read, or by `deadline_s` (monotonic)."""
        if self._catalog is not None:
            return self._catalog
        if self._openings is None:
            return self._load_catalog(UNLIMITED)
        kept = self._openings.catalogs.get(self.identity)
        if kept is not None:
            return kept
        try:
            what = f"catalog {self.version} {self.storage.cache_directory}"
            return self._openings.run(self.storage.place, what, self._load_catalog, deadline_s)
        except IndexStorageError as error:
            self._tell(_CATALOG, error)
            return self._nothing()

    def _load_catalog(self, allowance: Allowance) -> Catalog:
        """Loads and keeps the catalog. Raises IndexStorageError: it may not take so long, or so much memory."""
        held = None if self._openings is None else self._openings.catalogs
        most_bytes = math.inf if held is None else held.most_bytes / 2
        try:
            found = load_catalog(self.storage, self.snapshot, self.root, allowance, most_bytes)
        except IndexStorageError as error:
            if problem_of(error).reason in (INDEX_SLOW, INDEX_TOO_LARGE):
                raise
            self._tell(_CATALOG, error)
            self._catalog = self._nothing()
            return self._catalog
        if held is None:
            self._catalog = found
        else:
            held.put(self.identity, found, found.bytes)
        self.problems.pop(_CATALOG, None)
        return found

    def _nothing(self) -> Catalog:
        return Catalog((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), self.root)

    def _tell(self, what: str, error: IndexStorageError) -> None:
        problem = problem_of(error)
        if what not in self.problems:
            level = logging.INFO if problem.reason == INDEX_COMING else logging.WARNING
            _log.log(level, "index %s: %s Its packs are read.", self.snapshot.definition.name, error)
        self.problems[what] = problem

    def has_column(self, name: str, case_sensitive: bool) -> bool:
        """Whether a query's column is among those that are indexed, of whatever type."""
        return bool(self._named(name, case_sensitive))

    def _named(self, name: str, case_sensitive: bool) -> list[str]:
        columns = self.snapshot.definition.columns
        return [column for column in columns if column == name or (not case_sensitive and column.lower() == name.lower())]

    def column(self, name: str, spark_type: str, case_sensitive: bool) -> str | None:
        """The indexed column that a query means, None when there is none, or sketches made for another type."""
        found = self._named(name, case_sensitive)
        if len(found) != 1 or not can_stand_for(self.snapshot.definition.types[found[0]], spark_type):
            return None
        return found[0]

    def judge(
        self, column: str, test: ValueTest, numbers: Int64s, *, accepts: bool = True, deadline_s: float = math.inf
    ) -> Outcome:
        """The verdict of all sketches of an indexed column on the packs with these numbers.

        A sketch is asked only of packs that the cheaper ones have left; without `accepts` none is found to be accepted. What is not
        read by `deadline_s` (of time.monotonic) is not asked: its packs stay open.
        """
        if not bool(np.all(numbers[1:] > numbers[:-1])):
            distinct, places = np.unique(numbers, return_inverse=True)
            found = self.judge(column, test, distinct, accepts=accepts, deadline_s=deadline_s)
            return Outcome(found.reject[places], found.accept[places])
        outcome = partial(len(numbers))
        with self._reading():
            self._judge_rising(column, test, numbers, outcome, accepts, deadline_s)
        return outcome

    def _reading(self) -> AbstractContextManager[None]:
        return nullcontext() if self._openings is None else self._openings.reading(self.storage.place)

    def _judge_rising(
        self, column: str, test: ValueTest, numbers: Int64s, outcome: Outcome, accepts: bool, deadline_s: float
    ) -> None:
        """Adds to an outcome the verdict on packs whose numbers rise."""
        for number, sketch in self._cheapest_first(column):
            first = 0
            for segment, (begin, end) in enumerate(_spans(numbers, self._segment_ends)):
                is_asked = begin < end and time.monotonic() <= deadline_s
                file = self._sketch_file(segment, number, sketch) if is_asked else None
                if file is not None:
                    part = Outcome(outcome.reject[begin:end], outcome.accept[begin:end])
                    self._judge_file(file, test, numbers[begin:end] - first, part, accepts, deadline_s)
                first = int(self._segment_ends[segment])

    def tells(self, column: str, numbers: Int64s) -> Bools:
        """Which of the packs with these numbers some sketch of a column holds anything of, as far as sketches can be read."""
        told = np.zeros(len(numbers), dtype=np.bool_)
        with self._reading():
            for number, sketch in self._cheapest_first(column):
                first = 0
                for segment, end in enumerate(self._segment_ends.tolist()):
                    here = np.flatnonzero((numbers >= first) & (numbers < end))
                    file = self._sketch_file(segment, number, sketch) if len(here) else None
                    if file is not None:
                        told[here] |= _told(file, numbers[here] - first)
                    first = end
        return told

    def _cheapest_first(self, column: str) -> Iterable[tuple[int, Sketch]]:
        order = list(KINDS)
        mine = [(i, sketch) for i, sketch in enumerate(self.snapshot.definition.sketches) if sketch.column == column]
        return sorted(mine, key=lambda each: order.index(each[1].kind))

    def _judge_file(
        self, file: SketchFile, test: ValueTest, rows: Int64s, verdicts: Outcome, accepts: bool, deadline_s: float
    ) -> None:
        """Adds the verdict of one sketch file on these rows of it, in rising order, to what is there."""
        first = 0
        for group, (begin, end) in enumerate(_spans(rows, file.ends)):
            reject, accept = verdicts.reject[begin:end], verdicts.accept[begin:end]
            asked = rows[begin:end] - first if bool(reject.any()) else _next_to_each_other(rows[begin:end] - first)
            still_open = slice(None) if isinstance(asked, slice) or not bool(reject.any()) else np.flatnonzero(~reject)
            first = int(file.ends[group])
            if begin == end or bool(reject.all()):
                continue
            if time.monotonic() > deadline_s:
                return
            try:
                at = asked if isinstance(asked, slice) else asked[still_open]
                found = _judged_in_time(file.rows(group), test, at, accepts, deadline_s)
            except IndexStorageError as error:
                self._tell("row groups", error)
                continue
            reject[still_open] |= found.reject
            accept[still_open] |= found.accept

    def _sketch_file(self, segment: int, number: int, sketch: Sketch) -> SketchFile | None:
        if (segment, number) in self._unusable:
            return None
        key = (*self.identity, segment, number)
        found = self._loaded.file(key)
        if found is None:
            try:
                domain = domain_of_column(self.snapshot.definition, sketch.column)
                file = self.snapshot.segments[segment].sketches[number]
                found = open_sketch_file(self.storage, file, sketch, domain, self._loaded)
            except IndexStorageError as error:
                self._tell(f"{sketch.kind} {sketch.column}", error)
                self._unusable.add((segment, number))
                return None
            self._loaded.put_file(key, found)
        return found


def _told(file: SketchFile, rows: Int64s) -> Bools:
    """Of these rows of a sketch file, in any order, those that say something."""
    told = np.zeros(len(rows), dtype=np.bool_)
    first = 0
    for group, end in enumerate(file.ends.tolist()):
        here = np.flatnonzero((rows >= first) & (rows < end))
        if len(here):
            try:
                found = file.rows(group)
            except IndexStorageError:
                continue
            told[here] = (found.told | found.no_value)[rows[here] - first]
        first = end
    return told


def _judged_in_time(rows: SketchRows, test: ValueTest, at: At, accepts: bool, deadline_s: float) -> Outcome:
    """The verdict on these packs; what is not judged by the deadline stays open."""
    at_once = rows.packs_at_once(test)
    numbers = np.arange(at.start, at.stop) if isinstance(at, slice) else at
    if len(numbers) <= at_once:
        return rows.judge(test, at, accepts=accepts)
    found = partial(len(numbers))
    for begin in range(0, len(numbers), at_once):
        if time.monotonic() > deadline_s:
            break
        here = slice(begin, begin + at_once)
        judged = rows.judge(test, numbers[here], accepts=accepts)
        found.reject[here], found.accept[here] = judged.reject, judged.accept
    return found


def _spans(numbers: Int64s, ends: Int64s) -> list[tuple[int, int]]:
    """For each part, which ends before `ends[i]`, the places in the rising numbers that belong to it."""
    cuts = [0, *np.searchsorted(numbers, ends).tolist()]
    return list(pairwise(cuts))


def _next_to_each_other(numbers: Int64s) -> At:
    """Rising numbers as a slice, when there is no gap between them."""
    if len(numbers) and int(numbers[-1]) - int(numbers[0]) + 1 == len(numbers):
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


def table_root(place: str, snapshot: Snapshot) -> str:
    """Where the table of an index in directory `place` is: what its log says, or around `_rtfilter`."""
    if snapshot.definition.root is not None:
        return snapshot.definition.root
    return os.path.dirname(os.path.dirname(absolute(place)))


def open_index(storage: IndexFiles, loaded: LoadedBatches | None = None) -> PackIndex | None:
    """The index in a place, None when there is none that readers may use.

    Raises:
        IndexStorageError: the place can't be listed.
    """
    view: LogView = read_log(storage)
    if view.state != ACTIVE or view.stable is None or view.snapshot is None:
        return None
    return PackIndex(storage, view.snapshot, view.stable.version, loaded)
