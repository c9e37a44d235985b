"""Builds a star-tree in memory, level by level with numpy.

After Pinot's star-tree index (`BaseSingleTreeBuilder`). Otherwise than there, a star is a bit of the row, and null is a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.records import Codes, Records, Rows, appended, merged
from rtfilter.star_tree.tree import NONE, Nodes, StarTree

MAX_LEAF = 10_000


@dataclass(slots=True)
class _Level:
    """Nodes of one level: the values of Nodes that are known when they are made."""

    code: NDArray[np.int32]
    is_star: NDArray[np.bool_]
    row_from: Rows
    row_to: Rows

    def __len__(self) -> int:
        return len(self.code)


def build_tree(
    codes: Codes,
    states: Sequence[NDArray[np.generic]],
    merges: Sequence[str],
    sizes: Sequence[int],
    *,
    max_leaf: int = MAX_LEAF,
    no_star: Sequence[int] = (),
) -> StarTree:
    """A tree of rows, whose dimensions are in the order in which nodes are split.

    Args:
        codes: [rows, dimensions], each from 0 to before `sizes` of its dimension. Null is a value as any other.
        states: One array [rows] for each of `merges`, which are sum, min or max.
        max_leaf: A node of more rows is split; the root always.
        no_star: Dimensions whose values are never summed up.
    """
    given, dimensions = Records(codes.astype(np.int32), np.zeros(len(codes), np.int32), tuple(states)), codes.shape[1]
    base, _ = merged(given, [given.codes[:, d] for d in range(dimensions)], merges)
    rows, levels, children = base, [_root(len(base))], []
    for dimension in range(dimensions):
        level = levels[-1]
        split = level.row_to - level.row_from > (max_leaf if dimension else 0)
        below, first_child, stars = _split(level, split, rows, dimension, merges, len(rows), dimension not in no_star)
        children.append(first_child)
        levels.append(below)
        rows = appended([rows, stars])
    children.append(np.zeros((len(levels[-1]), 2), np.int64))
    nodes = _nodes(levels, children)
    own, aggregated = _own_rows(nodes, rows, dimensions, merges)
    nodes = _summaries_together(nodes, own, rows, len(rows) + len(aggregated))
    return StarTree(tuple(sizes), tuple(merges), nodes, appended([rows, aggregated]), len(base), len(rows) - len(base))


def _root(rows: int) -> _Level:
    return _Level(np.array([NONE], np.int32), np.array([False]), np.array([0]), np.array([rows]))


def _split(
    level: _Level, split: NDArray[np.bool_], rows: Records, dimension: int, merges: Sequence[str], total: int, with_star: bool
) -> tuple[_Level, NDArray[np.int64], Records]:
    """The children of the nodes that are split, [nodes, 2] from and to before which child, and the rows of star children."""
    parent, picked = _rows_of(level, np.flatnonzero(split))
    code = rows.codes[picked, dimension]
    is_new = np.ones(len(picked), bool)
    is_new[1:] = (parent[1:] != parent[:-1]) | (code[1:] != code[:-1])
    starts = np.flatnonzero(is_new)
    lengths = np.diff(np.append(starts, len(picked)))
    values = np.bincount(parent[starts], minlength=len(level))
    starred = np.flatnonzero(split & (values > 1)) if with_star else np.zeros(0, np.int64)
    star_rows, star_parent = _star_rows(level, starred, rows, dimension, merges)
    star_lengths = np.bincount(star_parent, minlength=len(level))[starred]
    star_from = total + np.cumsum(star_lengths) - star_lengths
    owner = np.concatenate([parent[starts], starred])
    is_star = np.concatenate([np.zeros(len(starts), bool), np.ones(len(starred), bool)])
    order = np.lexsort((is_star, owner))
    row_from = np.concatenate([picked[starts], star_from])[order]
    below = _Level(
        np.concatenate([code[starts], np.full(len(starred), NONE, np.int32)])[order].astype(np.int32),
        is_star[order],
        row_from,
        row_from + np.concatenate([lengths, star_lengths])[order],
    )
    ends = np.searchsorted(owner[order], np.arange(len(level)), "right")
    return below, np.stack([np.searchsorted(owner[order], np.arange(len(level)), "left"), ends], axis=1), star_rows


def _rows_of(level: _Level, nodes: Rows) -> tuple[Rows, Rows]:
    """All rows of the nodes, node after node: of which node each is, and its number."""
    lengths = (level.row_to - level.row_from)[nodes]
    parent = np.repeat(nodes, lengths)
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return parent, level.row_from[parent] + within


def _star_rows(level: _Level, nodes: Rows, rows: Records, dimension: int, merges: Sequence[str]) -> tuple[Records, Rows]:
    """The rows of the nodes with a star in the dimension, node after node, equal ones merged; and of which node each is."""
    parent, picked = _rows_of(level, nodes)
    later = [rows.codes[picked, d] for d in range(dimension + 1, rows.codes.shape[1])]
    found, first = merged(rows, [parent, *later], merges, picked)
    found.codes[:, dimension] = 0
    found.stars[:] |= np.int32(1 << dimension)
    return found, parent[first]


def _nodes(levels: Sequence[_Level], children: Sequence[NDArray[np.int64]]) -> Nodes:
    lengths = [len(level) for level in levels]
    starts = np.cumsum([0, *lengths])
    # Children are numbered within their level.
    shifted = [pairs + starts[number + 1] for number, pairs in enumerate(children)]
    from_to = np.concatenate(shifted)
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


def _summaries_together(nodes: Nodes, own: Rows, rows: Records, total: int) -> Nodes:
    """Puts rows that sum up nodes of one level side by side, so that a query that asks for all of these reads few pages.

    What may change its place is a row that is all of a star leaf: no other node's range has it in it. The rows are moved in place.

    Args:
        own: For each node the row that sums it up.
        total: The number of rows, aggregated ones behind `rows` included.
    """
    alone = np.flatnonzero(nodes.is_star & (nodes.child_from == nodes.child_to) & (nodes.row_to - nodes.row_from == 1))
    places = np.sort(nodes.row_from[alone])
    level_of_row = np.full(total, np.iinfo(np.int32).max, np.int32)
    is_summed = own != NONE
    np.minimum.at(level_of_row, own[is_summed], nodes.level[is_summed])
    sources = places[np.lexsort((places, level_of_row[places]))]
    for array in (rows.codes, rows.stars, *rows.states):
        array[places] = array[sources]
    moved = np.arange(total)
    moved[sources] = places
    row_from, row_to = nodes.row_from.copy(), nodes.row_to.copy()
    row_from[alone] = moved[row_from[alone]]
    row_to[alone] = row_from[alone] + 1
    own_row = own.copy()
    own_row[is_summed] = moved[own[is_summed]]
    changed = {"row_from": row_from, "row_to": row_to, "own_row": own_row}
    return Nodes(**{**{name: getattr(nodes, name) for name in Nodes.__slots__}, **changed})


def _own_rows(nodes: Nodes, rows: Records, dimensions: int, merges: Sequence[str]) -> tuple[Rows, Records]:
    """Of each node the row that sums it up, and the rows that are made for this.

    A node of one row uses that, where all later dimensions of it are settled or it is a leaf; an inner node that of its star child.
    """
    own = np.full(len(nodes), NONE, np.int64)
    made: list[Records] = []
    total = len(rows)
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
            summed = _summed(nodes, needed, rows, level, dimensions, merges)
            own[needed] = total + np.arange(len(needed))
            made.append(summed)
            total += len(needed)
    return own, appended(made) if made else rows.at(np.zeros(0, np.int64))


def _summed(nodes: Nodes, needed: Rows, rows: Records, level: int, dimensions: int, merges: Sequence[str]) -> Records:
    """One row for each of the nodes, of all of its rows, with stars from the level on."""
    as_level = _Level(nodes.code[needed], nodes.is_star[needed], nodes.row_from[needed], nodes.row_to[needed])
    owner, picked = _rows_of(as_level, np.arange(len(needed)))
    summed, _ = merged(rows, [owner], merges, picked)
    summed.codes[:, level:] = 0
    summed.stars[:] |= np.int32(sum(1 << d for d in range(level, dimensions)))
    return summed
