"""Trees on disk: of a table with all types, in a folder of a test."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from rtfilter.star_tree.base_rows import BaseRows, grouped_rows
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.tree_files import CoveredFile, write_segment
from rtfilter.star_tree.tree_table import TableTree, tree_of_base
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeDefinition, TreeSegment, TreeSnapshot
from tests.star_tree.test_tables import MEASURES, ROWS, table_of, types_of

DIMENSIONS = ("country", "day", "f", "flag", "d", "at", "at_ntz", "tiny", "small", "raw")
ALL_MEASURES = [*MEASURES, "max(at)", "min(at_ntz)", "sum(tiny)", "sum(small)", "max(raw)", "min(tiny)"]
FILES = (CoveredFile("part-0.parquet", 1000, 1_700_000_000_000, b"0123456789abcdef", 3),)


def wide_table(seed: int, rows: int = ROWS) -> pa.Table:
    """The table of test_tables, with the remaining types."""
    table = table_of(seed, rows)
    moments = [datetime.datetime(2021, 3, 4, 5, 6, 7, 89), datetime.datetime(1999, 12, 31), None]
    numbers = [i % 3 for i in range(rows)]
    more = {
        "at": pa.array([moments[i] for i in numbers], pa.timestamp("us", tz="UTC")),
        "at_ntz": pa.array([moments[i // 2] for i in numbers], pa.timestamp("us")),
        "tiny": pa.array([(-128, 127, None)[i] for i in numbers], pa.int8()),
        "small": pa.array([(-32768, 5, 5)[i] for i in numbers], pa.int16()),
        "raw": pa.array([(b"\x00\xff", b"", None)[i] for i in numbers], pa.binary()),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    return table


def definition_of(table: pa.Table, **changes: Any) -> TreeDefinition:
    types = types_of(table)
    given: dict[str, Any] = {
        "name": "cube",
        "table": "t",
        "root": None,
        "dimensions": DIMENSIONS,
        "measures": changes.get("measures") or tuple(map(str, parse_measures(ALL_MEASURES, types))),
        "max_leaf": 20,
        "no_star": (),
        "types": types,
    }
    return TreeDefinition(**{**given, **changes})


def built_of(table: pa.Table, definition: TreeDefinition) -> tuple[TableTree, BaseRows]:
    measures = parse_measures(definition.measures, definition.types)
    base = grouped_rows(table, definition.types, definition.dimensions, measures)
    options: Any = {"max_leaf": definition.max_leaf, "no_star": definition.no_star}
    return tree_of_base(base, definition.types, definition.dimensions, measures, **options), base


def stored_tree(
    folder: Path, table: pa.Table | None = None, **changes: Any
) -> tuple[LocalStorage, TreeSnapshot, TreeSegment, TableTree]:
    """A segment's files in a folder, and the tree that they are of."""
    table = wide_table(1) if table is None else table
    definition = definition_of(table, **changes)
    built, base = built_of(table, definition)
    storage = LocalStorage(str(folder / "cube"))
    segment = write_segment(storage, definition, built, base, FILES)
    return storage, TreeSnapshot(definition, (segment,)), segment, built
