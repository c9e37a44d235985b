"""How many rows a tree may have, and what to do where it would have more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.counted import counted
from rtfilter.errors import IndexDefinitionError
from rtfilter.star_tree.base_rows import BaseRows
from rtfilter.star_tree.build import MAX_LEAF
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


def refuse_base(definition: TreeDefinition, base: BaseRows, most: int) -> IndexDefinitionError:
    """The error for more groups than a tree may have rows: which dimension to drop."""
    sizes = distinct_counts(base.table, len(definition.dimensions))
    return IndexDefinitionError(
        f"the star-tree {definition.name!r} would have more than the {counted(most, 'row')} that max_rows allows: so many "
        f"groups its dimensions make. {_sizes_text(definition, sizes)} {drop(definition, sizes)}"
    )


def refuse_tree(definition: TreeDefinition, base: BaseRows, rows: int, most: int) -> IndexDefinitionError:
    """The error for a tree with more rows than it may have: which dimension to move, or to drop."""
    sizes = distinct_counts(base.table, len(definition.dimensions))
    text = (
        f"the star-tree {definition.name!r} would have {rows} rows, {len(base)} of them without stars, and may have {most} "
        f"(max_rows). {_sizes_text(definition, sizes)} {move(definition, sizes) or drop(definition, sizes)}"
    )
    return IndexDefinitionError(text)


def move(definition: TreeDefinition, sizes: Sequence[int]) -> str:
    """Which dimension to put further to the front, by how many values each has; empty where they stand well."""
    names = definition.dimensions
    order = sorted(range(len(names)), key=lambda number: -sizes[number])
    for place, number in enumerate(order):
        if number != place and sizes[number] > sizes[place]:
            return f"Move {names[number]!r} in front of {names[place]!r}: dimensions with many values go first."
    return ""


def drop(definition: TreeDefinition, sizes: Sequence[int]) -> str:
    """Which dimension to do without."""
    names = definition.dimensions
    order = sorted(range(len(names)), key=lambda number: -sizes[number])
    return f"Leave {names[order[0]]!r} out, which has the most values, name it in no_star, or raise max_rows or max_leaf."


def distinct_counts(table: Any, dimensions: int) -> list[int]:
    """How many values each dimension has in grouped rows; null is one."""
    return [len(table.column(f"d{number}").unique()) for number in range(dimensions)]


def _sizes_text(definition: TreeDefinition, sizes: Sequence[int]) -> str:
    each = ", ".join(f"{name} {size}" for name, size in zip(definition.dimensions, sizes, strict=True))
    return f"Values of its dimensions: {each}."
