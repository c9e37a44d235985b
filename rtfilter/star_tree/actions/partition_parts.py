"""Grouped rows divided by partitions, where partition columns are dimensions: a dropped partition takes its segment along."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.star_tree.actions.table_reader import Footer
from rtfilter.star_tree.base_rows import BaseRows
from rtfilter.star_tree.groups import LargeGroups, Place
from rtfilter.star_tree.measures import WHOLE_NUMBERS
from rtfilter.star_tree.states import COUNT
from rtfilter.star_tree.tree_files import CoveredFile
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

# Each segment of a tree is read by every query that it has an answer for.
MOST_PARTS = 32
NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"
_READ: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(WHOLE_NUMBERS, int),
    "string": unquote,
    "date": datetime.date.fromisoformat,
}


@dataclass(frozen=True, slots=True)
class Part:
    """Grouped rows, and the table files that they are of."""

    base: BaseRows | LargeGroups
    files: tuple[CoveredFile, ...]


def parts_by_partition(definition: TreeDefinition, base: BaseRows | LargeGroups, footers: Sequence[Footer]) -> list[Part]:
    """The rows of each partition; all in one where there are none, too many, or where it is not sure which rows are whose."""
    whole = [Part(base, tuple(footer.file for footer in footers))]
    places = [partition_of(definition, footer.file.path) for footer in footers]
    depth = min(map(len, places), default=0)
    while depth and len({place[:depth] for place in places}) > MOST_PARTS:
        depth -= 1
    by_place: dict[Place, list[Footer]] = {}
    for place, footer in zip(places, footers, strict=True):
        by_place.setdefault(place[:depth], []).append(footer)
    if len(by_place) < 2 or len({tuple(number for number, _ in place) for place in by_place}) > 1:
        return whole
    parts = []
    for place, mine in by_place.items():
        within = _within(base, place) if isinstance(base, BaseRows) else base.within(place)
        if within.table_rows != sum(footer.rows for footer in mine):
            return whole
        parts.append(Part(within, tuple(footer.file for footer in mine)))
    return parts


def _within(base: BaseRows, place: Place) -> BaseRows:
    table = base.table.filter(reduce(pc.and_, [_is(base.table.column(f"d{number}"), value) for number, value in place]))
    return BaseRows(table, pc.sum(table.column(COUNT)).as_py() or 0, base.largest)


def partition_of(definition: TreeDefinition, path: str) -> Place:
    """The values of dimensions that a table file's directories name, the outermost first, up to the first that can't be read."""
    found: list[tuple[int, Any]] = []
    for folder in path.split("/")[:-1]:
        column, equals, text = folder.partition("=")
        if not equals or column not in definition.dimensions:
            continue
        read = _READ.get(definition.types[column])
        try:
            value = None if text == NULL_TEXT or read is None else read(text)
        except ValueError:
            break
        if read is None:
            break
        found.append((definition.dimensions.index(column), value))
    return tuple(found)


def common_partition(definition: TreeDefinition, files: Sequence[CoveredFile]) -> Place:
    """The partition that all of these files are in."""
    places = [partition_of(definition, file.path) for file in files]
    depth = min(map(len, places), default=0)
    while depth and len({place[:depth] for place in places}) > 1:
        depth -= 1
    return places[0][:depth] if places else ()


def _is(column: Any, value: Any) -> Any:
    if value is None:
        return pc.is_null(column)
    return pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False)
