"""What RTFILTER hints come to, and what the planner makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inputs.table_hints import Directive, TableHint, directive_of, hint_warnings
from tests.planner.plans import DIM, Raw, answer_to, attr, broadcast, column, exchange, join, only_candidate, scan, where


def hint(
    *words: str, names: tuple[str, ...] = ("spark_catalog.default.fact", "f"), known: tuple[str, ...] = ("d", "f")
) -> TableHint:
    return TableHint(words, names, known)


class TestDirectives:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("never",), Directive("never")),
            (("ALWAYS",), Directive("always")),
            (("range", "Set"), Directive(None, ("range", "set"))),
            (("kinds(bloom,set)",), Directive(None, ("set", "bloom"))),
            (("always", "bloom"), Directive("always", ("bloom",))),
            (("never", "f"), Directive("never")),
            (("never", "fact"), Directive("never")),
            (("never", "default.fact"), Directive("never")),
            (("never", "`F`"), Directive("never")),
            (("never", "inventory"), Directive("never")),
            (("never", "always"), Directive("always")),
            (("never", "ct"), Directive()),
            (("never", "other.fact"), Directive()),
            (("nevr",), Directive()),
            ((), Directive()),
        ],
    )
    def test_words(self, words: tuple[str, ...], expected: Directive) -> None:
        assert directive_of([hint(*words)], "inventory") == expected

    def test_a_hint_for_the_table_counts_more_than_one_for_all_wherever_they_stand(self) -> None:
        everything, own = hint("never"), hint("always", "f")
        assert directive_of([everything, own], "t").cost == directive_of([own, everything], "t").cost == "always"

    def test_an_inner_hint_counts_more_than_an_outer_one_and_each_word_for_itself(self) -> None:
        inner, outer = hint("always"), hint("never", "range")
        assert directive_of([inner, outer], "t") == Directive("always", ("range",))

    def test_a_misspelt_table_does_not_spread_the_hint_over_all_tables(self) -> None:
        assert directive_of([hint("never", "fcat")], "t") == Directive()


class TestWarnings:
    def test_an_unknown_word_is_named_once_with_the_nearest_known_one(self) -> None:
        hints = [hint("nevr", names=("f",)), hint("nevr", names=("d",))]
        (sentence,) = hint_warnings(hints, ["inventory"])
        assert "RTFILTER(nevr)" in sentence and "'nevr'" in sentence and "Did you mean 'never'?" in sentence

    def test_a_table_elsewhere_in_the_query_and_the_label_of_a_scan_are_known(self) -> None:
        assert hint_warnings([hint("never", "d", "inventory", "fact")], ["inventory", "fact"]) == ()

    def test_a_hint_without_words_is_told_what_it_takes(self) -> None:
        (sentence,) = hint_warnings([hint()], [])
        assert "always, never, range, set, bloom" in sentence


def fact(*hints: Raw) -> Raw:
    return scan("fact", column(1, "k"), column(2, "v"), bytes=100_000_000, hints=list(hints))


def of_words(*words: str) -> Raw:
    return {"words": list(words), "names": ["fact"], "known": ["fact", "dim"]}


def star(*hints: Raw) -> Raw:
    return join(where(fact(*hints)), broadcast(where(DIM)), [attr(1, "k")], [attr(11, "d_key")])


class TestPlans:
    def test_never_refuses_the_filters_of_the_scan(self) -> None:
        candidate = only_candidate(star(of_words("never")))
        assert (candidate.decision, candidate.reason, candidate.placeholder) == ("skipped", "HINT_NEVER", None)
        assert "fact" in candidate.detail

    def test_never_on_another_table_does_not(self) -> None:
        assert only_candidate(star(of_words("never", "dim"))).reason == "PLANNED"

    def test_a_hint_lifts_the_sessions_never_for_its_table(self) -> None:
        assert only_candidate(star(of_words("always")), cost="never").reason == "PLANNED"
        assert only_candidate(star(of_words("always", "dim")), cost="never").reason == "COST_NEVER"
        assert only_candidate(star(), cost="never").reason == "COST_NEVER"

    def test_kinds_are_those_of_the_hint(self) -> None:
        (placeholder,) = answer_to(star(of_words("range", "bloom"))).placeholders
        assert placeholder.kinds == ("range", "bloom")

    def test_always_waits_for_a_build_side_that_is_not_smaller(self) -> None:
        def shuffled(*hints: Raw) -> Any:
            big = scan("big", column(11, "d_key"), bytes=90_000_000)
            plan = join(exchange(fact(*hints)), exchange(big), [attr(1)], [attr(11)], kind="sort_merge_join", build_side=None)
            return only_candidate(plan)

        assert shuffled().reason == "BUILD_NOT_SMALLER"
        assert shuffled(of_words("always")).reason == "PLANNED"

    def test_never_on_one_side_of_a_shuffled_join_leaves_the_other_direction(self) -> None:
        small = scan("small", column(11, "d_key"), bytes=1_000_000)
        plan = join(
            exchange(fact(of_words("never"))), exchange(small), [attr(1)], [attr(11)], kind="sort_merge_join", build_side=None
        )
        answer = answer_to(plan, cost="always")
        assert [placeholder.scan for placeholder in answer.placeholders] == [4]

    def test_a_hint_that_means_nothing_is_a_warning_and_changes_no_filter(self) -> None:
        answer = answer_to(star(of_words("nevr")))
        assert len(answer.placeholders) == 1
        assert "'nevr'" in answer.warnings[0] and answer.to_dict()["warnings"] == list(answer.warnings)
