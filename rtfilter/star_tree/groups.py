"""Grouped rows and trees of them, wherever their rows are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from rtfilter.star_tree.conditions import Dimension
from rtfilter.star_tree.tree import Nodes
from rtfilter.store.index_files.tree_snapshot import TreeDefinition

# The values of some dimensions, by their numbers.
Place = tuple[tuple[int, Any], ...]


class BuiltTree(Protocol):
    """A tree that is to be written."""

    @property
    def nodes(self) -> Nodes: ...

    @property
    def dimensions(self) -> tuple[Dimension, ...]: ...

    @property
    def nullable(self) -> tuple[str, ...]:
        """Columns of measures that have a null."""
        ...

    @property
    def base_rows(self) -> int:
        """The rows without stars, which come first."""
        ...

    def __len__(self) -> int:
        """All rows."""
        ...

    def tables(self) -> Iterator[Any]:
        """The rows in order, as tables that have the columns of `TableTree.rows`. Raises IndexStorageError."""
        ...


class Groups(Protocol):
    """Grouped rows: `len` of them stand for `table_rows` of the table."""

    @property
    def table_rows(self) -> int: ...

    @property
    def largest(self) -> Mapping[str, int]:
        """The largest absolute value (of decimals: unscaled) of each column that `summed_exactly` has."""
        ...

    def __len__(self) -> int: ...


class LargeGroups(Groups, Protocol):
    """Grouped rows that are too many for this process. What it is asked for may raise IndexStorageError."""

    def tree(self, definition: TreeDefinition) -> BuiltTree:
        """Builds their tree. Raises IndexDefinitionError: it can't hold one of their values."""
        ...

    def counts(self, wanted: Sequence[Sequence[int]]) -> list[int]:
        """How many groups these sets of dimensions make."""
        ...

    def within(self, place: Place) -> LargeGroups:
        """Those with these values. They are there until what they are of is closed."""
        ...

    def close(self) -> None:
        """Removes what is kept for them."""
        ...
