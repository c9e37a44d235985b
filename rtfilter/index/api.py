"""`rtfilter.Index`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from rtfilter.errors import IndexDefinitionError
from rtfilter.index.index_places import as_spark_reads, file_access, storage_at
from rtfilter.index.spark_runner import SparkRunner
from rtfilter.index.stats import IndexStats, stats_of
from rtfilter.index.stored_handle import StoredHandle, lasting_name, location_of
from rtfilter.index.tables import file_of, is_path, root_of, typed_table
from rtfilter.store.index_actions import actions
from rtfilter.store.index_actions.build import BuildReport, LocalRunner, Runner, Tell, silent
from rtfilter.store.index_actions.listing import ListedTable, index_place
from rtfilter.store.index_files import log
from rtfilter.store.index_files.snapshot import Definition, Snapshot
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.parquet.paths import absolute, is_remote
from rtfilter.store.remote.remote_table import RemoteSketching
from rtfilter.store.sketches.kinds import Sketch

# Smaller tables are read by the driver before a Spark job would have its first result.
SPARK_JOB_FROM_BYTES = 256 << 20


class Index(StoredHandle):
    """An index of a table: sketches of its row groups, with which joins skip those that footers can't rule out.

    Objects are handles: every call looks at the index as it is on disk then.
    """

    def __init__(self, spark: SparkSession | None, table: str, name: str, storage: IndexStorage) -> None:
        super().__init__(spark, table, name, storage)
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
        place = location_of(spark, location)
        definition = Definition(
            name, lasting_name(table), typed.listed.root if place else None, tuple(sketches), typed.types_for(sketches)
        )
        index = cls(spark, table, name, _storage_of(spark, table, place, typed.listed.root, name))
        index._require_own(typed.listed.root)
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
        storage = _storage_of(spark, table, location_of(spark, location), root, name)
        index = cls(spark, table, name, storage)
        index._require_there(root)
        return index

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

        self._require_not_lost()
        self.last_build = self._on_latest_list(refreshed)
        self._remember()
        return self.last_build

    def optimize(self, mode: str = "quick") -> int:
        """Merges what refreshes have added, `quick` small parts, `full` all. Gives the number of parts left. Raises as refresh."""
        return self._on_latest_list(lambda table, listed_at: actions.optimize(self._storage, mode, table, listed_at))

    def stats(self) -> IndexStats:
        """State, size by sketch in bytes, files, packs, and how many files of the table are not indexed as they are now."""
        stats = stats_of(self._storage, self.name, self.table, self._table_or_none())
        return IndexStats({**stats, "state": self.state})

    def __repr__(self) -> str:
        return f"Index({self.name!r} of {self.table!r}: {self.state}, {', '.join(map(repr, self.sketches)) or 'no sketches'})"

    def _repr_html_(self) -> str:
        return self._html(lambda: self.stats()._repr_html_())

    def _snapshot(self) -> Snapshot | None:
        return log.read_log(self._storage).snapshot

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
