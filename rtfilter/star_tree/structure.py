"""The nodes of a tree, out of how many rows each has: without the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.records import Rows
from rtfilter.star_tree.tree import NONE, Nodes


@dataclass(slots=True)
class Level:
    """Nodes of one level: the values of Nodes that are known when they are made."""

    code: NDArray[np.int32]
    is_star: NDArray[np.bool_]
    row_from: Rows
    row_to: Rows

    def __len__(self) -> int:
        return len(self.code)

    @property
    def lengths(self) -> Rows:
        """How many rows each node has."""
        return self.row_to - self.row_from


def root_level(rows: int) -> Level:
    """The root alone."""
    return Level(np.array([NONE], np.int32), np.array([False]), np.array([0]), np.array([rows]))


@dataclass(frozen=True, slots=True)
class Children:
    """Children about values, in the order of their parents (by number within the level) and of their codes."""

    parent: Rows
    code: NDArray[np.int32]
    row_from: Rows
    lengths: Rows


@dataclass(frozen=True, slots=True)
class Below:
    """The level below one: its nodes, [nodes above, 2] from and to before which child, and `order`: the place of each of its nodes
    among the children about values, followed by the star children."""

    level: Level
    children: Rows
    order: Rows


def level_below(nodes: int, children: Children, starred: Rows, star_lengths: Rows, total: int) -> Below:
    """The nodes below a level of so many nodes.

    Args:
        starred: The nodes that have a star child, in order.
        star_lengths: How many rows that has. They come after the `total` rows that there are, star child after star child.
    """
    star_from = total + np.cumsum(star_lengths) - star_lengths
    owner = np.concatenate([children.parent, starred])
    is_star = np.concatenate([np.zeros(len(children.parent), bool), np.ones(len(starred), bool)])
    order = np.lexsort((is_star, owner))
    row_from = np.concatenate([children.row_from, star_from])[order]
    code = np.concatenate([children.code, np.full(len(starred), NONE, np.int32)])[order].astype(np.int32)
    level = Level(code, is_star[order], row_from, row_from + np.concatenate([children.lengths, star_lengths])[order])
    begin, end = (np.searchsorted(owner[order], np.arange(nodes), side) for side in ("left", "right"))
    return Below(level, np.stack([begin, end], axis=1), order)


def nodes_of(levels: Sequence[Level], children: Sequence[Rows]) -> Nodes:
    """All nodes. `children`: of each level but the last as `Below` has them, numbered within the level below."""
    lengths = [len(level) for level in levels]
    starts = np.cumsum([0, *lengths])
    leaves = np.zeros((len(levels[-1]), 2), np.int64)
    from_to = np.concatenate([pairs + starts[number + 1] for number, pairs in enumerate([*children, leaves])])
    return Nodes(
        level=np.repeat(np.arange(len(levels), dtype=np.int32), lengths),
        code=np.concatenate([level.code for level in levels]),
        is_star=np.concatenate([level.is_star for level in levels]),
        row_from=np.concatenate([level.row_from for level in levels]),
        row_to=np.concatenate([level.row_to for level in levels]),
        child_from=from_to[:, 0],
        child_to=from_to[:, 1],
        own_row=np.full(int(starts[-1]), NONE, np.int64),
    )


@dataclass(frozen=True, slots=True)
class OwnRows:
    """For each node the row that sums it up, and the nodes for which a row is made, level by level: behind all others, in this
    order."""

    row: Rows
    made: tuple[tuple[int, Rows], ...]


def own_rows(nodes: Nodes, rows: int, dimensions: int) -> OwnRows:
    """Of each node the row that sums it up.

    A node of one row uses that, where all later dimensions of it are settled or it is a leaf; an inner node that of its star child.
    For others a row is made.
    """
    own = np.full(len(nodes), NONE, np.int64)
    made: list[tuple[int, Rows]] = []
    for level in range(dimensions, -1, -1):
        here = np.flatnonzero(nodes.level == level)
        is_leaf = nodes.child_from[here] == nodes.child_to[here]
        single = here[is_leaf & (nodes.row_to[here] - nodes.row_from[here] == 1)]
        own[single] = nodes.row_from[single]
        inner = here[~is_leaf]
        last = nodes.child_to[inner] - 1
        by_star = nodes.is_star[last] & (nodes.level[last] == level + 1)
        own[inner[by_star]] = own[last[by_star]]
        needed = here[(own[here] == NONE) & (nodes.row_to[here] > nodes.row_from[here])]
        if len(needed):
            own[needed] = rows + np.arange(len(needed))
            made.append((level, needed))
            rows += len(needed)
    return OwnRows(own, tuple(made))


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows that change places: what is to stand at `places`, in order, stood at `sources`."""

    places: Rows
    sources: Rows


def summaries_together(nodes: Nodes, own: Rows) -> tuple[Nodes, Moved]:
    """Puts rows that sum up nodes of one level side by side, so that a query that asks for all of these reads few pages.

    What may change its place is a row that is all of a star leaf: no other node's range has it in it.

    Args:
        own: For each node the row that sums it up.
    """
    alone = np.flatnonzero(nodes.is_star & (nodes.child_from == nodes.child_to) & (nodes.row_to - nodes.row_from == 1))
    places = np.sort(nodes.row_from[alone])
    at, may_move = places_of(own, places)
    lowest = np.full(len(places), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(lowest, at[may_move], nodes.level[may_move])
    order = np.lexsort((places, lowest))
    to = np.empty_like(places)
    to[order] = places
    own_row = own.copy()
    own_row[may_move] = to[at[may_move]]
    row_from, row_to = nodes.row_from.copy(), nodes.row_to.copy()
    row_from[alone] = to[places_of(row_from[alone], places)[0]]
    row_to[alone] = row_from[alone] + 1
    return replace(nodes, row_from=row_from, row_to=row_to, own_row=own_row), Moved(places, places[order])


def places_of(rows: Rows, places: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """For each row where it is in `places`, which rise, and whether it is there at all."""
    if not len(places):
        return np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    at = np.minimum(np.searchsorted(places, rows), len(places) - 1)
    return at, places[at] == rows
