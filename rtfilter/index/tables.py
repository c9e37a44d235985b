"""A table as a user names it, path or catalog name: its files, its root and the types of its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rtfilter.errors import IndexDefinitionError, IndexStorageError, did_you_mean
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.store.packindex.listing import ListedTable, list_directory, table_files
from rtfilter.store.paths import local_path
from rtfilter.store.sketches.kinds import Sketch, check_type

_FILE_SCHEME = "file:"


@dataclass(frozen=True, slots=True)
class TypedTable:
    """A table with the Spark types (catalog texts) of its columns."""

    listed: ListedTable
    types: Mapping[str, str]

    def types_for(self, sketches: Sequence[Sketch]) -> dict[str, str]:
        """The types of the sketched columns.

        Raises:
            IndexDefinitionError: a column that the table does not have, that partitions it, or whose type does not fit.
        """
        partitions = partition_columns(self.listed)
        for sketch in sketches:
            if sketch.column in partitions:
                raise IndexDefinitionError(
                    f"{sketch.column!r} partitions the table: Spark skips its files by itself; leave it out."
                )
            if sketch.column not in self.types:
                hint = did_you_mean(sketch.column, self.types)
                raise IndexDefinitionError(f"the table {self.listed.name} has no column {sketch.column!r}. {hint}")
            check_type(sketch, self.types[sketch.column])
        return {sketch.column: self.types[sketch.column] for sketch in sketches}


def is_path(table: str) -> bool:
    """Whether a user means a path by this text, and not a table of the catalog."""
    return "/" in table or os.sep in table or ":" in table or os.path.exists(table)


def listed_table(spark: SparkSession | None, table: str) -> ListedTable:
    """The files of a table now.

    Raises:
        IndexDefinitionError: there is no such table, or it is not made of Parquet files.
        IndexStorageError: its files can't be opened by this machine's Python.
    """
    if is_path(table):
        return list_directory(table)
    if spark is None:
        raise IndexDefinitionError(f"there is no file or directory {table!r}; a table of the catalog needs a Spark session.")
    return _catalog_table(spark, table)


def typed_table(spark: SparkSession | None, table: str) -> TypedTable:
    """A table with its types: Spark's own where there is a session, else what its first file says. Raises as `listed_table`."""
    listed = listed_table(spark, table)
    if spark is None:
        return TypedTable(listed, _types_of_file(listed))
    try:
        schema = (
            spark.read.parquet(listed.files[0].local if _is_one_file(listed) else table) if is_path(table) else spark.table(table)
        ).schema
    except PySparkException as error:
        raise IndexDefinitionError(f"Spark can't read the table {table!r}: {_first_line(error)}") from error
    return TypedTable(listed, {field.name: field.dataType.simpleString() for field in schema.fields})


def partition_columns(table: ListedTable) -> set[str]:
    """The columns that the directories below a table's root name."""
    folders = {os.path.dirname(os.path.relpath(file.local, table.root)) for file in table.files}
    return {part.partition("=")[0] for folder in folders for part in folder.split(os.sep) if "=" in part}


def _is_one_file(listed: ListedTable) -> bool:
    return len(listed.files) == 1 and os.path.isfile(local_path(listed.name) or listed.name)


def _types_of_file(table: ListedTable) -> dict[str, str]:
    try:
        schema = pq.read_schema(table.files[0].local)
    except Exception as error:  # pyarrow raises many kinds
        raise IndexDefinitionError(f"{table.files[0].local} is no Parquet file: {error}") from error
    return {field.name: spark_type_of(field.type) for field in schema}


def _catalog_table(spark: SparkSession, table: str) -> ListedTable:
    try:
        described = {row["col_name"]: row["data_type"] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
        paths = [_local_of_uri(uri) for uri in spark.table(table).inputFiles()]
    except PySparkException as error:
        raise IndexDefinitionError(f"the table {table!r} can't be found: {_first_line(error)}") from error
    provider, location = str(described.get("Provider", "")), described.get("Location")
    if provider.lower() != "parquet" or location is None:
        what = provider or "a view or something else without files"
        raise IndexDefinitionError(f"the table {table!r} is {what}; indexes are made of Parquet tables.")
    root = _local_of_uri(str(location))
    files = tuple(table_files(sorted(paths)))
    if not files:
        raise IndexDefinitionError(f"the table {table!r} has no files yet; write it first, then index it.")
    return ListedTable(table, root.rstrip("/"), files)


def _local_of_uri(uri: str) -> str:
    local = local_path(unquote(uri)) if uri.startswith(_FILE_SCHEME) or uri.startswith("/") else None
    if local is None:
        raise IndexStorageError(
            f"{uri} is on a filesystem that Python can't open; indexes are built of local and mounted directories only."
        )
    return local


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
