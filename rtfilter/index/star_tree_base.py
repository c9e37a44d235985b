"""Reads tables for star-trees: Spark groups their rows, by its own rules of types and partitions; without a session pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rtfilter.bridge.session_clones import cloned
from rtfilter.errors import IndexDefinitionError, IndexStorageError
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.index.index_places import file_access
from rtfilter.index.large_trees.merged_segments import merged_groups
from rtfilter.index.large_trees.merges import merge_of
from rtfilter.index.large_trees.scratch import kept_in, scratch_of, spark_told
from rtfilter.index.large_trees.spark_groups import spark_groups
from rtfilter.index.tables import is_path, listed_table, path_for_spark, path_of_uri
from rtfilter.star_tree.actions.stored_base import base_columns
from rtfilter.star_tree.actions.tree_actions import measures_of
from rtfilter.star_tree.base_rows import BaseRows, grouped_rows, measured, summed_exactly
from rtfilter.star_tree.groups import LargeGroups
from rtfilter.star_tree.row_types import rows_schema
from rtfilter.star_tree.states import COUNT, combined, count_name, largest_value, stored_functions, stored_name
from rtfilter.store.index_actions.listing import ListedTable
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment
from rtfilter.store.parquet.paths import is_remote
from rtfilter.store.remote.remote_table import RemoteFile
from rtfilter.store.sketches.domain import pack_values, why_no_values

# Sums wrap around as they do with ANSI off; and no tree answers for the table that another is made of.
# Groups come over by files, where times are to be whole microseconds and dates as they are.
_CONF = {
    "spark.sql.ansi.enabled": "false",
    "rtfilter.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
# Trees of more groups are built by Spark.
MOST_GROUPS_HERE = 2_000_000
_LEAST, _GREATEST = "least of {}", "greatest of {}"


@dataclass(frozen=True, slots=True)
class SparkReader:
    """Reads a table by a session."""

    spark: SparkSession
    table: str

    def listed(self) -> ListedTable:
        return listed_table(self.spark, self.table)

    def open(self, file: TableFile) -> BinaryIO:
        if is_remote(file.path):
            return cast(BinaryIO, RemoteFile(file_access(self.spark, file.path), file.path, file.size_bytes))
        return open(file.local, "rb")

    def counts(self, definition: TreeDefinition, files: Sequence[TableFile], wanted: Sequence[Sequence[int]]) -> list[int] | None:
        """As TableReader has it, by one Spark job without a shuffle."""
        keys = [[_column(definition.dimensions[number]) for number in each] for each in wanted]
        counted = [F.approx_count_distinct(F.struct(*each)).alias(f"c{number}") for number, each in enumerate(keys)]
        with spark_told(self.table):
            return list(self._frame(definition, files).agg(*counted).collect()[0])

    def sampled(self, definition: TreeDefinition, files: Sequence[TableFile], rows: int) -> BaseRows | LargeGroups:
        """As TableReader has it."""
        with spark_told(self.table):
            few = _grouped_frame(self._frame(definition, files).limit(rows), definition)
            return groups_of(few, definition) if _has_sketches(definition) else _collected(few, definition)

    def grouped(self, definition: TreeDefinition, files: Sequence[TableFile]) -> BaseRows | LargeGroups:
        """As TableReader has it; by one Spark job, and larger ones by more."""
        with spark_told(self.table):
            frame = _grouped_frame(self._frame(definition, files), definition)
            return groups_of(frame, definition)

    def merged(self, definition: TreeDefinition, place: str, segments: Sequence[TreeSegment]) -> LargeGroups | None:
        """As TableReader has it."""
        if sum(segment.tree_rows for segment in segments) <= MOST_GROUPS_HERE and not _has_sketches(definition):
            return None
        with spark_told(self.table):
            return merged_groups(cloned(self.spark, _CONF), definition, place, segments)

    def _frame(self, definition: TreeDefinition, files: Sequence[TableFile]) -> DataFrame:
        listed = self.listed()
        frame = table_frame(cloned(self.spark, _CONF), self.table, listed)
        check_types(definition, {field.name: field.dataType.simpleString() for field in frame.schema.fields}, "the table")
        return frame if {file.path for file in files} == {file.path for file in listed.files} else _of_files(frame, files)


def groups_of(frame: DataFrame, definition: TreeDefinition) -> BaseRows | LargeGroups:
    """A frame of grouped rows, kept: here, or where Spark has put it if it is large."""
    with kept_in(scratch_of(frame.sparkSession), frame) as (scratch, kept):
        if scratch.rows(kept) > MOST_GROUPS_HERE or _has_sketches(definition):
            largest = _largest(kept.agg(*_extremes(definition)).toArrow(), definition)
            return spark_groups(scratch, kept, definition, largest)
        found = _base_rows(pa.concat_tables(scratch.tables(kept)), definition)
    scratch.close()
    return found


def _has_sketches(definition: TreeDefinition) -> bool:
    """Whether only Spark can make its tree."""
    return any(measure.is_sketch for measure in measures_of(definition))


def _collected(frame: DataFrame, definition: TreeDefinition) -> BaseRows:
    with closing(scratch_of(frame.sparkSession)) as scratch:
        return _base_rows(pa.concat_tables(scratch.tables(scratch.keep(frame))), definition)


def _extremes(definition: TreeDefinition) -> list[Column]:
    """The least and the greatest value of each summed column, of grouped rows."""
    names = summed_exactly(definition.types, measures_of(definition))
    pairs = [(function, text.format(name)) for name in names for function, text in ((F.min, _LEAST), (F.max, _GREATEST))]
    return [function(_column(name)).alias(name) for function, name in pairs] or [F.lit(0).alias("nothing")]


def _largest(found: Any, definition: TreeDefinition) -> dict[str, int]:
    """Of a table with the extremes of summed columns."""
    return {
        name: max(largest_value(combined(found.column(text.format(name))), definition.types[name]) for text in (_LEAST, _GREATEST))
        for name in summed_exactly(definition.types, measures_of(definition))
    }


def table_frame(spark: SparkSession, table: str, listed: ListedTable) -> DataFrame:
    """A table as Spark reads it."""
    return spark.read.parquet(path_for_spark(listed)) if is_path(table) else spark.table(table)


def _of_files(frame: DataFrame, files: Sequence[TableFile]) -> DataFrame:
    """The rows of some of a frame's files."""
    wanted = {file.local for file in files}
    uris = [uri for uri in frame.inputFiles() if path_of_uri(uri) in wanted]
    # Where there is no host `inputFiles` has three slashes and `_metadata` one (checked on 4.3).
    return frame.where(F.col("_metadata.file_path").isin([text for uri in uris for text in (uri, uri.replace(":///", ":/", 1))]))


def check_types(definition: TreeDefinition, types: Mapping[str, str], where: str) -> None:
    """Raises IndexDefinitionError: a table's columns are no longer those that a tree was made of."""
    for name, spark_type in definition.types.items():
        if types.get(name) != spark_type:
            now = f"has it as {types[name]}" if name in types else "does not have it"
            raise IndexDefinitionError(
                f"the star-tree {definition.name!r} is of the column {name!r} as {spark_type}, and {where} {now}. Create it anew."
            )


def _grouped_frame(frame: DataFrame, definition: TreeDefinition) -> DataFrame:
    measures = measures_of(definition)
    keys = [_column(name).alias(f"d{number}") for number, name in enumerate(definition.dimensions)]
    states: dict[str, Column] = {COUNT: F.count(F.lit(1))}
    for name in measured(measures):
        states[count_name(name)] = F.count(_column(name))
    for measure in stored_functions(measures, ()):
        if measure.column is not None:
            states[stored_name(measure)] = merge_of(stored_name(measure)).of_rows(_column(measure.column))
    for name in summed_exactly(definition.types, measures):
        states[_LEAST.format(name)], states[_GREATEST.format(name)] = F.min(_column(name)), F.max(_column(name))
    return frame.groupBy(*keys).agg(*(state.alias(name) for name, state in states.items()))


def _column(name: str) -> Column:
    return F.col(f"`{name.replace('`', '``')}`")


def _base_rows(found: Any, definition: TreeDefinition) -> BaseRows:
    measures = measures_of(definition)
    schema = rows_schema(definition, base_columns(definition, measures))
    table = found.select(schema.names).cast(schema)
    return BaseRows(table, pc.sum(table.column(COUNT)).as_py() or 0, _largest(found, definition))


@dataclass(frozen=True, slots=True)
class LocalReader:
    """Reads a table without Spark: where both surely read the same. Partition columns and other rarities need a session."""

    table: str

    def listed(self) -> ListedTable:
        return listed_table(None, self.table)

    def open(self, file: TableFile) -> BinaryIO:
        return open(file.local, "rb")

    def counts(self, definition: TreeDefinition, files: Sequence[TableFile], wanted: Sequence[Sequence[int]]) -> list[int] | None:
        """None: all is in memory, and counted there."""
        return None

    def merged(self, definition: TreeDefinition, place: str, segments: Sequence[TreeSegment]) -> LargeGroups | None:
        """None: all is in memory."""
        _require_no_sketches(definition)
        return None

    def sampled(self, definition: TreeDefinition, files: Sequence[TableFile], rows: int) -> BaseRows:
        """All rows, since all is in memory."""
        return self.grouped(definition, files)

    def grouped(self, definition: TreeDefinition, files: Sequence[TableFile]) -> BaseRows:
        """As TableReader has it."""
        _require_no_sketches(definition)
        found = [_read(file, definition) for file in files]
        table = pa.concat_tables(found)
        measures = measures_of(definition)
        for measure in measures:
            if measure.column is not None and measure.function != "count":
                _require_alike(table.column(measure.column), measure.column, definition.types[measure.column])
        return grouped_rows(table, definition.types, definition.dimensions, measures)


def _require_no_sketches(definition: TreeDefinition) -> None:
    """Raises IndexDefinitionError where only Spark can make the tree."""
    sketch = next((measure for measure in measures_of(definition) if measure.is_sketch), None)
    if sketch is not None:
        raise IndexDefinitionError(f"the measure {sketch} is made by Spark: give a session (`--master` on the command line).")


def _read(file: TableFile, definition: TreeDefinition) -> Any:
    names = list(definition.types)
    try:
        opened = pq.ParquetFile(file.local)
        check_types(definition, {field.name: spark_type_of(field.type) for field in opened.schema_arrow}, file.path)
        table = opened.read(columns=names)
    except (pa.ArrowException, OSError) as error:
        raise IndexStorageError(f"the table file {file.path} can't be read: {error}.") from error
    plain = [column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    return pa.table(plain, names=table.column_names).select(names)


def _require_alike(column: Any, name: str, spark_type: str) -> None:
    """Refuses values that pyarrow and Spark may see differently, such as dates of the old calendar."""
    if pack_values(column, spark_type) is None:
        raise IndexDefinitionError(
            f"the column {name!r} can't be in a measure: {why_no_values(column.type, spark_type)}. Give a Spark session."
        )
