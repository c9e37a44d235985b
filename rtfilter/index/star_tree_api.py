"""`rtfilter.StarTree`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self, overload

from pyspark.sql import SparkSession

from rtfilter.errors import IndexDefinitionError, IndexStateError
from rtfilter.index.index_places import as_spark_reads, file_access, session_option, storage_at
from rtfilter.index.star_tree_base import LocalReader, SparkReader
from rtfilter.index.star_tree_stats import TreeStats, tree_stats
from rtfilter.index.stored_handle import StoredHandle, lasting_name, location_of
from rtfilter.index.tables import file_of, is_path, root_of, typed_table
from rtfilter.star_tree.actions import tree_actions
from rtfilter.star_tree.actions.estimate import TreeEstimate, estimate_tree
from rtfilter.star_tree.actions.row_limit import DEFAULT, NO_LIMIT, row_limit
from rtfilter.star_tree.actions.table_reader import Say, TableReader, silent
from rtfilter.star_tree.actions.tree_actions import TreeReport
from rtfilter.star_tree.build import MAX_LEAF
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.tree_table import check_dimensions
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.index_files.tree_snapshot import LARGEST_LEAF, TreeDefinition, TreeSnapshot
from rtfilter.store.index_reading.found_index import file_of_index
from rtfilter.store.parquet.paths import is_remote
from rtfilter.store.tree_places import store_of_tree, tree_place, tree_places, trees_folder

# Longer than most queries run that read a tree.
RUNNING_S = 3_600.0


class StarTree(StoredHandle):
    """A star-tree of a table: its rows aggregated by some dimensions, which answer aggregates instead of the table's own rows."""

    KIND = "star-tree"
    ONE = "a star-tree"

    def __init__(self, spark: SparkSession | None, table: str, name: str, storage: IndexStorage) -> None:
        super().__init__(spark, table, name, storage)
        self.last_build: TreeReport | None = None

    @overload
    @classmethod
    def create(
        cls,
        spark: SparkSession | None,
        table: str,
        dimensions: Sequence[str],
        measures: Sequence[str],
        *,
        name: str,
        max_leaf: int = ...,
        no_star: Sequence[str] = ...,
        max_rows: str | int = ...,
        dry_run: Literal[False] = ...,
        location: str | None = ...,
        say: Say = ...,
    ) -> Self: ...

    @overload
    @classmethod
    def create(
        cls,
        spark: SparkSession | None,
        table: str,
        dimensions: Sequence[str],
        measures: Sequence[str],
        *,
        name: str,
        max_leaf: int = ...,
        no_star: Sequence[str] = ...,
        max_rows: str | int = ...,
        dry_run: Literal[True],
        location: str | None = ...,
        say: Say = ...,
    ) -> TreeEstimate: ...

    @classmethod
    def create(
        cls,
        spark: SparkSession | None,
        table: str,
        dimensions: Sequence[str],
        measures: Sequence[str],
        *,
        name: str,
        max_leaf: int = MAX_LEAF,
        no_star: Sequence[str] = (),
        max_rows: str | int = DEFAULT,
        dry_run: bool = False,
        location: str | None = None,
        say: Say = silent,
    ) -> Self | TreeEstimate:
        """Builds a star-tree of a table (a path, or a name of the catalog).

        Args:
            spark: Groups the table's rows; None: this process does, for small tables without partition columns.
            dimensions: 1 to 12 columns, in the order in which the tree splits: those with many values first.
            measures: Texts such as "count(*)", "sum(price)", "avg(price)", "min(day)", "theta_sketch_agg(user, 12)".
            max_leaf: So many rows are read one by one at most; more are split further. 0 is the default, 10,000.
            no_star: Dimensions that every query names, whose values need not be summed up.
            max_rows: A share of the table's rows, such as "10%", or a number: a tree of more is refused.
            dry_run: Gives an estimate, and stores nothing.
            location: The directory for it; None: `rtfilter.store.location` of the session, else `_rtfilter` in the table's root.
            say: Is called with the progress of the build.

        Raises:
            IndexDefinitionError: there is no such table or column, something can't be held exactly, or the tree would be too large.
            IndexStateError: there is a tree of that name, or an equal one of another, or somebody else makes one.
            IndexStorageError: the table or the tree can't be read or written, or the table changes meanwhile.
        """
        limit = row_limit(max_rows)
        table = as_spark_reads(spark, table) if is_path(table) else table
        typed = typed_table(spark, table)
        place = location_of(spark, location)
        root = typed.listed.root if place else None
        floats = bool(session_option(spark, "rtfilter.startree.floats"))
        definition = tree_definition(name, lasting_name(table), root, dimensions, measures, typed.types, max_leaf, no_star, floats)
        storage = _storage_of(spark, table, place, typed.listed.root, name)
        tree = cls(spark, table, name, storage)
        tree._require_own(typed.listed.root)
        tree._require_no_equal(definition)
        if dry_run:
            return estimate_tree(definition, tree._reader(), limit, say)
        tree.last_build = tree_actions.create(storage, definition, tree._reader(), limit, say)
        tree._remember()
        return tree

    @classmethod
    def load(cls, spark: SparkSession | None, table: str, name: str, *, location: str | None = None) -> Self:
        """The star-tree of a table by its name.

        Raises:
            IndexDefinitionError: the table does not exist.
            IndexStateError: it has no star-tree of that name, or a location that tables share has one of another table.
        """
        table = as_spark_reads(spark, table) if is_path(table) else table
        root = root_of(spark, table)
        tree = cls(spark, table, name, _storage_of(spark, table, location_of(spark, location), root, name))
        tree._require_there(root)
        return tree

    @classmethod
    def home_in(cls, store: str) -> str:
        """The directory of a store in which each star-tree has a directory of its own."""
        return trees_folder(store)

    @classmethod
    def _store_of(cls, place: str) -> str:
        return store_of_tree(place)

    @staticmethod
    def held_by(view: log.LogView) -> TreeSnapshot | None:
        """The star-tree that a log holds."""
        return view.tree

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Its dimensions, in split order."""
        snapshot = self.held_by(log.read_log(self._storage))
        return () if snapshot is None else snapshot.definition.dimensions

    @property
    def measures(self) -> tuple[str, ...]:
        """What it holds of each group."""
        snapshot = self.held_by(log.read_log(self._storage))
        return () if snapshot is None else snapshot.definition.measures

    def refresh(self, mode: str = "incremental", *, say: Say = silent) -> TreeReport:
        """Brings the star-tree up to its table: `incremental` reads new and changed files, `full` all.

        Raises:
            IndexDefinitionError: an unknown mode, or the table is gone or has other columns now.
            IndexStateError: the tree is not active, or somebody else is at it.
            IndexStorageError: the table or the tree can't be read or written, or the table changes meanwhile.
        """
        self._require_not_lost()
        self.last_build = tree_actions.refresh(self._storage, mode, self._reader(), NO_LIMIT, say)
        self._remember()
        return self.last_build

    def optimize(self, *, say: Say = silent) -> int:
        """Makes one segment of what refreshes have added. Gives the number of segments left. Raises as refresh."""
        return tree_actions.optimize(self._storage, self._reader(), say)

    def vacuum(self, keep_s: float = RUNNING_S) -> int:
        """Removes files that no snapshot needs; all of them once it is deleted. Gives how many. Raises IndexStateError.

        Args:
            keep_s: Seconds for which files stay that were replaced: queries read a tree's files themselves, and may be running.
        """
        return self._vacuum(keep_s)

    def stats(self) -> TreeStats:
        """State, dimensions, measures, rows, size in bytes, and how many files of the table are covered as they are now."""
        stats = tree_stats(self._storage, self.name, self.table, self._table_or_none())
        return TreeStats({**stats, "state": self.state})

    def __repr__(self) -> str:
        what = f"{', '.join(self.measures)} by {', '.join(self.dimensions)}" if self.dimensions else "nothing"
        return f"StarTree({self.name!r} of {self.table!r}: {self.state}, {what})"

    def _repr_html_(self) -> str:
        return self._html(lambda: self.stats()._repr_html_())

    def _reader(self) -> TableReader:
        return LocalReader(self.table) if self._spark is None else SparkReader(self._spark, self.table)

    def _require_no_equal(self, definition: TreeDefinition) -> None:
        """Raises IndexStateError: the table has an active star-tree that holds the same."""
        store = store_of_tree(self.place)
        access = file_access(self._spark, store) if is_remote(store) else None
        for place in tree_places([store], access):
            view = log.read_log(storage_at(self._spark, place))
            other = None if view.tree is None or view.state != log.ACTIVE else view.tree.definition
            if other is None or place == self.place or file_of_index(place) != file_of_index(self.place):
                continue
            if other.root == definition.root and other.is_equal_tree(definition):
                raise IndexStateError(
                    f"the star-tree {other.name!r} of {self.table!r} holds the same: {', '.join(other.measures)} by "
                    f"{', '.join(other.dimensions)}, max_leaf {other.max_leaf}. Use that one, or ask for something else."
                )


def tree_definition(
    name: str,
    table: str,
    root: str | None,
    dimensions: Sequence[str],
    measures: Sequence[str],
    types: Mapping[str, str],
    max_leaf: int,
    no_star: Sequence[str],
    floats: bool,
) -> TreeDefinition:
    """A definition of what a user asked for.

    Raises:
        IndexDefinitionError: something of it can't be.
    """
    for given, what in ((dimensions, "dimensions"), (measures, "measures"), (no_star, "no_star")):
        if isinstance(given, str):
            raise IndexDefinitionError(f"{what}={given!r} is one text; give a list of texts.")
    if type(max_leaf) is not int or max_leaf > LARGEST_LEAF:
        raise IndexDefinitionError(f"max_leaf={max_leaf!r} is no number of rows up to {LARGEST_LEAF}.")
    check_dimensions(dimensions, types, no_star)
    parsed = parse_measures(measures, types, floats=floats)
    texts = tuple(map(str, parsed))
    if parse_measures(texts, types, floats=floats) != parsed:
        raise IndexDefinitionError(f"one of the measures {', '.join(texts)} is of a column whose name is no plain text; rename it.")
    if len(set(no_star)) != len(no_star):
        raise IndexDefinitionError(f"no_star={list(no_star)!r} names a dimension twice.")
    used = {*dimensions, *(each.column for each in parsed if each.column is not None)}
    kept = {column: spark_type for column, spark_type in types.items() if column in used}
    leaf = max_leaf if max_leaf > 0 else MAX_LEAF
    return TreeDefinition(name, table, root, tuple(dimensions), texts, leaf, tuple(no_star), kept, floats)


def _storage_of(spark: SparkSession | None, table: str, location: str, root: str, name: str) -> IndexStorage:
    return storage_at(spark, tree_place(location, root, name, file_of(spark, table)))
