"""The model of a tree's size against trees that were built."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from rtfilter.star_tree.actions.size_model import modelled_rows
from rtfilter.star_tree.build import build_tree


@pytest.mark.parametrize("max_leaf", [1, 20, 200, 10_000])
@pytest.mark.parametrize("sizes", [(10, 10, 10), (100, 10, 10), (10, 10, 100), (50, 8), (7, 6, 5, 4, 3), (1, 40, 2), (300,)])
@pytest.mark.parametrize("no_star", [(), (1,), (0,)])
@pytest.mark.parametrize("skewed", [False, True])
def test_estimates_are_within_a_factor_of_two(
    max_leaf: int, sizes: tuple[int, ...], no_star: tuple[int, ...], skewed: bool
) -> None:
    random = np.random.default_rng(7)
    draws = random.random((4_000, len(sizes)))
    codes = np.floor(np.array(sizes) * (draws**3 if skewed else draws)).astype(np.int32)
    no_star = tuple(number for number in no_star if number < len(sizes))
    tree = build_tree(codes, [np.ones(len(codes), np.int64)], ["sum"], sizes, max_leaf=max_leaf, no_star=no_star)

    def counted(wanted: Iterable[frozenset[int]]) -> dict[frozenset[int], int]:
        return {each: len(np.unique(codes[:, sorted(each)], axis=0)) for each in wanted}

    rows = modelled_rows(len(sizes), max_leaf, no_star, counted)
    assert len(tree.rows) / 2 <= rows <= len(tree.rows) * 2
