"""How many rows a tree may have, and what to do where it would have more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.counted import counted
from rtfilter.errors import IndexDefinitionError
from rtfilter.star_tree.actions.table_reader import TableReader
from rtfilter.star_tree.base_rows import BaseRows
from rtfilter.star_tree.build import MAX_LEAF
from rtfilter.star_tree.groups import LargeGroups
from rtfilter.store.index_files.sketching import TableFile
from rtfilter.store.index_files.snapshot import MOST_ROWS
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

DEFAULT = "10%"


@dataclass(frozen=True, slots=True)
class RowLimit:
    """At most so many rows, or so large a share of the table's; of a share never fewer than a leaf may have."""

    rows: int | None = None
    share: float | None = None

    def most(self, table_rows: int) -> int:
        """For a table of so many rows."""
        if self.rows is not None:
            return self.rows
        return MOST_ROWS if self.share is None else max(MAX_LEAF, int(table_rows * self.share))


NO_LIMIT = RowLimit()


def row_limit(given: str | int) -> RowLimit:
    """A limit as users write it: `"10%"`, or a number of rows.

    Raises:
        IndexDefinitionError: it is neither.
    """
    text = str(given).strip()
    try:
        if text.endswith("%") and 0 < (share := float(text[:-1])) <= 1_000:
            return RowLimit(share=share / 100)
        if not isinstance(given, bool) and 0 < (rows := int(text)) <= MOST_ROWS:
            return RowLimit(rows=rows)
    except ValueError:
        pass
    raise IndexDefinitionError(f"max_rows={given!r} is no limit of rows; use a share of the table's, as '10%', or a number.")


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How many groups all dimensions make, how many values each has, and how many groups there are without each, if known."""

    groups: int
    values: tuple[int, ...]
    without: tuple[int, ...] = ()

    @classmethod
    def of(cls, base: BaseRows | LargeGroups, dimensions: int) -> GroupCounts:
        """Counted in grouped rows; null is a value."""
        if not isinstance(base, BaseRows):
            return cls(len(base), *_values_and_without(base.counts(_sets(dimensions)), dimensions))
        keys = [f"d{number}" for number in range(dimensions)]
        without = [len(base.table.group_by([key for key in keys if key != left]).aggregate([])) for left in keys if len(keys) > 1]
        return cls(len(base), tuple(len(base.table.column(key).unique()) for key in keys), tuple(without))


def group_counts(reader: TableReader, definition: TreeDefinition, files: Sequence[TableFile]) -> GroupCounts | None:
    """Counted by the reader, about; None where grouping takes no more."""
    dimensions = len(definition.dimensions)
    found = reader.counts(definition, files, [range(dimensions), *_sets(dimensions)])
    return None if found is None else GroupCounts(found[0], *_values_and_without(found[1:], dimensions))


def _sets(dimensions: int) -> list[list[int]]:
    """Each dimension, and if there are several, all others than each."""
    numbers = range(dimensions)
    left_out = [[other for other in numbers if other != number] for number in numbers if dimensions > 1]
    return [[number] for number in numbers] + left_out


def _values_and_without(counts: Sequence[int], dimensions: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(counts[:dimensions]), tuple(counts[dimensions:])


def refuse_base(definition: TreeDefinition, counts: GroupCounts, most: int) -> IndexDefinitionError:
    """The error for more groups than a tree may have rows: which dimension to drop."""
    return IndexDefinitionError(
        f"the star-tree {definition.name!r} may have {counted(most, 'row')} (max_rows), and its dimensions make about "
        f"{counts.groups} groups. {_values_text(definition, counts)} {drop(definition, counts)}"
    )


def refuse_tree(definition: TreeDefinition, counts: GroupCounts, rows: int, most: int) -> IndexDefinitionError:
    """The error for a tree with more rows than it may have: which dimension to move, or to drop."""
    return IndexDefinitionError(
        f"the star-tree {definition.name!r} may have {counted(most, 'row')} (max_rows), and would have {rows}, {counts.groups} of "
        f"them without stars. {_values_text(definition, counts)} {move(definition, counts) or drop(definition, counts)}"
    )


def move(definition: TreeDefinition, counts: GroupCounts) -> str:
    """Which dimension to put further to the front, by how many values each has; empty where they stand well."""
    names, values = definition.dimensions, counts.values
    for place, number in enumerate(sorted(range(len(names)), key=lambda number: -values[number])):
        if number != place and values[number] > values[place]:
            return f"Move {names[number]!r} in front of {names[place]!r}: dimensions with many values go first."
    return ""


def drop(definition: TreeDefinition, counts: GroupCounts) -> str:
    """Which dimension to do without."""
    if not counts.without:
        return "Raise max_rows, or group by something coarser."
    number = min(range(len(counts.without)), key=lambda number: counts.without[number])
    return f"Leave {definition.dimensions[number]!r} out, which makes about {counts.without[number]} groups, or raise max_rows."


def _values_text(definition: TreeDefinition, counts: GroupCounts) -> str:
    each = ", ".join(f"{name} {size}" for name, size in zip(definition.dimensions, counts.values, strict=True))
    return f"Values of its dimensions: {each}."
