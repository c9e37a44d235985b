"""Small tables in folders of tests, star-trees of them, and whether these answer what DuckDB does from the files."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.index.star_tree_api import tree_definition
from rtfilter.index.star_tree_base import LocalReader
from rtfilter.index.tables import typed_table
from rtfilter.star_tree.tree_files import covered_files
from rtfilter.store.index_files.log import ACTIVE, read_log
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeDefinition
from rtfilter.store.tree_places import tree_place
from tests.star_tree.tree_answers import answered

MEASURES = ("count(*)", "sum(x)", "min(x)", "avg(price)")
OF_ROWS = ('sum("count")', 'sum("sum(x)")', 'min("min(x)")', 'sum("sum(price)")')
OF_TABLE = ("count(*)", "sum(x)", "min(x)", "sum(price::decimal(38, 2))")
TYPES = {"k": pa.int64(), "s": pa.string(), "x": pa.int64(), "price": pa.decimal128(9, 2)}


def write_part(folder: Path, name: str, first: int, rows: int = 50) -> Path:
    """A file of `rows` rows, numbered from `first` on; every fifth has no price."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + rows)
    columns: dict[str, list[Any]] = {
        "k": [None if number % 11 == 0 else number % 4 for number in numbers],
        "s": [f"s{number % 3}" for number in numbers],
        "x": list(numbers),
        "price": [None if number % 5 == 0 else number for number in numbers],
    }
    table = pa.table({name: pa.array(values, TYPES[name]) for name, values in columns.items()})
    # Plain pages: files of equal numbers of rows have equal sizes.
    pq.write_table(table, folder / name, compression="none", use_dictionary=False)
    return folder / name


def storage_of(folder: Path, name: str = "cube") -> LocalStorage:
    return LocalStorage(tree_place("", str(folder), name))


def definition_of(folder: Path, **changes: Any) -> TreeDefinition:
    given: dict[str, Any] = {
        "name": "cube",
        "table": str(folder),
        "root": None,
        "dimensions": ("k", "s"),
        "measures": MEASURES,
        "types": typed_table(None, str(folder)).types,
        "max_leaf": 2,
        "no_star": (),
        "floats": False,
    }
    return tree_definition(**{**given, **changes})


def reader_of(folder: Path) -> LocalReader:
    return LocalReader(str(folder))


def covered_paths(folder: Path) -> list[str]:
    """The table files that an active tree covers, with each file as often as it is in a segment."""
    storage = storage_of(folder)
    view = read_log(storage)
    if view.state != ACTIVE or view.tree is None:
        return []
    return sorted(file.path for segment in view.tree.segments for file in covered_files(storage, segment))


def check_answers(folder: Path) -> list[str]:
    """That a tree, where there is an active one, answers what its files hold; gives the files that it covers."""
    covered = covered_paths(folder)
    if covered:
        assert len(set(covered)) == len(covered)
        files = [str(folder / path) for path in covered]
        for size in range(3):
            for grouped in itertools.combinations((0, 1), size):
                keys = [("k", "s")[number] for number in grouped]
                by = f" group by {', '.join(keys)}" if keys else ""
                text = f"select {', '.join([*keys, *OF_TABLE])} from read_parquet({files!r}){by}"
                assert answered(str(storage_of(folder).place), grouped, OF_ROWS) == sorted(duckdb.sql(text).fetchall(), key=str)
    return covered
