"""Golden cases A12 and A13, and what else `freq` and `parser` must say."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rtfilter.advice.votes.best_of_tree import Scored, parser_votes, scored_items
from rtfilter.advice.votes.freq import freq_votes
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint, TableUse, Workload
from rtfilter.advice.workload.predicates import Leaf, Not, Operator, Predicate
from tests.advice.abstract import both, column, either, eq, isin, like, ne, not_in, ranged, table

TABLE = table(
    column("a", 1000),
    column("b", 100),
    column("c", 4),
    column("d", 50, in_order=0.5),
    column("i", 1000, index="inverted"),
    column("s", 1000, in_order=1.0),
    column("u", None),
    rows=1_000_000,
)
TABLES = {"t": TABLE}


def workload(*predicates: Predicate | None, weight: int | Fraction = 1, entries: int | None = 1_000_000) -> Workload:
    found: dict[Fingerprint, Calls] = {}
    for predicate in predicates:
        found.setdefault(Fingerprint((TableUse("t", predicate),)), Calls()).add(weight, None, entries)
    return found


A12 = [
    (eq("a"), {"a": 999_000}),
    (isin("a", 10), {"a": 990_000}),
    (ne("c"), {"c": 250_000}),
    (not_in("c", 3), {"c": 750_000}),
    (not_in("c", 2), {"c": 500_000}),
    (eq("d"), {"d": 960_000}),
    (eq("i"), {}),
    (ranged("a"), {}),
    (isin("c", 8), {}),
]


@pytest.mark.parametrize(("predicate", "votes"), A12, ids=str)
def test_a12_votes_of_one_condition(predicate: Predicate, votes: dict[str, int]) -> None:
    assert parser_votes(workload(predicate), TABLES).votes.get("t", {}) == votes


@pytest.mark.parametrize(("order", "votes"), [(2, {"a": 999_000, "b": 990_000}), (1, {"a": 999_000})])
def test_a13_votes_of_an_and(order: int, votes: dict[str, int]) -> None:
    assert parser_votes(workload(both(eq("a"), eq("b"), eq("c"))), TABLES, order=order).votes == {"t": votes}


@pytest.mark.parametrize(
    ("predicate", "votes"),
    [
        (eq("s"), {}),
        (eq("u"), {}),
        (like("a"), {}),
        (either(eq("b"), eq("c")), {"b": 740_000, "c": 740_000}),
        (either(eq("b"), ranged("c")), {}),
        (both(either(eq("b"), eq("c")), eq("a")), {"a": 999_000, "b": 740_000, "c": 740_000}),
        # An arm of an OR counts with its best item, an AND inside an AND with all of them.
        (either(both(eq("a"), eq("c")), eq("b")), {"a": 989_000, "b": 989_000}),
        (Not(either(eq("c"), eq("b"))), {"c": 250_000, "b": 10_000}),
        (Not(both(ranged("c"), eq("b"))), {}),
        (both(eq("a"), isin("a", 10)), {"a": 999_000}),
        (ne("b"), {"b": 10_000}),
    ],
    ids=str,
)
def test_votes_of_trees(predicate: Predicate, votes: dict[str, int]) -> None:
    assert parser_votes(workload(predicate), TABLES).votes.get("t", {}) == votes


def test_selectivity_of_an_or_adds_up_shares() -> None:
    assert scored_items(either(eq("a"), eq("b"), eq("c")), TABLE) == [Scored(("a", "b", "c"), Fraction(1000, 261))]


def test_coverage_is_the_share_of_calls() -> None:
    found = parser_votes(workload(eq("a"), eq("a"), eq("b"), None), TABLES)
    assert found.coverage == {"t": {"a": 0.5, "b": 0.25}}


def test_unknown_entries_count_as_one_column_and_none_scanned_not_at_all() -> None:
    assert parser_votes(workload(eq("a"), entries=None), TABLES).votes == {"t": {"a": 999_000}}
    assert parser_votes(workload(eq("a"), entries=0), TABLES).votes == {}
    assert freq_votes(workload(eq("a"), entries=0), TABLES) == {}
    assert freq_votes(workload(eq("a"), entries=None), TABLES) == {"t": {"a": 1}}


def test_the_threshold_is_strict() -> None:
    assert parser_votes(workload(eq("b")), TABLES, threshold=100).votes == {}
    assert parser_votes(workload(eq("b")), TABLES, threshold=99).votes == {"t": {"b": 990_000}}
    assert freq_votes(workload(eq("b")), TABLES, threshold=100) == {}
    assert freq_votes(workload(eq("b")), TABLES, threshold=99) == {"t": {"b": 1}}


def test_freq_counts_a_column_once_a_query() -> None:
    asked = workload(
        both(eq("a"), ne("a"), isin("b", 2), ranged("c")),
        both(not_in("a", 2), like("b"), Leaf(("c",), Operator.IS_NULL)),
        Not(eq("d")),
        both(eq("i"), eq("s"), eq("u")),
        weight=Fraction(1, 2),
    )
    assert freq_votes(asked, TABLES) == {"t": {"a": 1, "b": Fraction(1, 2), "d": Fraction(1, 2)}}
