"""`rtfilter.indexes` and `rtfilter.star_trees`: which there are."""

from __future__ import annotations

import os
from typing import TypeVar
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rtfilter.bridge.files import roots_read
from rtfilter.errors import NotConfiguredError, RtFilterError
from rtfilter.index.api import Index, is_of_file
from rtfilter.index.index_places import as_spark_reads, file_access, session_location, storage_at
from rtfilter.index.star_tree_api import StarTree
from rtfilter.index.stored_handle import StoredHandle
from rtfilter.index.tables import file_of, is_path, listed_table, root_of
from rtfilter.store.index_actions import made_indexes
from rtfilter.store.index_facts import roots_of_tables
from rtfilter.store.index_files import log
from rtfilter.store.index_files.index_problems import GONE, problem_sentence
from rtfilter.store.index_reading.found_index import OF_FILE, file_of_index
from rtfilter.store.index_reading.reader import STORE_FOLDER
from rtfilter.store.open_indexes import index_folders, store_places
from rtfilter.store.parquet.paths import absolute, is_remote
from rtfilter.store.remote.remote_steps import list_folder, proper_folders

Handle = TypeVar("Handle", bound=StoredHandle)


def indexes(spark: SparkSession | None, table: str | None = None) -> list[Index]:
    """The indexes of a table; without one, those in `rtfilter.store.location`, of the Parquet tables in the current database, and
    of the tables that the session has read by their paths.

    Deleted ones are among them, and those that were lost with a table that was overwritten (look at `state`); those that never came
    to be are not.

    Raises:
        IndexDefinitionError: the table does not exist.
    """
    return _everywhere(Index, spark) if table is None else indexes_in(table, session_location(spark), spark)


def star_trees(spark: SparkSession | None, table: str | None = None) -> list[StarTree]:
    """The star-trees of a table, or all; as `indexes`."""
    return _everywhere(StarTree, spark) if table is None else star_trees_in(table, session_location(spark), spark)


def indexes_in(table: str, location: str = "", spark: SparkSession | None = None) -> list[Index]:
    """The indexes of one table: inside it, and in `location` if that is set. Raises IndexDefinitionError, IndexStorageError."""
    return _of_table(Index, table, location, spark)


def star_trees_in(table: str, location: str = "", spark: SparkSession | None = None) -> list[StarTree]:
    """The star-trees of one table, as `indexes_in`."""
    return _of_table(StarTree, table, location, spark)


def _everywhere(kind: type[Handle], spark: SparkSession | None) -> list[Handle]:
    location = session_location(spark)
    found = [each for place in store_places((), location) for each in _in(kind, spark, place)] if location else []
    for name in [] if spark is None else _catalog_tables(spark):
        try:
            inside = _in(kind, spark, os.path.join(listed_table(spark, name).root, STORE_FOLDER), name)
            found += [each for each in inside if file_of_index(each.place) is None]
        except RtFilterError:
            # A table of another format, or without files: it has no index.
            continue
    there = {each.place for each in found}
    return found + [each for each in _of_read_tables(kind, spark) if each.place not in there]


def _of_read_tables(kind: type[Handle], spark: SparkSession | None) -> list[Handle]:
    """What is inside tables that the session has read by their paths."""
    try:
        read = [] if spark is None else roots_read(spark)
    except NotConfiguredError:
        return []
    found = []
    for root in roots_of_tables(read):
        try:
            found += _in(kind, spark, os.path.join(absolute(root), STORE_FOLDER))
        except RtFilterError:
            # A filesystem that is not there any more, say.
            continue
    return found


def lost_indexes(df: DataFrame) -> list[str]:
    """A sentence for each index that was inside a table of this frame and is gone since the table was overwritten.

    On the machine where it was made; of local tables, and while the session looks for indexes inside them.
    """
    if session_location(df.sparkSession) or not made_indexes.has_notes():
        return []
    try:
        files = [unquote(uri) for uri in df.inputFiles()]
    except PySparkException:  # a stream, say
        return []
    lost = made_indexes.lost_from(store_places(files, ""))
    names = ((place, os.path.basename(place).partition(OF_FILE)[0]) for place in lost)
    return [problem_sentence(GONE, name, os.path.dirname(place), is_used=False) for place, name in names]


def _of_table(kind: type[Handle], table: str, location: str, spark: SparkSession | None) -> list[Handle]:
    table = as_spark_reads(spark, table) if is_path(table) else table
    root, file = root_of(spark, table), file_of(spark, table)
    places = store_places((), location) if location else ()
    found = [each for place in places for each in _in(kind, spark, place) if _root_of(spark, each) == root]
    found += _in(kind, spark, os.path.join(root, STORE_FOLDER), table)
    return [each for each in found if _is_of(spark, each, table, file)]


def _is_of(spark: SparkSession | None, handle: StoredHandle, table: str, file: str | None) -> bool:
    """Whether what is beside a table is the table's: indexes of single files lie side by side."""
    its_file = file_of_index(handle.place)
    if file is None or its_file is not None:
        return its_file == file
    return is_of_file(log.read_log(storage_at(spark, handle.place)).snapshot, table)


def _in(kind: type[Handle], spark: SparkSession | None, store: str, table: str | None = None) -> list[Handle]:
    found, home = [], kind.home_in(store)
    folders = _folders(spark, home)
    for folder in folders:
        storage = storage_at(spark, folder)
        if kind.held_by(log.read_log(storage)) is not None:
            handle = kind.at(spark, folder)
            found.append(handle if table is None else kind(spark, table, handle.name, storage))
    there = {os.path.basename(folder) for folder in folders}
    for folder in made_indexes.remembered(home):
        if folder not in there:
            own = table or os.path.join(os.path.dirname(store), file_of_index(folder) or "").rstrip(os.sep)
            found.append(kind(spark, own, folder.partition(OF_FILE)[0], storage_at(spark, os.path.join(home, folder))))
    return found


def _folders(spark: SparkSession | None, home: str) -> list[str]:
    if not is_remote(home):
        return index_folders(home)
    return proper_folders(list_folder(file_access(spark, home), home))


def _root_of(spark: SparkSession | None, handle: StoredHandle) -> str:
    held = handle.held_by(log.read_log(storage_at(spark, handle.place)))
    return "" if held is None else held.definition.root or ""


def _catalog_tables(spark: SparkSession) -> list[str]:
    try:
        return [f"`{each.name}`" for each in spark.catalog.listTables() if not each.isTemporary and each.tableType != "VIEW"]
    except PySparkException:
        return []
