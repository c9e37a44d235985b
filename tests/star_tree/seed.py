"""The table of the seed, and an answer by brute force."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rtfilter.star_tree.build import build_tree
from rtfilter.star_tree.records import MERGES
from rtfilter.star_tree.traverse import passing_rows, visit
from rtfilter.star_tree.tree import StarTree

COUNTRIES, BROWSERS, LOCALES = ("CA", "MX", "USA"), ("Chrome", "Firefox", "Safari"), ("en", "es", "fr")
SEED = (
    ("CA", "Chrome", "en", 400),
    ("CA", "Firefox", "fr", 200),
    ("MX", "Safari", "es", 300),
    ("MX", "Safari", "en", 100),
    ("USA", "Chrome", "en", 600),
    ("USA", "Firefox", "es", 200),
    ("USA", "Firefox", "en", 400),
)
DIMENSIONS = (COUNTRIES, BROWSERS, LOCALES)


def tree_of(rows: Sequence[Sequence[int]], max_leaf: int = 1, sizes: Sequence[int] | None = None, **options: object) -> StarTree:
    """A tree of rows whose last column is summed."""
    table = np.array(rows, np.int64).reshape(len(rows), -1)
    codes = table[:, :-1].astype(np.int32)
    known = sizes or [int(codes[:, d].max(initial=-1)) + 1 for d in range(codes.shape[1])]
    return build_tree(codes, [table[:, -1]], ["sum"], known, max_leaf=max_leaf, **options)  # type: ignore[arg-type]


def seed_tree(max_leaf: int = 1) -> StarTree:
    return tree_of([[*(d.index(v) for d, v in zip(DIMENSIONS, row[:-1], strict=True)), row[-1]] for row in SEED], max_leaf)


def passes(dimension: int, *names: str) -> dict[int, NDArray[np.bool_]]:
    return {dimension: np.isin(DIMENSIONS[dimension], names)}


def answer(
    tree: StarTree, conditions: Mapping[int, NDArray[np.bool_]] | None = None, grouped: Collection[int] = ()
) -> tuple[dict[tuple[int, ...], int], int]:
    """The sums by group, and how many rows were read for them."""
    visited = visit(tree, conditions or {}, grouped)
    rows = passing_rows(tree, visited, conditions or {})
    found: dict[tuple[int, ...], int] = {}
    for row in rows:
        key = tuple(int(tree.rows.codes[row, d]) for d in sorted(grouped))
        found[key] = found.get(key, 0) + int(tree.rows.states[0][row])
        assert not any(tree.rows.stars[row] & (1 << d) for d in grouped)
    return found, visited.rows


def brute(
    codes: NDArray[np.int32],
    states: Sequence[NDArray[np.int64]],
    merges: Sequence[str],
    conditions: Mapping[int, NDArray[np.bool_]],
    grouped: Collection[int],
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The answer from the rows themselves, row by row."""
    found: dict[tuple[int, ...], list[int]] = {}
    with np.errstate(over="ignore"):
        for number, row in enumerate(codes):
            if all(passing[row[d]] for d, passing in conditions.items()):
                key = tuple(int(row[d]) for d in sorted(grouped))
                mine = [state[number] for state in states]
                before = found.get(key)
                found[key] = mine if before is None else [MERGES[m](a, b) for m, a, b in zip(merges, before, mine, strict=True)]
    return {key: tuple(int(value) for value in values) for key, values in found.items()}
