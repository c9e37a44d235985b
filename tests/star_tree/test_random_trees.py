"""12,000 random trees, each with a random query, against the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.star_tree.build import build_tree
from rtfilter.star_tree.records import merged
from rtfilter.star_tree.traverse import passing_rows, visit
from tests.cases_share import cases
from tests.star_tree.seed import brute

TREES = 12_000
PARTS = 8
MERGES = ("sum", "min", "max")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_tree_answers_as_its_rows_do(part: int) -> None:
    r = np.random.default_rng(part)
    trees, starred, fewer, rows_read = cases(TREES // PARTS), 0, 0, 0
    for _ in range(trees):
        dimensions, rows = int(r.integers(1, 6)), int(r.integers(0, 60))
        sizes = r.integers(1, 7, dimensions)
        codes = np.minimum(r.integers(0, sizes, (rows, dimensions)), r.integers(0, sizes, (rows, dimensions))).astype(np.int32)
        values = r.integers(-(2**62), 2**62, rows)
        states = [values, values, values]
        no_star = tuple(int(d) for d in np.flatnonzero(r.random(dimensions) < 0.2))
        tree = build_tree(codes, states, MERGES, sizes.tolist(), max_leaf=int(r.integers(1, 12)), no_star=no_star)
        conditions = {int(d): r.random(sizes[d]) < r.choice([0.3, 0.7, 1.0]) for d in np.flatnonzero(r.random(dimensions) < 0.5)}
        grouped = [int(d) for d in np.flatnonzero(r.random(dimensions) < 0.4)]

        visited = visit(tree, conditions, grouped)
        picked = passing_rows(tree, visited, conditions)
        read = tree.rows.at(picked)
        summed, _ = merged(read, [read.codes[:, d] for d in grouped] or [np.zeros(len(read), np.int32)], MERGES)
        keys = map(tuple, summed.codes[:, grouped].tolist())
        found = dict(zip(keys, zip(*(state.tolist() for state in summed.states), strict=True), strict=True))
        assert found == brute(codes, states, MERGES, conditions, grouped)

        assert (np.diff(visited.ranges.ravel()) >= 0).all() if len(visited.ranges) else not found
        starred += int((read.stars != 0).any())
        passing = np.logical_and.reduce([passes[codes[:, d]] for d, passes in conditions.items()], initial=True, axis=0)
        fewer += visited.rows < int(np.sum(passing & np.ones(rows, bool)))
        rows_read += visited.rows
    assert starred > trees / 4 and fewer > trees / 4 and rows_read > trees
