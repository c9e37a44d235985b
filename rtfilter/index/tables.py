"""A table as a user names it, path or catalog name: its files, its root and the types of its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rtfilter.errors import IndexDefinitionError, did_you_mean, first_line
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.index.index_places import file_access
from rtfilter.store.index_actions.listing import ListedTable, list_directory, table_files
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.parquet.footer_digest import read_tail
from rtfilter.store.parquet.paths import is_remote, local_path
from rtfilter.store.parquet.table_footer import table_footer
from rtfilter.store.remote.remote_steps import qualified
from rtfilter.store.remote.remote_table import list_remote_table, remote_table_files
from rtfilter.store.sketches.kinds import Sketch, check_type


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
        return list_remote_table(file_access(spark, table), table) if is_remote(table) else list_directory(table)
    if spark is None:
        raise IndexDefinitionError(f"there is no file or directory {table!r}; a table of the catalog needs a Spark session.")
    return _catalog_table(spark, table)


def root_of(spark: SparkSession | None, table: str) -> str:
    """The root of a table, which may be empty by now. Raises as `listed_table`."""
    if is_path(table) and os.path.isdir(table):
        return os.path.abspath(table)
    if is_path(table) and is_remote(table):
        found = file_access(spark, table).steps([{"op": "status", "path": table}])[0]
        if found.get("directory"):
            return str(found["path"]).rstrip("/")
    return listed_table(spark, table).root


def file_of(spark: SparkSession | None, table: str) -> str | None:
    """The name of the file that is the whole table; None where the table is a directory, or one of the catalog."""
    if not is_path(table):
        return None
    if is_remote(table):
        found = file_access(spark, table).steps([{"op": "status", "path": table}])[0]
        is_file = not found.get("missing") and "error" not in found and not found.get("directory")
        return os.path.basename(table) if is_file else None
    local = local_path(table) if ":" in table else os.path.abspath(table)
    return os.path.basename(local) if local is not None and os.path.isfile(local) else None


def typed_table(spark: SparkSession | None, table: str) -> TypedTable:
    """A table with its types: Spark's own where there is a session, else what its first file says. Raises as `listed_table`."""
    listed = listed_table(spark, table)
    if spark is None:
        return TypedTable(listed, _types_of_file(listed))
    try:
        schema = (spark.read.parquet(path_for_spark(listed)) if is_path(table) else spark.table(table)).schema
    except PySparkException as error:
        raise IndexDefinitionError(f"Spark can't read the table {table!r}: {first_line(error)}") from error
    return TypedTable(listed, {field.name: field.dataType.simpleString() for field in schema.fields})


def partition_columns(table: ListedTable) -> set[str]:
    """The columns that the directories below a table's root name."""
    folders = {os.path.dirname(os.path.relpath(file.local, table.root)) for file in table.files}
    return {part.partition("=")[0] for folder in folders for part in folder.split(os.sep) if "=" in part}


def path_for_spark(listed: ListedTable) -> str:
    """The table's directory as the user wrote it; its file, where it was made of one."""
    local = local_path(listed.name) or listed.name
    is_file = local in (listed.files[0].local, listed.files[0].path) if is_remote(local) else os.path.isfile(local)
    return listed.files[0].local if is_file else listed.name


def _types_of_file(table: ListedTable) -> dict[str, str]:
    first = table.files[0]
    try:
        schema = pq.read_schema(first.local)
        lost: Mapping[str, str] = {}
    except (pa.ArrowException, OSError):
        schema, lost = _decodable_schema(first)
    except Exception as error:  # pyarrow raises many kinds
        raise IndexDefinitionError(f"{first.local} is no Parquet file: {error}") from error
    return {field.name: _type_text(field, lost) for field in schema}


def _type_text(field: pa.Field, lost: Mapping[str, str]) -> str:
    return f"unknown ({lost[field.name]})" if field.name in lost else spark_type_of(field.type)


def _decodable_schema(file: TableFile) -> tuple[pa.Schema, Mapping[str, str]]:
    """The schema of a file of which pyarrow can't decode everything, and the columns that it can't, with the reason."""
    try:
        with open(file.local, "rb") as opened:
            footer = table_footer(read_tail(opened, file.size_bytes), None)
    except Exception as error:  # pyarrow raises many kinds
        raise IndexDefinitionError(f"{file.local} is no Parquet file: {error}") from error
    return footer.metadata.schema.to_arrow_schema(), footer.lost


def _catalog_table(spark: SparkSession, table: str) -> ListedTable:
    try:
        described = {row["col_name"]: row["data_type"] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
        paths = sorted(path_of_uri(uri) for uri in spark.table(table).inputFiles())
    except PySparkException as error:
        raise IndexDefinitionError(f"the table {table!r} can't be found: {first_line(error)}") from error
    provider, location = str(described.get("Provider", "")), described.get("Location")
    if provider.lower() != "parquet" or location is None:
        what = provider or "a view or something else without files"
        raise IndexDefinitionError(f"the table {table!r} is {what}; indexes are made of Parquet tables.")
    root = path_of_uri(str(location))
    if any(is_remote(path) for path in (root, *paths)):
        access = file_access(spark, root)
        root, files = qualified(access, root), tuple(remote_table_files(access, paths))
    else:
        files = tuple(table_files(paths))
    if not files:
        raise IndexDefinitionError(f"the table {table!r} has no files yet; write it first, then index it.")
    return ListedTable(table, root.rstrip("/"), files)


def path_of_uri(uri: str) -> str:
    """Spark encodes its files' names as URIs do: a local path, or Hadoop's text of another filesystem."""
    text = unquote(uri)
    # Where there is no host Hadoop's texts have one slash, URIs may have three.
    return local_path(text) or text.replace(":///", ":/", 1)
