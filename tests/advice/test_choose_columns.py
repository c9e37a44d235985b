"""The choice between sets of columns: equal input gives equal output in any order, and more than twenty columns are no trap."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtfilter.advice.votes.choose_columns import MOST_ENUMERATED, WeightedVote, choose_columns, cost_with
from rtfilter.advice.votes.scan_cost import NONE, Alternative, Vote
from tests.advice.abstract import column, table

NAMES = "abcdefg"
WIDE = table(*(column(name, 10 + i) for i, name in enumerate(NAMES)))


@st.composite
def weighted_votes(draw: st.DrawFn, names: str = NAMES) -> WeightedVote:
    cost = draw(st.floats(0.1, 10))
    sets = draw(st.lists(st.frozensets(st.sampled_from(names), min_size=1, max_size=3), max_size=3))
    alternatives = [Alternative(each, cost * draw(st.floats(0, 1))) for each in sets]
    return WeightedVote(Vote((*alternatives, Alternative(NONE, cost)), 0.5, cost), draw(st.floats(0.1, 5)))


@settings(max_examples=60, deadline=None)
@given(st.lists(weighted_votes(), max_size=8), st.randoms())
def test_no_order_matters(votes: list[WeightedVote], random: object) -> None:
    shuffled = list(votes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert choose_columns(votes, WIDE) == choose_columns(shuffled, WIDE)


@settings(max_examples=60, deadline=None)
@given(st.lists(weighted_votes(), min_size=1, max_size=8))
def test_each_round_has_the_best_of_all_sets(votes: list[WeightedVote]) -> None:
    for each in choose_columns(votes, WIDE).rounds:
        reachable = {name for v in votes for a in v.vote.alternatives if len(a.columns) <= each.k for name in a.columns}
        sets = combinations(sorted(reachable), min(each.k, len(reachable)))
        assert each.cost == pytest.approx(min(cost_with(frozenset(chosen), votes) for chosen in sets))


def needs(*names: str, weight: float = 1.0) -> WeightedVote:
    return WeightedVote(Vote((Alternative(frozenset(names), 0.0), Alternative(NONE, 1.0)), 0.1, 1.0), weight)


def test_equal_gains_go_by_name() -> None:
    assert choose_columns([needs("b"), needs("a")], WIDE).rounds[0].columns == ("a",)


def test_a_set_must_better_the_cost_by_more_than_the_least_gain() -> None:
    votes = [needs("a", weight=95), needs("b", weight=5)]
    assert [each.accepted for each in choose_columns(votes, WIDE, 0.05).rounds] == [True, False]
    assert [each.accepted for each in choose_columns(votes, WIDE, 0.049).rounds] == [True, True]


def test_two_rounds_without_gain_end_the_search() -> None:
    votes = [needs("a", weight=100), needs("b"), needs("c"), needs("d")]
    assert [each.accepted for each in choose_columns(votes, WIDE).rounds] == [True, False, False]


def test_nothing_to_gain_gives_nothing() -> None:
    empty = choose_columns([], WIDE)
    assert (empty.indexed, empty.sorted_by, empty.rounds, empty.before) == ((), None, (), 0.0)


def test_of_heavy_single_valued_columns_the_one_with_most_values_is_sorted_by() -> None:
    known = table(column("a", 10), column("b", 20), column("c", 30, 2.0), column("d", 1000))
    votes = [needs("a", weight=10), needs("b", weight=7), needs("c", weight=10), needs("d", weight=6.9)]
    assert choose_columns(votes, known).sorted_by == "b"


@pytest.mark.parametrize("columns", [MOST_ENUMERATED + 5, 70])
def test_many_columns_are_chosen_greedily_and_said_so(columns: int) -> None:
    names = [f"c{i:02}" for i in range(columns)]
    known = table(*(column(name, 100) for name in names))
    # A pair of columns that only pays together must be found, too.
    votes = [needs(name, weight=1 + i / 100) for i, name in enumerate(names[:8])] + [needs(names[-1], names[-2], weight=50.0)]
    votes += [needs(name, weight=0.001) for name in names[8:-2]]
    choice = choose_columns(votes, known, 0.005)
    assert choice.is_greedy and {names[-1], names[-2], *names[:8]} <= {*choice.indexed, choice.sorted_by}


def test_greedy_and_enumeration_agree_where_both_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = [needs("a", "b", weight=3), needs("c", weight=2), needs("d", weight=2.5), needs("a", weight=1)]
    all_sets = choose_columns(votes, WIDE)
    monkeypatch.setattr("rtfilter.advice.votes.choose_columns.MOST_ENUMERATED", 1)
    grown = choose_columns(votes, WIDE)
    assert not all_sets.is_greedy and grown.is_greedy
    assert [each.columns for each in grown.rounds] == [each.columns for each in all_sets.rounds]
    assert math.isclose(grown.rounds[-1].cost, all_sets.rounds[-1].cost)
