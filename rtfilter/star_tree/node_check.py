"""Whether nodes that were read from a file are those of a tree, so that no walk leaves it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rtfilter.star_tree.tree import NONE, Nodes


def checked_nodes(nodes: Nodes, sizes: Sequence[int], rows: int) -> Nodes:
    """The nodes, if they are those of a tree with `sizes[d]` values in dimension d and so many rows.

    Raises:
        ValueError: they are not.
    """
    if not len(nodes) or nodes.level[0] != 0 or bool((nodes.level[1:] < 1).any()) or bool((nodes.level > len(sizes)).any()):
        raise ValueError("there is no root, or a level that the tree can't have")
    _check_rows(nodes, rows)
    _check_children(nodes)
    _check_codes(nodes, sizes)
    return nodes


def _check_rows(nodes: Nodes, rows: int) -> None:
    begin, end, own = nodes.row_from, nodes.row_to, nodes.own_row
    if bool(((begin < 0) | (begin > end) | (end > rows)).any()):
        raise ValueError(f"a node's rows are not among the {rows}")
    if bool(((own < NONE) | (own >= rows) | ((own == NONE) & (begin < end))).any()):
        raise ValueError("a node's own row is not there")


def _check_children(nodes: Nodes) -> None:
    """Each node but the root is the child of one node, of the level before its own; a star child is the last one."""
    begin, end, count = nodes.child_from, nodes.child_to, len(nodes)
    if begin[0] != 1 or end[-1] != count or bool((begin > end).any()) or bool((begin[1:] != end[:-1]).any()):
        raise ValueError("children are not one after the other")
    parent = np.repeat(np.arange(count), end - begin)
    if bool((nodes.level[1:] != nodes.level[parent] + 1).any()):
        raise ValueError("a child is not on the level below its parent's")
    if nodes.is_star[0] or bool((nodes.is_star[1:-1] & (parent[1:] == parent[:-1])).any()):
        raise ValueError("a star child is not the last one")


def _check_codes(nodes: Nodes, sizes: Sequence[int]) -> None:
    plain = np.flatnonzero(~nodes.is_star)[1:]
    code, size = nodes.code[plain], np.array(sizes, np.int64)[nodes.level[plain] - 1]
    if bool(((code < 0) | (code >= size)).any()):
        raise ValueError("a node is of a value that is not there")
