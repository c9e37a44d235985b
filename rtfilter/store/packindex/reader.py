"""One index as readers see it: its latest stable snapshot, loaded as far as verdicts need it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from rtfilter.errors import IndexStorageError
from rtfilter.store.packindex.catalog import Catalog, load_catalog
from rtfilter.store.packindex.datafiles import LoadedBatches, SketchFile, open_sketch_file
from rtfilter.store.packindex.log import ACTIVE, LogView, read_log
from rtfilter.store.packindex.snapshot import Snapshot, domain_of_column
from rtfilter.store.packindex.storage import IndexStorage
from rtfilter.store.sketches.arrays import Bools, Int64s
from rtfilter.store.sketches.asked import ValueTest
from rtfilter.store.sketches.domain import can_stand_for
from rtfilter.store.sketches.kinds import KINDS, Sketch
from rtfilter.store.sketches.outcomes import Outcome, partial

STORE_FOLDER = "_rtfilter"


class PackIndex:
    """The verdicts of one snapshot. What can't be read is told once to `problems` and leaves packs open."""

    def __init__(self, storage: IndexStorage, snapshot: Snapshot, number: int, loaded: LoadedBatches | None = None) -> None:
        self.storage, self.snapshot, self.number = storage, snapshot, number
        self.problems: dict[str, str] = {}
        self._loaded = LoadedBatches() if loaded is None else loaded
        self._catalog: Catalog | None = None
        self._files: dict[tuple[int, int], SketchFile | None] = {}
        self._segment_ends = np.cumsum([segment.packs.rows for segment in snapshot.segments], dtype=np.int64)

    @property
    def root(self) -> str:
        """The table's root as a path of this machine."""
        return table_root(self.storage.place, self.snapshot)

    def catalog(self) -> Catalog:
        """Files and packs, loaded at first use; none when the index's own files can't be read."""
        if self._catalog is None:
            try:
                self._catalog = load_catalog(self.storage, self.snapshot, self.root)
            except IndexStorageError as error:
                self.problems["catalog"] = str(error)
                self._catalog = Catalog((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), self.root)
        return self._catalog

    def column(self, name: str, spark_type: str, case_sensitive: bool) -> str | None:
        """The indexed column that a query means, None when there is none, or sketches made for another type."""
        if case_sensitive:
            found = [column for column in self.snapshot.definition.columns if column == name]
        else:
            found = [column for column in self.snapshot.definition.columns if column.lower() == name.lower()]
        if len(found) != 1 or not can_stand_for(self.snapshot.definition.types[found[0]], spark_type):
            return None
        return found[0]

    def judge(self, column: str, test: ValueTest, numbers: Int64s) -> Outcome:
        """The verdict of all sketches of an indexed column on the packs with these numbers.

        A sketch is asked only of packs that the cheaper ones have left.
        """
        outcome = partial(len(numbers))
        reject, accept = outcome.reject, outcome.accept
        for number, sketch in self._cheapest_first(column):
            for segment, places in self._by_segment(numbers, reject):
                file = self._sketch_file(segment, number, sketch)
                if file is not None:
                    first = int(self._segment_ends[segment]) - self.snapshot.segments[segment].packs.rows
                    self._judge_file(file, test, numbers[places] - first, places, (reject, accept))
        return outcome

    def _cheapest_first(self, column: str) -> Iterable[tuple[int, Sketch]]:
        order = list(KINDS)
        mine = [(i, sketch) for i, sketch in enumerate(self.snapshot.definition.sketches) if sketch.column == column]
        return sorted(mine, key=lambda each: order.index(each[1].kind))

    def _by_segment(self, numbers: Int64s, reject: Bools) -> Iterable[tuple[int, Int64s]]:
        """For each segment the places in `numbers` of its packs that are not rejected yet."""
        open_places = np.flatnonzero(~reject)
        if len(self._segment_ends) == 1:
            yield 0, open_places
            return
        segments = np.searchsorted(self._segment_ends, numbers[open_places], "right")
        for segment in np.unique(segments).tolist():
            yield segment, open_places[segments == segment]

    def _judge_file(self, file: SketchFile, test: ValueTest, rows: Int64s, places: Int64s, verdicts: tuple[Bools, Bools]) -> None:
        """Puts the verdict of one sketch file on its rows into `verdicts` at `places`."""
        reject, accept = verdicts
        groups = np.searchsorted(file.ends, rows, "right") if len(file.ends) > 1 else np.zeros(len(rows), dtype=np.int64)
        for group in np.unique(groups).tolist():
            mine = np.flatnonzero(groups == group) if len(file.ends) > 1 else slice(None)
            first = int(file.ends[group - 1]) if group else 0
            try:
                found = file.rows(group).judge(test, rows[mine] - first)
            except IndexStorageError as error:
                self.problems[f"row group {group}"] = str(error)
                continue
            reject[places[mine]] |= found.reject
            accept[places[mine]] |= found.accept

    def _sketch_file(self, segment: int, number: int, sketch: Sketch) -> SketchFile | None:
        key = (segment, number)
        if key not in self._files:
            try:
                domain = domain_of_column(self.snapshot.definition, sketch.column)
                file = self.snapshot.segments[segment].sketches[number]
                self._files[key] = open_sketch_file(self.storage, file, sketch, domain, self._loaded)
            except IndexStorageError as error:
                self.problems[f"{sketch.kind} {sketch.column}"] = str(error)
                self._files[key] = None
        return self._files[key]


def table_root(place: str, snapshot: Snapshot) -> str:
    """Where the table of an index in directory `place` is: what its log says, or around `_rtfilter`."""
    if snapshot.definition.root is not None:
        return snapshot.definition.root
    return os.path.dirname(os.path.dirname(os.path.abspath(place)))


def open_index(storage: IndexStorage, loaded: LoadedBatches | None = None) -> PackIndex | None:
    """The index in a place, None when there is none that readers may use.

    Raises:
        IndexStorageError: the place can't be listed.
    """
    view: LogView = read_log(storage)
    if view.state != ACTIVE or view.stable is None or view.snapshot is None:
        return None
    return PackIndex(storage, view.snapshot, view.stable.number, loaded)
