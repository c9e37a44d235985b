"""The rows without stars of a segment, read back from its files: what two segments are merged from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.errors import IndexStorageError
from rtfilter.star_tree.base_rows import BaseRows, measured
from rtfilter.star_tree.measures import Measure, parse_measures
from rtfilter.star_tree.row_types import rows_schema
from rtfilter.star_tree.states import COUNT, count_name, stored_functions, stored_name
from rtfilter.star_tree.tree_table import STARS
from rtfilter.store.index_files.storage import IndexFiles
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment


def base_of_segment(storage: IndexFiles, definition: TreeDefinition, segment: TreeSegment) -> BaseRows:
    """The grouped rows that a segment's tree was made of: those without a star, which come first.

    Raises:
        IndexStorageError: a file is missing or damaged.
    """
    measures = parse_measures(definition.measures, definition.types, floats=definition.floats)
    names = base_columns(definition, measures)
    tables = [_completed(table, names) for table in _rows_without_stars(storage, segment)]
    schema = rows_schema(definition, names)
    try:
        table = pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()
    except (pa.ArrowException, ValueError) as error:
        raise IndexStorageError(f"the rows of the star-tree in {storage.place} are of other types than its log says.") from error
    return BaseRows(table, segment.table_rows, segment.largest)


def base_columns(definition: TreeDefinition, measures: tuple[Measure, ...]) -> list[str]:
    """The columns of grouped rows, in order."""
    names = [f"d{number}" for number in range(len(definition.dimensions))]
    names += [COUNT, *(count_name(column) for column in measured(measures))]
    return list(dict.fromkeys((*names, *map(stored_name, stored_functions(measures, ())))))


def _rows_without_stars(storage: IndexFiles, segment: TreeSegment) -> Iterator[Any]:
    for file in segment.rows:
        try:
            opened = pq.ParquetFile(storage.local_file(file.name), page_checksum_verification=True)
            for group in range(opened.num_row_groups):
                table = opened.read_row_group(group)
                kept = table.filter(pc.equal(table.column(STARS), 0))
                yield kept
                if len(kept) < len(table):
                    return
        except (pa.ArrowException, OSError, KeyError) as error:
            raise IndexStorageError(f"{file.name} of the star-tree in {storage.place} is damaged: {error}.") from error


def _completed(table: Any, names: list[str]) -> Any:
    """With the number of values of every measured column: where it is not held the column has no null."""
    missing = [name for name in names if name not in table.column_names and name.startswith("count(")]
    for name in missing:
        table = table.append_column(name, table.column(COUNT))
    try:
        return table.select(names)
    except KeyError as error:
        raise IndexStorageError(f"the rows of a star-tree lack a column: {error}.") from error
