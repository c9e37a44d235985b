"""A star-tree: its nodes and its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.records import Records

NONE = -1


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes level by level, the root first. All arrays are [nodes].

    Attributes:
        level: How many dimensions are settled: the children of a node at level d are told apart by dimension d.
        code: The value of dimension level - 1 that the node is about; `NONE` for the root and for star nodes.
        is_star: Whether it is about all values of dimension level - 1.
        row_from, row_to: Its rows, in split order, from the first to before the second.
        child_from, child_to: Its children, a star child last; equal for a leaf.
        own_row: The row that has all of the node's rows in one, with stars for all later dimensions.
    """

    level: NDArray[np.int32]
    code: NDArray[np.int32]
    is_star: NDArray[np.bool_]
    row_from: NDArray[np.int64]
    row_to: NDArray[np.int64]
    child_from: NDArray[np.int64]
    child_to: NDArray[np.int64]
    own_row: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.level)


@dataclass(frozen=True, slots=True)
class StarTree:
    """A tree over rows with `sizes[d]` values in dimension d, and what it was built with.

    `base_rows`: the rows without a star, which come first; `star_rows`: those after them that stand for stars. Behind both are the
    aggregated rows of nodes.
    """

    sizes: tuple[int, ...]
    merges: tuple[str, ...]
    nodes: Nodes
    rows: Records
    base_rows: int
    star_rows: int

    @property
    def aggregated_rows(self) -> int:
        return len(self.rows) - self.base_rows - self.star_rows
