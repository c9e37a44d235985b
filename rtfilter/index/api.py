"""`rtfilter.Index`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from pyspark.sql import SparkSession

from rtfilter.errors import IndexDefinitionError, IndexStateError, RtFilterError
from rtfilter.index.index_places import as_spark_reads, file_access, session_location, storage_at
from rtfilter.index.spark_runner import SparkRunner
from rtfilter.index.stats import IndexStats, stats_of
from rtfilter.index.tables import file_of, is_path, listed_table, root_of, typed_table
from rtfilter.report_table import Table
from rtfilter.store.index_actions import actions, made_indexes
from rtfilter.store.index_actions.build import BuildReport, LocalRunner, Runner, Tell, silent
from rtfilter.store.index_actions.listing import ListedTable, index_place
from rtfilter.store.index_files import log
from rtfilter.store.index_files.snapshot import Definition, Snapshot
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.index_reading.found_index import OF_FILE, file_of_index
from rtfilter.store.parquet.paths import absolute, is_remote
from rtfilter.store.remote.remote_table import RemoteSketching
from rtfilter.store.sketches.kinds import Sketch

# Smaller tables are read by the driver before a Spark job would have its first result.
SPARK_JOB_FROM_BYTES = 256 << 20
# How often a table is listed for one action, when other writers end theirs in between.
_MOST_LISTINGS = 5

Done = TypeVar("Done")


class Index:
    """An index of a table: sketches of its row groups, with which joins skip those that footers can't rule out.

    Objects are handles: every call looks at the index as it is on disk then.
    """

    def __init__(self, spark: SparkSession | None, table: str, name: str, storage: IndexStorage) -> None:
        self._spark, self._storage = spark, storage
        self.table, self.name = table, name
        self.last_build: BuildReport | None = None

    @classmethod
    def create(
        cls,
        spark: SparkSession | None,
        table: str,
        sketches: Sequence[Sketch],
        *,
        name: str,
        location: str | None = None,
        tell: Tell = silent,
    ) -> Index:
        """Builds an index of a table (a path, or a name of the catalog), by a Spark job unless the table is small.

        Args:
            spark: None builds in this process's threads, whatever the size.
            location: The directory for it; None: `rtfilter.store.location` of the session, else `_rtfilter` in the table's root.
            tell: Is called with the progress of the build.

        Raises:
            IndexDefinitionError: there is no such table or column, or a sketch does not fit.
            IndexStateError: there is an index of that name, of this table or in a shared location, or somebody else makes one.
            IndexStorageError: the table or the index is on a filesystem that can't be used.
        """
        if not sketches:
            raise IndexDefinitionError("an index needs a list of one sketch or more, such as [MinMax('a'), Bloom('b')].")
        if len(set(sketches)) != len(sketches):
            raise IndexDefinitionError(f"a sketch is there twice: {', '.join(map(repr, sketches))}.")
        table = as_spark_reads(spark, table) if is_path(table) else table
        typed = typed_table(spark, table)
        place = _location(spark, location)
        definition = Definition(
            name, _lasting_name(table), typed.listed.root if place else None, tuple(sketches), typed.types_for(sketches)
        )
        index = cls(spark, table, name, _storage_of(spark, table, place, typed.listed.root, name))
        _require_own(index._storage, typed.listed.root, table)
        index.last_build = actions.create(index._storage, definition, typed.listed, index._runner(typed.listed), tell)
        index._remember()
        return index

    @classmethod
    def load(cls, spark: SparkSession | None, table: str, name: str, *, location: str | None = None) -> Index:
        """The index of a table by its name.

        Raises:
            IndexDefinitionError: the table does not exist.
            IndexStateError: it has no index of that name, or a location that tables share has one of another table.
        """
        table = as_spark_reads(spark, table) if is_path(table) else table
        root = root_of(spark, table)
        storage = _storage_of(spark, table, _location(spark, location), root, name)
        if log.read_log(storage).latest is None:
            if made_indexes.is_lost(storage.place):
                raise _lost(name, table)
            raise IndexStateError(f"the table {table!r} has no index {name!r} in {storage.place}; use create, or look at list.")
        _require_own(storage, root, table)
        return cls(spark, table, name, storage)

    @classmethod
    def at(cls, spark: SparkSession | None, place: str) -> Index:
        """The index in a directory of a store. Raises IndexStateError."""
        storage = storage_at(spark, place)
        snapshot = log.read_log(storage).snapshot
        if snapshot is None:
            raise IndexStateError(f"there is no index in {place} that can be read.")
        table = snapshot.definition.table
        if snapshot.definition.root is None and is_path(table):
            # The table may have moved, and its index with it.
            folder, file = os.path.dirname(os.path.dirname(absolute(place))), file_of_index(place)
            table = folder if file is None else os.path.join(folder, file)
        return cls(spark, table, os.path.basename(place).partition(OF_FILE)[0], storage)

    @property
    def place(self) -> str:
        """The directory of the index."""
        return self._storage.place

    @property
    def state(self) -> str:
        """ACTIVE, DELETED, DOES_NOT_EXIST, or GONE: it was inside its table, and somebody has overwritten that.

        An action under way does not show here but in `stats()`.
        """
        view = log.read_log(self._storage)
        return made_indexes.GONE if view.latest is None and made_indexes.is_lost(self.place) else view.state

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        """What it holds."""
        snapshot = self._snapshot()
        return () if snapshot is None else snapshot.definition.sketches

    def refresh(self, mode: str = "incremental", *, tell: Tell = silent) -> BuildReport:
        """Brings the index up to its table: `full` reads all files, `incremental` new and changed ones, `quick` none.

        Quick drops what is gone and notes how far the table has moved on.

        Raises:
            IndexDefinitionError: an unknown mode, or the table is gone.
            IndexStateError: the index is not active, or somebody else is at it.
            IndexStorageError: the table or the index can't be read or written.
        """

        def refreshed(table: ListedTable, listed_at: int) -> BuildReport:
            return actions.refresh(self._storage, mode, table, self._runner(table), tell, listed_at)

        if self.state == made_indexes.GONE:
            raise _lost(self.name, self.table)
        self.last_build = self._on_latest_list(refreshed)
        self._remember()
        return self.last_build

    def optimize(self, mode: str = "quick") -> int:
        """Merges what refreshes have added, `quick` small parts, `full` all. Gives the number of parts left. Raises as refresh."""
        return self._on_latest_list(lambda table, listed_at: actions.optimize(self._storage, mode, table, listed_at))

    def delete(self) -> None:
        """Takes the index out of use; its files stay. One that is GONE is not told of any more. Raises IndexStateError."""
        if self.state == made_indexes.GONE:
            made_indexes.forget(self.place)
            return
        actions.delete(self._storage)

    def restore(self) -> None:
        """Brings a deleted index back. Raises IndexStateError, IndexStorageError."""
        actions.restore(self._storage)

    def vacuum(self) -> int:
        """Removes files that no snapshot needs; all of them once the index is deleted. Gives how many. Raises IndexStateError."""
        removed = actions.vacuum(self._storage)
        if log.read_log(self._storage).state == log.DOES_NOT_EXIST:
            made_indexes.forget(self.place)
        return removed

    def cancel(self) -> str:
        """Ends an action whose writer died or is to stop; gives the state that is back. Raises IndexStateError."""
        return log.cancel(self._storage).state

    def stats(self) -> IndexStats:
        """State, size by sketch in bytes, files, packs, and how many files of the table are not indexed as they are now."""
        try:
            table: ListedTable | None = self._table()
        except RtFilterError:
            table = None
        stats = stats_of(self._storage, self.name, self.table, table)
        return IndexStats({**stats, "state": self.state})

    def __repr__(self) -> str:
        return f"Index({self.name!r} of {self.table!r}: {self.state}, {', '.join(map(repr, self.sketches)) or 'no sketches'})"

    def _repr_html_(self) -> str:
        try:
            return self.stats()._repr_html_()
        except RtFilterError as error:  # its place can't be read, say; a notebook would show nothing but a trace
            return Table(f"index {self.name} of {self.table}", (), (), empty=str(error)).html()

    def _remember(self) -> None:
        """An index in a location of its own stays when its table is overwritten."""
        snapshot = self._snapshot()
        if snapshot is not None and snapshot.definition.root is None:
            made_indexes.remember(self.place)

    def _snapshot(self) -> Snapshot | None:
        return log.read_log(self._storage).snapshot

    def _on_latest_list(self, act: Callable[[ListedTable, int], Done]) -> Done:
        """Acts on a list of the table that no other action is newer than, listing it again where one was."""
        for _ in range(_MOST_LISTINGS - 1):
            listed_at = log.read_log(self._storage).number
            with suppress(log.MovedOnError):
                return act(self._table(), listed_at)
        listed_at = log.read_log(self._storage).number
        return act(self._table(), listed_at)

    def _table(self) -> ListedTable:
        return listed_table(self._spark, self.table)

    def _runner(self, table: ListedTable) -> Runner:
        files = file_access(self._spark, table.root) if is_remote(table.root) else None
        if self._spark is None or table.bytes < SPARK_JOB_FROM_BYTES or not _is_classic(self._spark):
            return LocalRunner() if files is None else LocalRunner(sketch=RemoteSketching(files))
        return SparkRunner(self._spark, files)


def _is_classic(spark: SparkSession) -> bool:
    """A Spark Connect client has no context to run tasks with; its own process reads the table then."""
    try:
        return spark.sparkContext is not None
    except Exception:  # pyspark raises different kinds for an attribute that Connect lacks
        return False


def _lost(name: str, table: str) -> IndexStateError:
    return IndexStateError(
        f"the index {name!r} of {table!r} is gone: it was inside the table, and somebody has overwritten that. Make it anew with "
        "create, and set rtfilter.store.location for tables that are overwritten."
    )


def _require_own(storage: IndexStorage, root: str, table: str) -> None:
    """In a location that tables share a name may be another table's: refreshing that index would put this table's packs into it."""
    snapshot = log.read_log(storage).snapshot
    owner = None if snapshot is None else snapshot.definition
    if owner is not None and owner.root is not None and absolute(owner.root) != absolute(root):
        raise IndexStateError(
            f"{storage.place} is an index of the table {owner.table!r} in {owner.root}, not of {table!r} in {root}; give the "
            "index of each table a name of its own."
        )


def _storage_of(spark: SparkSession | None, table: str, location: str, root: str, name: str) -> IndexStorage:
    """The storage of a table's index. That of a single file may still be where it was until 2026-11."""
    file = file_of(spark, table)
    storage = storage_at(spark, index_place(location, root, name, file))
    if file is not None and log.read_log(storage).latest is None:
        before = storage_at(spark, index_place(location, root, name))
        if is_of_file(log.read_log(before).snapshot, table):
            return before
    return storage


def is_of_file(snapshot: Snapshot | None, table: str) -> bool:
    """Whether an index was made of this file by its path."""
    return snapshot is not None and absolute(snapshot.definition.table) == absolute(table)


def _location(spark: SparkSession | None, location: str | None) -> str:
    return session_location(spark) if location is None else location


def _lasting_name(table: str) -> str:
    return os.path.abspath(table) if is_path(table) and ":" not in table else table
