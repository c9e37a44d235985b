"""What a star-tree holds at one moment: its definition and the files with its rows and nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_files.snapshot import (
    MOST_ROWS,
    MOST_SEGMENTS,
    NO_DRIFT,
    DataFile,
    Drift,
    bounded_count,
    check_files,
    data_file_from_dict,
    data_file_to_dict,
)
from rtfilter.store.index_files.tree_measures import MEASURE_FUNCTIONS, measure_parts
from rtfilter.store.sketches.domain import domain_of

# The folder of a store that holds its star-trees. No index has this name.
TREES_FOLDER = "@star_trees"
KIND = "star_tree"
MOST_DIMENSIONS = 12
MOST_MEASURES = 64
# Larger leaves than all rows that a tree may have mean no more.
LARGEST_LEAF = MOST_ROWS
# Rows of a tree in one file: some ten million rows of a segment are a few files.
MOST_ROWS_FILES = 10_000
# The largest unscaled value that a decimal of 38 digits has.
LARGEST_VALUE = 10**38
_LONGEST_TEXT = 10_000
# What a data file's name, size and rows take in memory.
_DATA_FILE_BYTES = 300


@dataclass(frozen=True, slots=True)
class TreeDefinition:
    """What a user asked for.

    Attributes:
        root: Where the table is, None: around `_rtfilter`.
        dimensions: In the order in which nodes are split.
        measures: Canonical texts, such as `sum(price)`.
        max_leaf: A node of more rows is split.
        no_star: Dimensions whose values are never summed up.
        types: Spark's catalog text of the type of every column that is a dimension or in a measure.
        floats: Whether there are sums of floating point numbers, whose last digits depend on the order of rows.
    """

    name: str
    table: str
    root: str | None
    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    max_leaf: int
    no_star: tuple[str, ...]
    types: Mapping[str, str]
    floats: bool = False

    def is_equal_tree(self, other: TreeDefinition) -> bool:
        """Whether both hold the same under whatever name: of measures the order does not count."""
        mine, its = (
            (each.dimensions, sorted(each.measures), each.max_leaf, sorted(each.no_star), each.floats) for each in (self, other)
        )
        return mine == its


@dataclass(frozen=True, slots=True)
class TreeSegment:
    """A tree of some of the table's files.

    Attributes:
        files: The table files, as the `files` of an index has them.
        rows: The rows, one file after the other.
        nodes, values: The nodes, and the values of each dimension by code.
        table_rows: How many rows the table files have.
        largest: The largest absolute value (of decimals: unscaled) of each summed column without floating point.
        nullable: Measure columns that have a null. Their number of values is stored beside every measure.
    """

    files: DataFile
    rows: tuple[DataFile, ...]
    nodes: DataFile
    values: DataFile
    table_rows: int
    largest: Mapping[str, int]
    nullable: tuple[str, ...]

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        return (self.files, *self.rows, self.nodes, self.values)

    @property
    def tree_rows(self) -> int:
        return sum(file.rows for file in self.rows)


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """A star-tree at one moment; no table file is in two of its segments."""

    definition: TreeDefinition
    segments: tuple[TreeSegment, ...]
    drift: Drift = NO_DRIFT

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        return tuple(file for segment in self.segments for file in segment.data_files)

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        return _DATA_FILE_BYTES * len(self.data_files)

    def to_dict(self) -> dict[str, Any]:
        definition, drift = self.definition, self.drift
        return {
            "kind": KIND,
            "name": definition.name,
            "table": definition.table,
            "root": definition.root,
            "dimensions": list(definition.dimensions),
            "measures": list(definition.measures),
            "max_leaf": definition.max_leaf,
            "no_star": list(definition.no_star),
            "types": dict(definition.types),
            "floats": definition.floats,
            "segments": [_segment_to_dict(segment) for segment in self.segments],
            "drift": {"appended": drift.appended, "changed": drift.changed, "deleted": drift.deleted},
        }


def _segment_to_dict(segment: TreeSegment) -> dict[str, Any]:
    return {
        "files": data_file_to_dict(segment.files),
        "rows": [data_file_to_dict(file) for file in segment.rows],
        "nodes": data_file_to_dict(segment.nodes),
        "values": data_file_to_dict(segment.values),
        "table_rows": segment.table_rows,
        "largest": dict(segment.largest),
        "nullable": list(segment.nullable),
    }


def is_index_name(folder: str) -> bool:
    """Whether a directory of this name in a store may be an index: star-trees are in one of their own."""
    return not folder.startswith(".") and folder != TREES_FOLDER


def is_tree(entry: Any) -> bool:
    """Whether a log entry's snapshot is one of a star-tree."""
    return isinstance(entry, Mapping) and entry.get("kind") == KIND


def tree_snapshot_from_dict(entry: Mapping[str, Any]) -> TreeSnapshot:
    """A snapshot out of a log entry, every part of it checked.

    Raises:
        IndexStorageError: it is not what docs/index-format.md says.
    """
    try:
        if not is_tree(entry):
            raise ValueError("it is no star-tree")
        definition = _definition(entry)
        if len(entry["segments"]) > MOST_SEGMENTS:
            raise ValueError(f"{len(entry['segments'])} segments are out of bounds")
        segments = tuple(_segment(each, definition) for each in entry["segments"])
        check_files(segments)
        bounded_count(sum(segment.tree_rows for segment in segments), MOST_ROWS, "rows of all segments")
        drift = Drift(**{key: bounded_count(value, MOST_ROWS, key) for key, value in entry.get("drift", {}).items()})
        return TreeSnapshot(definition, segments, drift)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise IndexStorageError(f"a log entry of the star-tree can't be understood: {type(error).__name__}: {error}.") from error


def _definition(entry: Mapping[str, Any]) -> TreeDefinition:
    types = {_text(column): _text(type_) for column, type_ in entry["types"].items()}
    dimensions, no_star = _texts(entry["dimensions"], MOST_DIMENSIONS), _texts(entry["no_star"], MOST_DIMENSIONS)
    measures = _texts(entry["measures"], MOST_MEASURES)
    if not dimensions or not measures or type(entry["floats"]) is not bool:
        raise ValueError("it has no dimension, no measure, or a flag that is none")
    strangers = [*(set(no_star) - set(dimensions)), *(name for name in dimensions if domain_of(types[name]) is None)]
    if strangers:
        raise ValueError(f"{strangers[0]!r:.40} is no dimension, or of a type that a tree can't order")
    for measure in measures:
        function, column, _ = measure_parts(measure)
        if function not in MEASURE_FUNCTIONS or (column not in types and measure != "count(*)"):
            raise ValueError(f"{measure!r:.40} is no measure of a column whose type is known")
    max_leaf = bounded_count(entry["max_leaf"], LARGEST_LEAF, "max_leaf")
    root = None if entry["root"] is None else _text(entry["root"])
    return TreeDefinition(
        _text(entry["name"]), _text(entry["table"]), root, dimensions, measures, max_leaf, no_star, types, entry["floats"]
    )


def _segment(entry: Mapping[str, Any], definition: TreeDefinition) -> TreeSegment:
    rows = entry["rows"]
    if not isinstance(rows, Sequence) or isinstance(rows, str) or len(rows) > MOST_ROWS_FILES:
        raise ValueError("the rows of a segment are no list of files, or too long a one")
    largest = {column: bounded_count(value, LARGEST_VALUE, "largest") for column, value in entry["largest"].items()}
    nullable = _texts(entry["nullable"], MOST_MEASURES)
    strangers = (largest.keys() | set(nullable)) - definition.types.keys()
    if strangers:
        raise ValueError(f"{min(strangers)!r:.40} is in no measure")
    return TreeSegment(
        data_file_from_dict(entry["files"]),
        tuple(data_file_from_dict(each) for each in rows),
        data_file_from_dict(entry["nodes"]),
        data_file_from_dict(entry["values"]),
        bounded_count(entry["table_rows"], LARGEST_VALUE, "table_rows"),
        largest,
        nullable,
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise ValueError(f"{value!r:.40} is no text, or too long a one")
    return value


def _texts(values: Any, most: int) -> tuple[str, ...]:
    """Distinct texts, in order."""
    if not isinstance(values, list) or len(values) > most:
        raise ValueError(f"{values!r:.40} is no list of at most {most} texts")
    found = tuple(map(_text, values))
    if len(set(found)) != len(found):
        raise ValueError(f"{values!r:.40} has a text twice")
    return found
