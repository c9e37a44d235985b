"""Which rows of a tree answer a query: a walk from the root, level by level, over all branches at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.records import Rows
from rtfilter.star_tree.tree import Nodes, StarTree


class Walked(Protocol):
    """A tree as the walk needs it: its nodes, and how many values each dimension has."""

    @property
    def nodes(self) -> Nodes: ...

    @property
    def sizes(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class Visit:
    """What a query reads.

    Attributes:
        ranges: [n, 2] rows from and to before, in order, none twice.
        left_over: [n], bit d is set where the rows of the range are still to be tested by dimension d's condition.
    """

    ranges: NDArray[np.int64]
    left_over: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """How many rows are read."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())


def visit(tree: Walked, conditions: Mapping[int, NDArray[np.bool_]], grouped: Collection[int]) -> Visit:
    """The rows that answer a query.

    Args:
        conditions: By dimension which of its codes pass, [sizes of the dimension].
        grouped: The dimensions whose values the answer tells apart.
    """
    nodes, dimensions = tree.nodes, len(tree.sizes)
    here = np.array([0], np.int64) if nodes.row_to[0] > nodes.row_from[0] else np.zeros(0, np.int64)
    found: list[Rows] = []
    left: list[NDArray[np.int32]] = []
    for dimension in range(dimensions + 1):
        later = [d for d in range(dimension, dimensions) if d in conditions or d in grouped]
        if not later:
            own = nodes.own_row[here]
            _keep(found, left, np.stack([own, own + 1], axis=1), 0)
            break
        is_leaf = nodes.child_from[here] == nodes.child_to[here]
        leaves = here[is_leaf]
        bits = sum(1 << d for d in later if d in conditions)
        _keep(found, left, np.stack([nodes.row_from[leaves], nodes.row_to[leaves]], axis=1), bits)
        here = _children(nodes, here[~is_leaf], conditions.get(dimension), dimension in grouped)
    ranges, left_over = np.concatenate(found), np.concatenate(left)
    order = np.argsort(ranges[:, 0], kind="stable")
    return Visit(ranges[order], left_over[order])


def _keep(found: list[Rows], left: list[NDArray[np.int32]], ranges: Rows, bits: int) -> None:
    found.append(ranges)
    left.append(np.full(len(ranges), bits, np.int32))


def _children(nodes: Nodes, parents: Rows, passes: NDArray[np.bool_] | None, is_grouped: bool) -> Rows:
    """The children through which the query goes: those that pass, or the star child where it stands for just them."""
    lengths = nodes.child_to[parents] - nodes.child_from[parents]
    parent = np.repeat(np.arange(len(parents)), lengths)
    child = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths) + nodes.child_from[parents[parent]]
    is_star = nodes.is_star[child]
    passing = ~is_star if passes is None else ~is_star & passes[nodes.code[child]]
    has_star = np.bincount(parent[is_star], minlength=len(parents)) > 0
    all_pass = np.bincount(parent[~is_star & ~passing], minlength=len(parents)) == 0
    by_star = has_star & all_pass & (not is_grouped)
    taken: Rows = child[np.where(by_star[parent], is_star, passing)]
    return taken


def passing_rows(tree: StarTree, visited: Visit, conditions: Mapping[int, NDArray[np.bool_]]) -> Rows:
    """The numbers of the visited rows that pass what was left over: each condition holds, or the row is about all values."""
    lengths = visited.ranges[:, 1] - visited.ranges[:, 0]
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(visited.ranges[:, 0], lengths) + within
    left = np.repeat(visited.left_over, lengths)
    keeps = np.ones(len(rows), bool)
    for dimension, passes in conditions.items():
        is_star = tree.rows.stars[rows] & (1 << dimension) != 0
        asked = left & (1 << dimension) != 0
        keeps &= ~asked | is_star | passes[tree.rows.codes[rows, dimension]]
    passed: Rows = rows[keeps]
    return passed
