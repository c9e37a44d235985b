"""Builds a star-tree in memory, level by level with numpy.

After Pinot's star-tree index (`BaseSingleTreeBuilder`). Otherwise than there, a star is a bit of the row, and null is a value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.records import Codes, Records, Rows, appended, merged
from rtfilter.star_tree.structure import Children, Level, level_below, nodes_of, own_rows, root_level, summaries_together
from rtfilter.star_tree.tree import Nodes, StarTree

MAX_LEAF = 10_000


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
    rows, levels, children = base, [root_level(len(base))], []
    for dimension in range(dimensions):
        level = levels[-1]
        split = level.lengths > (max_leaf if dimension else 0)
        below, pairs, stars = _split(level, split, rows, dimension, merges, dimension not in no_star)
        children.append(pairs)
        levels.append(below)
        rows = appended([rows, stars])
    nodes = nodes_of(levels, children)
    own = own_rows(nodes, len(rows), dimensions)
    made = [_summed(nodes, needed, rows, level, dimensions, merges) for level, needed in own.made]
    nodes, moved = summaries_together(nodes, own.row)
    for array in (rows.codes, rows.stars, *rows.states):
        array[moved.places] = array[moved.sources]
    return StarTree(tuple(sizes), tuple(merges), nodes, appended([rows, *made]), len(base), len(rows) - len(base))


def _split(
    level: Level, split: NDArray[np.bool_], rows: Records, dimension: int, merges: Sequence[str], with_star: bool
) -> tuple[Level, NDArray[np.int64], Records]:
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
    children = Children(parent[starts], code[starts], picked[starts], lengths)
    below = level_below(len(level), children, starred, star_lengths, len(rows))
    return below.level, below.children, star_rows


def _rows_of(level: Level, nodes: Rows) -> tuple[Rows, Rows]:
    """All rows of the nodes, node after node: of which node each is, and its number."""
    lengths = (level.row_to - level.row_from)[nodes]
    parent = np.repeat(nodes, lengths)
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return parent, level.row_from[parent] + within


def _star_rows(level: Level, nodes: Rows, rows: Records, dimension: int, merges: Sequence[str]) -> tuple[Records, Rows]:
    """The rows of the nodes with a star in the dimension, node after node, equal ones merged; and of which node each is."""
    parent, picked = _rows_of(level, nodes)
    later = [rows.codes[picked, d] for d in range(dimension + 1, rows.codes.shape[1])]
    found, first = merged(rows, [parent, *later], merges, picked)
    found.codes[:, dimension] = 0
    found.stars[:] |= np.int32(1 << dimension)
    return found, parent[first]


def _summed(nodes: Nodes, needed: Rows, rows: Records, level: int, dimensions: int, merges: Sequence[str]) -> Records:
    """One row for each of the nodes, of all of its rows, with stars from the level on."""
    as_level = Level(nodes.code[needed], nodes.is_star[needed], nodes.row_from[needed], nodes.row_to[needed])
    owner, picked = _rows_of(as_level, np.arange(len(needed)))
    summed, _ = merged(rows, [owner], merges, picked)
    summed.codes[:, level:] = 0
    summed.stars[:] |= np.int32(sum(1 << d for d in range(level, dimensions)))
    return summed
