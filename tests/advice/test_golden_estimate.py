"""Golden cases A1 to A7: Pinot's published numbers, and a trace of the choice between sets of columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtfilter.advice.votes.choose_columns import WeightedVote, choose_columns, subsets
from rtfilter.advice.votes.scan_cost import Part, Pricing, Role, Turn, Vote, price, vote_of_parts, votes_of
from rtfilter.advice.votes.selectivity import leaf_share, selected
from rtfilter.advice.workload.predicates import Leaf, Not, Operator, Predicate, opposite
from tests.advice.abstract import Q1, Q2, Q3, QUERIES, both, column, either, eq, isin, like, ne, not_in, pinot, ranged, table


def told(vote: Vote, weight: float = 1.0) -> dict[str, float]:
    return {" ".join(sorted(each.columns)): round(each.cost * weight, 3) for each in vote.alternatives}


@pytest.mark.parametrize(
    ("n", "k", "r", "share"), [(5, 1, 1, 0.2), (5, 2, 2, 0.7), (8, 2, 4, 55 / 70), (4, 3, 2, 1.0), (6, 1, 1.5, 0.25)]
)
def test_a1_the_share_of_selected_rows(n: float, k: int, r: float, share: float) -> None:
    assert selected(n, k, r) == pytest.approx(share, abs=1e-12)


def test_a1_the_share_of_not_in() -> None:
    assert leaf_share(not_in("x", 2), column("x", 8, 4)) == pytest.approx(15 / 70, abs=1e-12)


def test_a2_all_pairs_of_four() -> None:
    found = ["".join(str(i) for i in range(4) if each >> i & 1) for each in subsets(4, 2)]
    assert found == ["01", "02", "03", "12", "13", "23"]


def test_a3_a_nested_or_that_two_indexes_serve() -> None:
    (vote,) = votes_of(Q3, Pricing(pinot()))
    assert told(vote, 4) == {"c e": 1.309, "": 7.625}
    assert round(vote.share, 3) == 0.023


def test_a4_one_of_two_columns() -> None:
    (vote,) = votes_of(Q1, Pricing(pinot()))
    assert told(vote) == {"d": 0.695, "c": 0.835, "": 1.645}
    assert round(vote.share, 3) == 0.034


def test_each_arm_of_an_or_at_the_top_votes_for_itself() -> None:
    first, second = votes_of(Q2, Pricing(pinot()))
    assert (told(first, 2), round(first.share, 3)) == ({"h": 0.058, "": 0.15}, 0.015)
    assert (told(second, 2), round(second.share, 3)) == ({"f j": 4.0, "": 12.0}, 0.5)


def test_a5_the_whole_choice_with_its_trace() -> None:
    pricing = Pricing(pinot())
    votes = [WeightedVote(vote, weight) for query, weight in QUERIES for vote in votes_of(query, pricing)]
    choice = choose_columns(votes, pricing.table, min_gain=0.06)
    assert (choice.indexed, choice.sorted_by) == (("e", "f", "j"), "c")
    assert round(choice.bare, 3) == 45.276
    assert [("".join(each.columns), round(each.cost, 3), each.accepted) for each in choice.rounds] == [
        ("d", 24.861, True),
        ("ce", 17.183, True),
        ("cde", 16.545, False),
        ("cefj", 9.183, True),
        ("cdefj", 8.545, False),
        ("cdefhj", 8.453, False),
    ]
    assert {name: round(weight, 3) for name, weight in choice.weights.items()} == {"c": 8.815, "e": 8.052, "f": 4.0, "j": 4.0}


def leaf_part(name: str, share: float) -> Part:
    return Part(frozenset((name,)), Turn.SCAN, Role.CANDIDATE, 1.0, 0.0, share)


def test_a6_three_leaves_from_the_most_selective_on() -> None:
    vote = vote_of_parts([leaf_part("1", 0.01), leaf_part("2", 0.1), leaf_part("3", 0.5)], Pricing(table()))
    assert told(vote) == {"1": 0.011, "2": 0.101, "": 1.011}


def test_a7_inside_a_class_the_order_written_counts() -> None:
    vote = vote_of_parts([leaf_part("3", 0.5), leaf_part("2", 0.1), leaf_part("1", 0.01)], Pricing(table()))
    assert told(vote) == {"1": 0.015, "2": 0.15, "": 1.55}


@pytest.mark.parametrize(
    ("predicate", "cost", "share"),
    [
        (eq("c"), 1.0, 1 / 7),
        (ne("c"), 1.0, 6 / 7),
        (isin("c", 2), 1.0, 2 / 7),
        (not_in("c", 2), 1.0, 5 / 7),
        (isin("e", 2), 4.0, 1 - 14 * 13 / (18 * 17)),
        (ranged("c"), 1.0, 0.5),
        (like("d"), 2.0, 0.5),
        (Leaf(("c",), Operator.IS_NULL), 0.0, 0.5),
        (Leaf(("c",), Operator.IS_NOT_NULL), 0.0, 0.5),
        (Leaf(("d",), Operator.TEXT_MATCH), 0.0, 0.5),
        (Leaf(("c", "d", "e"), Operator.FUNCTION), 7.0, 0.5),
        (Leaf(("c",), Operator.OTHER), 1.0, 0.5),
        (Leaf(("nobody knows",), Operator.RANGE), 1.0, 0.5),
        (both(eq("c"), eq("j")), 1 + 1 / 7, 1 / 28),
        (either(eq("c"), eq("j")), 2.0, 1 / 7 + 1 / 4),
        (Not(both(eq("c"), eq("j"))), 1 + 1 / 7, 27 / 28),
        (opposite(isin("c", 3)), 1.0, 4 / 7),
        (either(ranged("c"), ranged("j"), ranged("h")), 3.0, 1.0),
    ],
    ids=str,
)
def test_every_operator_has_its_cost_and_share(predicate: Predicate, cost: float, share: float) -> None:
    part = price(predicate, Pricing(pinot(indexed=False)), 0)
    assert (part.cost, part.share) == pytest.approx((cost, share), abs=1e-12)


def test_an_or_with_an_arm_that_no_index_serves_asks_for_none() -> None:
    part = price(both(either(eq("c"), ranged("j"))), Pricing(pinot()), 0)
    assert part.columns == frozenset()


def test_deeper_than_two_levels_an_and_with_rows_takes_no_further_index() -> None:
    inner = both(isin("a", 10), eq("c"))
    pricing = Pricing(pinot())
    assert price(inner, pricing, 1).columns == {"c"}
    assert price(inner, pricing, 2).columns == frozenset()
    # A column that leaves more rows than the index that is there is not worth one.
    assert price(both(eq("a"), isin("c", 6)), pricing, 1).columns == frozenset()


def test_a_set_that_was_refused_leaves_no_column_behind() -> None:
    names = "pqrs"
    vote = vote_of_parts([leaf_part(name, 0.001) for name in names], Pricing(table()))
    assert {len(each.columns) for each in vote.alternatives} == {0, 1}


def test_with_bytes_a_step_is_a_share_of_the_query() -> None:
    plain = table(column("a", 2), column("b", 2))
    heavy = replace(plain, columns={name: replace(each, bytes=1000) for name, each in plain.columns.items()})
    parts = [leaf_part("a", 0.9), leaf_part("b", 0.9)]
    assert told(vote_of_parts(parts, Pricing(plain))) == {"a": 0.9, "b": 0.9, "a b": 0.0, "": 1.9}
    # The second index saves 0.9 column scans, which is less than 0.6 of 1.9.
    assert told(vote_of_parts(parts, Pricing(heavy))) == {"a": 0.9, "b": 0.9, "": 1.9}
    assert price(eq("a"), Pricing(heavy), 0).cost == 1000.0
