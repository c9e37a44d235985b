"""The types of a tree's rows in its files, as Spark reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rtfilter.star_tree.measures import sum_type
from rtfilter.store.index_files.tree_measures import SKETCH_FUNCTIONS, measure_parts
from rtfilter.store.index_files.tree_snapshot import TreeDefinition
from rtfilter.store.sketches.domain import decimal_of

_ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}
_DIMENSION = re.compile(r"d(\d+)")
_STORED = re.compile(r"(count|sum|min|max)\((.*)\)", re.DOTALL)


def arrow_type_of(spark_type: str) -> Any:
    """The Arrow type of Spark's catalog text. Raises KeyError: a tree has no values of that type."""
    digits = decimal_of(spark_type)
    return _ARROW[spark_type] if digits is None else pa.decimal128(*digits)


def spark_type_of_column(definition: TreeDefinition, name: str) -> str:
    """Spark's catalog text for a column of a tree's rows, by its name."""
    if measure_parts(name)[0] in SKETCH_FUNCTIONS:
        return "binary"
    dimension, stored = _DIMENSION.fullmatch(name), _STORED.fullmatch(name)
    if dimension is not None:
        return definition.types[definition.dimensions[int(dimension.group(1))]]
    if stored is None or stored.group(1) == "count":
        return "int" if name == "stars" else "bigint"
    of_column = definition.types[stored.group(2)]
    return sum_type(of_column) if stored.group(1) == "sum" else of_column


def rows_schema(definition: TreeDefinition, names: Sequence[str]) -> Any:
    """The schema of a file with these columns of a tree's rows."""
    return pa.schema([(name, arrow_type_of(spark_type_of_column(definition, name))) for name in names])
