"""Trees and walks of the seed, and of the projects that have star-trees: the published numbers and those computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.star_tree.build import build_tree
from tests.star_tree.seed import BROWSERS, COUNTRIES, LOCALES, answer, passes, seed_tree, tree_of


@pytest.mark.parametrize(
    ("max_leaf", "layout"), [(1, (7, 20, 1)), (2, (7, 13, 5)), (4, (7, 9, 6)), (7, (7, 6, 4)), (100, (7, 6, 4))]
)
def test_s1_s2_base_star_and_aggregated_rows(max_leaf: int, layout: tuple[int, int, int]) -> None:
    tree = seed_tree(max_leaf)
    assert (tree.base_rows, tree.star_rows, tree.aggregated_rows) == layout


def test_s3_one_row_a_sum() -> None:
    tree = seed_tree()
    assert answer(tree) == ({(): 2200}, 1)
    assert answer(tree, passes(0, "USA")) == ({(): 1200}, 1)
    assert answer(tree, passes(2, "en")) == ({(): 1500}, 1)
    assert answer(tree, grouped=[1]) == ({(0,): 1000, (1,): 800, (2,): 400}, 3)


def test_s4_all_match_goes_by_the_star() -> None:
    tree = seed_tree()
    assert answer(tree, passes(1, "Firefox") | passes(2, "en")) == ({(): 400}, 1)
    assert answer(tree, passes(0, "CA", "MX")) == ({(): 1000}, 2)
    assert answer(tree, passes(0, *COUNTRIES)) == ({(): 2200}, 1)
    assert answer(tree, passes(0, "DE")) == ({}, 0)
    groups, rows = answer(tree, grouped=[0, 2])
    assert len(groups) == rows == 6


def test_s5_what_is_left_over_is_each_branchs_own() -> None:
    conditions = passes(1, "Firefox", "Safari") | passes(2, "en", "es")
    assert answer(seed_tree(), conditions, grouped=[0]) == ({(1,): 400, (2,): 600}, 3)
    for max_leaf in (2, 4, 7):
        assert answer(seed_tree(max_leaf), conditions, grouped=[0])[0] == {(1,): 400, (2,): 600}


def test_s6_a_star_stands_for_all_values_only() -> None:
    tree = tree_of([(0, 2, 8), (1, 2, 5), (1, 0, 5), (2, 0, 7)])
    assert answer(tree, {0: np.array([False, True, True]), 1: np.array([True, True, True])})[0] == {(): 17}


def test_s8_s22_null_is_a_value() -> None:
    rows = [(0, 0, 0), (1, 1, 10), (6, 2, 20), (3, 3, 30), (4, 4, 40), (5, 5, 50)]
    tree = tree_of(rows, 1000)
    assert len(tree.rows) == 13 and answer(tree)[0] == {(): 150}
    assert answer(tree, {0: np.arange(7) == 6})[0] == {(): 20}
    s22 = tree_of([(n, n, n) for n in range(1, 6)] + [(6, 0, 0)])
    assert (s22.base_rows, len(s22.rows)) == (6, 13)


def test_s17_the_star_of_a_null_is_not_the_star() -> None:
    a, b, null, x, y = 0, 1, 2, 0, 1
    tree = tree_of([(null, x, 1), (null, y, 2), (a, x, 4), (a, x, 8), (b, y, 16)])
    assert (tree.base_rows, tree.star_rows) == (4, 4)
    assert answer(tree, grouped=[0])[0] == {(a,): 12, (b,): 16, (null,): 3}
    assert answer(tree, {1: np.array([True, False])}, grouped=[0])[0] == {(a,): 12, (null,): 1}


@pytest.mark.parametrize(("max_leaf", "rows"), [(1, 2), (2, 6)])
def test_s18_leaves_are_read_whole(max_leaf: int, rows: int) -> None:
    assert answer(seed_tree(max_leaf), passes(2, "es"), grouped=[0]) == ({(1,): 300, (2,): 200}, rows)


def test_s19_conditions_and_groups_together() -> None:
    tree = seed_tree()
    assert answer(tree, passes(0, "MX")) == ({(): 400}, 1)
    assert answer(tree, passes(0, "MX"), grouped=[2]) == ({(LOCALES.index("es"),): 300, (LOCALES.index("en"),): 100}, 2)
    usa = answer(tree, passes(0, "USA") | passes(2, "en"), grouped=[1])
    assert usa == ({(BROWSERS.index("Chrome"),): 600, (BROWSERS.index("Firefox"),): 400}, 2)


def test_s28_sums_of_long_numbers_are_exact() -> None:
    tree = tree_of([(0, 2**53 + 1), (1, 1)])
    assert answer(tree, {0: np.array([True, False])})[0] == {(): 9_007_199_254_740_993}
    wrapped = tree_of([(0, 2**63 - 1), (1, 2)])
    assert answer(wrapped)[0] == {(): -(2**63) + 1}


@pytest.mark.parametrize("no_star", [(), (0,), (1,), (0, 1, 2)])
def test_an_empty_table_has_no_rows(no_star: tuple[int, ...]) -> None:
    tree = build_tree(np.zeros((0, 3), np.int32), [np.zeros(0, np.int64)], ["sum"], [0, 0, 0], no_star=no_star)
    assert len(tree.rows) == 0 and answer(tree) == ({}, 0) == answer(tree, {1: np.zeros(0, bool)}, grouped=[0])


def test_s20_first_and_last_of_signed_keys_stay_apart() -> None:
    codes = np.array([[0, 4, 3, 4], [0, 4, 3, 4], [1, 4, 2, 1], [1, 4, 2, 1], [1, 4, 2, 1]], np.int32)
    longest = np.iinfo(np.int64).max
    states = [
        np.array([12, 9, 10, 14, 11]),
        np.array([10, 4, 6, 12, 16]),
        np.array([0, 0, 0, 0, 0]) + 1,
        np.array([8, 9, 12, 6, 8]),
        np.array([20, 12, 10, 24, longest]),
    ]
    tree = build_tree(codes, states, ["sum", "sum", "sum", "min", "max"], [2, 5, 4, 5])
    assert tree.base_rows == 2
    assert [[int(state[row]) for state in tree.rows.states] for row in (0, 1)] == [[21, 14, 2, 8, 20], [35, 34, 3, 6, longest]]
