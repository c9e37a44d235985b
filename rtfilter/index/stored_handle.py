"""What `rtfilter.Index` and `rtfilter.StarTree` have in common: the life of what is stored in a directory of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Self, TypeVar

from pyspark.sql import SparkSession

from rtfilter.errors import IndexStateError, RtFilterError
from rtfilter.index.index_places import session_location, storage_at
from rtfilter.index.tables import is_path, listed_table
from rtfilter.report_table import Table
from rtfilter.store.index_actions import actions, made_indexes
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files import log
from rtfilter.store.index_files.storage import IndexStorage
from rtfilter.store.index_reading.found_index import OF_FILE, file_of_index
from rtfilter.store.parquet.paths import absolute

# How often a table is listed for one action, when other writers end theirs in between.
_MOST_LISTINGS = 5

Done = TypeVar("Done")


class StoredHandle:
    """Objects are handles: every call looks at what is on disk then."""

    KIND: ClassVar[str] = "index"
    ONE: ClassVar[str] = "an index"

    def __init__(self, spark: SparkSession | None, table: str, name: str, storage: IndexStorage) -> None:
        self._spark, self._storage = spark, storage
        self.table, self.name = table, name

    @classmethod
    def at(cls, spark: SparkSession | None, place: str) -> Self:
        """What is in a directory of a store. Raises IndexStateError."""
        storage = storage_at(spark, place)
        held = cls.held_by(log.read_log(storage))
        if held is None:
            raise IndexStateError(f"there is no {cls.KIND} in {place} that can be read.")
        table = held.definition.table
        if held.definition.root is None and is_path(table):
            # The table may have moved, and what is inside it too.
            folder, file = os.path.dirname(cls._store_of(place)), file_of_index(place)
            table = folder if file is None else os.path.join(folder, file)
        return cls(spark, table, os.path.basename(place).partition(OF_FILE)[0], storage)

    @classmethod
    def home_in(cls, store: str) -> str:
        """The directory of a store in which each has a directory of its own."""
        return store

    @classmethod
    def _store_of(cls, place: str) -> str:
        return os.path.dirname(absolute(place))

    @staticmethod
    def held_by(view: log.LogView) -> log.Held | None:
        """What a log holds, if that is of this kind."""
        return view.snapshot

    @property
    def place(self) -> str:
        """Its directory."""
        return self._storage.place

    @property
    def state(self) -> str:
        """ACTIVE, DELETED, DOES_NOT_EXIST, or GONE: it was inside its table, and somebody has overwritten that.

        An action under way does not show here but in `stats()`.
        """
        view = log.read_log(self._storage)
        return made_indexes.GONE if view.latest is None and made_indexes.is_lost(self.place) else view.state

    def delete(self) -> None:
        """Takes it out of use; its files stay. One that is GONE is not told of any more. Raises IndexStateError."""
        if self.state == made_indexes.GONE:
            made_indexes.forget(self.place)
            return
        actions.delete(self._storage)

    def restore(self) -> None:
        """Brings it back after a delete. Raises IndexStateError, IndexStorageError."""
        actions.restore(self._storage)

    def vacuum(self) -> int:
        """Removes files that no snapshot needs; all of them once it is deleted. Gives how many. Raises IndexStateError."""
        return self._vacuum()

    def _vacuum(self, keep_s: float = 0.0) -> int:
        removed = actions.vacuum(self._storage, keep_s)
        if log.read_log(self._storage).state == log.DOES_NOT_EXIST:
            made_indexes.forget(self.place)
        return removed

    def cancel(self) -> str:
        """Ends an action whose writer died or is to stop; gives the state that is back. Raises IndexStateError."""
        return log.cancel(self._storage).state

    def _remember(self) -> None:
        """What is in a location of its own stays when its table is overwritten."""
        held = log.read_log(self._storage).held
        if held is not None and held.definition.root is None:
            made_indexes.remember(self.place)

    def _require_not_lost(self) -> None:
        if self.state == made_indexes.GONE:
            raise lost(self.KIND, self.name, self.table)

    def _require_there(self, root: str) -> None:
        """Raises IndexStateError: there is nothing of this name, or something of another table."""
        if log.read_log(self._storage).latest is None:
            if made_indexes.is_lost(self.place):
                raise lost(self.KIND, self.name, self.table)
            raise IndexStateError(
                f"the table {self.table!r} has no {self.KIND} {self.name!r} in {self.place}; use create, or look at list."
            )
        self._require_own(root)

    def _require_own(self, root: str) -> None:
        """In a location that tables share a name may be another table's: a refresh would put this table's files into it."""
        held = log.read_log(self._storage).held
        owner = None if held is None else held.definition
        if owner is not None and owner.root is not None and absolute(owner.root) != absolute(root):
            raise IndexStateError(
                f"{self.place} is {self.ONE} of the table {owner.table!r} in {owner.root}, not of {self.table!r} in {root}; "
                f"give the {self.KIND} of each table a name of its own."
            )

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

    def _table_or_none(self) -> ListedTable | None:
        try:
            return self._table()
        except RtFilterError:
            return None

    def _html(self, stats: Callable[[], str]) -> str:
        try:
            return stats()
        except RtFilterError as error:  # its place can't be read, say; a notebook would show nothing but a trace
            return Table(f"{self.KIND} {self.name} of {self.table}", (), (), empty=str(error)).html()


def lost(kind: str, name: str, table: str) -> IndexStateError:
    """The error for what was inside a table that somebody has overwritten."""
    return IndexStateError(
        f"the {kind} {name!r} of {table!r} is gone: it was inside the table, and somebody has overwritten that. Make it anew with "
        "create, and set rtfilter.store.location for tables that are overwritten."
    )


def location_of(spark: SparkSession | None, location: str | None) -> str:
    """The directory for indexes and star-trees that is asked for, else that of the session; empty: inside the table."""
    return session_location(spark) if location is None else location


def lasting_name(table: str) -> str:
    """What a definition calls a table: a path that does not depend on the working directory."""
    return os.path.abspath(table) if is_path(table) and ":" not in table else table
