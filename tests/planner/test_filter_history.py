"""What earlier queries showed of a filter, and what the planner does with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs.filter_history import Observation, Observed, Recall, Traits
from planner.placement.answer import Placeholder
from tests.planner.plans import (
    Raw,
    answer_to,
    attr,
    broadcast,
    changed,
    column,
    computed,
    exchange,
    join,
    only_candidate,
    other,
    project,
    scan,
    stage,
    where,
)

ROOTS = {"fact": "file:/data/fact", "dim": "file:/data/dim"}


def fact(**fields: Any) -> Raw:
    return scan("fact", column(1, "k"), column(2, "v"), **{"bytes": 100_000_000, "roots": [ROOTS["fact"]], **fields})


def dim(name: str = "d_name", words: tuple[str, ...] = ("eq", "not_null"), asks: str | None = "name = x", **fields: Any) -> Raw:
    """A dimension with a condition; `asks` is what the bridge says of its literals."""
    table = scan("dim", column(11, "d_key"), column(12, name), **{"roots": [ROOTS["dim"]], "filters": list(words), **fields})
    return {**where(table, computed("(d_name#12 = x)", "boolean", [12]), words), "literals": asks}


def star(probe: Raw | None = None, build: Raw | None = None) -> Raw:
    return join(probe or fact(), broadcast(build or dim()), [attr(1, "k")], [attr(11, "d_key")])


def only_placeholder(root: Raw, **settings: Any) -> Placeholder:
    (placeholder,) = answer_to(root, **settings).placeholders
    return placeholder


def past(root: Raw, losses: int, kept: float | None = 1.0, packs: float | None = None) -> Recall:
    """What the one filter of a plan did, and nothing of any other."""
    known = only_placeholder(root).traits
    return lambda traits: Observation(losses, kept, packs) if traits == known else None


def gated(build: Raw, fact_bytes: int = 10_000_000_000) -> Raw:
    """A fact large enough to wait for what a condition leaves of the dimension."""
    sides = exchange(fact(bytes=fact_bytes)), exchange(build)
    return join(*sides, [attr(1, "k")], [attr(11, "d_key")], kind="sort_merge_join", build_side=None)


WIDE, NARROW = dim(asks="day between 1 and 2000"), dim(asks="day between 1 and 3")


class TestTraits:
    def test_other_literals_are_the_same_key_with_other_literals(self) -> None:
        first, second = only_placeholder(star()).traits, only_placeholder(star(build=dim(asks="name = y"))).traits
        assert first.literals != second.literals
        assert replace(first, literals="") == replace(second, literals="")

    def test_expression_ids_are_no_part_of_them(self) -> None:
        table = scan("dim", column(91, "d_key"), column(92, "d_name"), roots=[ROOTS["dim"]], filters=["eq", "not_null"])
        build = where(table, computed("(d_name#92 = x)", "boolean", [92]), ["eq", "not_null"]) | {"literals": "name = x"}
        probe = scan("fact", column(81, "k"), column(82, "v"), bytes=100_000_000, roots=[ROOTS["fact"]])
        moved = join(probe, broadcast(build), [attr(81, "k")], [attr(91, "d_key")])
        assert only_placeholder(moved).traits == only_placeholder(star()).traits

    @pytest.mark.parametrize(
        "other",
        [
            star(build=changed(dim(), children=[scan("dim", column(11, "d_key"), literals="day = 1")])),
            star(fact(literals="v < 5")),
            star(where(fact(), computed("(v#2 < 5)", "boolean", [2])) | {"literals": "v < 5"}),
            star(build=project(dim(), attr(11, "d_key"), attr(12, "d_name")) | {"literals": "d_name + 5"}),
        ],
        ids=["build scan", "probe scan", "probe filter", "build projection"],
    )
    def test_literals_anywhere_below_the_build_side_and_on_the_probe_count(self, other: Raw) -> None:
        assert only_placeholder(star()).traits.literals != only_placeholder(other).traits.literals

    def test_literals_above_the_join_do_not_count(self) -> None:
        above = where(star(), computed("(v#2 < 5)", "boolean", [2])) | {"literals": "v < 5"}
        assert only_placeholder(above).traits == only_placeholder(star()).traits

    @pytest.mark.parametrize("unknown", [star(build=dim(asks=None)), star(fact(literals=None))], ids=["build side", "probe"])
    def test_what_cannot_be_told_makes_all_of_it_unknown(self, unknown: Raw) -> None:
        assert only_placeholder(unknown).traits.literals is None

    @given(st.permutations(["a = 1", "b = 2", "c = 3"]), st.integers(0, 2))
    def test_neither_the_order_of_nodes_nor_a_repetition_changes_literals(self, said: list[str], repeated: int) -> None:
        def build(texts: list[str]) -> Raw:
            root = dim(asks=None)["children"][0]
            for text in texts:
                root = where(root) | {"literals": text}
            return star(build=root)

        plain = only_placeholder(build(["a = 1", "b = 2", "c = 3"])).traits.literals
        assert only_placeholder(build([*said, said[repeated]])).traits.literals == plain
        assert only_placeholder(build(said[1:])).traits.literals != plain

    @pytest.mark.parametrize(
        "other",
        [
            star(build=dim(words=("range",))),
            star(build=dim(name="d_other")),
            star(build=dim(roots=["file:/elsewhere/dim"])),
            star(fact(roots=["file:/elsewhere/fact"])),
        ],
        ids=["condition", "column", "build table", "probe table"],
    )
    def test_another_shape_or_table_is_another_filter(self, other: Raw) -> None:
        assert only_placeholder(star()).traits.key != only_placeholder(other).traits.key

    @pytest.mark.parametrize("other", [star(fact(bytes=100_000_001)), star(build=dim(bytes=7))])
    def test_sizes_are_inputs_of_the_same_filter(self, other: Raw) -> None:
        first, second = only_placeholder(star()).traits, only_placeholder(other).traits
        assert first.key == second.key and first.inputs != second.inputs

    def test_partitions_are_one_table_and_a_scan_without_a_place_has_its_name(self) -> None:
        parts = [f"file:/data/fact/day={day}/hour=3" for day in range(3)]
        assert only_placeholder(star(fact(roots=parts))).traits.key == only_placeholder(star()).traits.key
        assert only_placeholder(star(fact(roots=[]))).traits.root == "fact"

    def test_a_re_plan_with_the_finished_build_side_gives_the_same_filter(self) -> None:
        ran = dim()
        ran = changed(ran, children=[other("InputAdapter", other("ColumnarToRow", *ran["children"]))])
        finished = stage(broadcast(other("WholeStageCodegen", ran)), rows=5, bytes=100)
        replanned = join(fact(), finished, [attr(1, "k")], [attr(11, "d_key")])
        assert only_placeholder(replanned).traits == only_placeholder(star()).traits


class TestRefusals:
    def test_a_filter_that_lost_twice_is_not_tried(self) -> None:
        (candidate,) = answer_to(star(), recall=past(star(), 2)).candidates
        assert (candidate.reason, candidate.placeholder) == ("LOST_TWICE", None)
        assert "RTFILTER(always)" in candidate.detail

    def test_one_that_lost_once_is(self) -> None:
        assert len(answer_to(star(), recall=past(star(), 1)).placeholders) == 1

    @pytest.mark.parametrize("means", [{"kinds": ("range",)}, {"packs_enabled": False}, {"max_keys": 5}, {"bloom_max_bytes": 10}])
    def test_losses_with_other_means_are_not_held_against_it(self, means: dict[str, Any]) -> None:
        """A range that rejects nothing says nothing of a set."""
        known = only_placeholder(star(), **means).traits

        def recall(traits: Traits) -> Observation | None:
            return Observation(5) if traits == known else None

        assert len(answer_to(star(), recall=recall).placeholders) == 1
        assert only_candidate(star(), recall=recall, **means).reason == "LOST_TWICE"

    def test_nor_are_those_with_a_hint(self) -> None:
        hinted = star(fact(hints=[{"words": ["range"], "names": [], "known": []}]))
        assert only_candidate(hinted, recall=past(hinted, 5)).reason == "LOST_TWICE"
        assert len(answer_to(star(), recall=past(hinted, 5)).placeholders) == 1

    def test_it_is_tried_again_when_its_inputs_have_changed(self) -> None:
        changed = star(fact(bytes=100_000_001))
        assert len(answer_to(changed, recall=past(star(), 5)).placeholders) == 1

    def test_losses_of_a_wide_range_are_not_held_against_a_narrow_one(self) -> None:
        recall = past(star(build=WIDE), 5)
        assert only_candidate(star(build=WIDE), recall=recall).reason == "LOST_TWICE"
        assert len(answer_to(star(build=NARROW), recall=recall).placeholders) == 1

    def test_always_tries_it_as_an_option_and_as_a_hint(self) -> None:
        recall = past(star(), 5)
        assert len(answer_to(star(), recall=recall, cost="always").placeholders) == 1
        hinted = star(fact(hints=[{"words": ["always"], "names": [], "known": []}]))
        assert len(answer_to(hinted, recall=recall).placeholders) == 1

    def test_a_filter_of_several_columns_has_a_past_of_its_own(self) -> None:
        keys = [attr(1, "k"), attr(2, "v")], [attr(11, "d_key"), attr(12, "d_name")]
        plan = join(exchange(fact()), exchange(dim(bytes=1000)), *keys, kind="sort_merge_join", build_side=None)
        *_, both = answer_to(plan).placeholders
        assert len(both.columns) == 2
        answer = answer_to(plan, recall=lambda traits: Observation(2) if traits == both.traits else None)
        assert [len(placeholder.columns) for placeholder in answer.placeholders] == [1, 1]
        assert answer.candidates[-1].reason == "LOST_TWICE"

    def test_each_key_of_a_join_is_told_what_its_own_values_let_through(self) -> None:
        keys = [attr(1, "k"), attr(2, "v")], [attr(11, "d_key"), attr(12, "d_name")]
        plan = join(exchange(fact()), exchange(dim(bytes=1000)), *keys, kind="sort_merge_join", build_side=None)
        shares = dict(zip((each.traits for each in answer_to(plan).placeholders), (0.001, 0.002, None), strict=True))
        answer = answer_to(plan, recall=lambda traits: Observation(key_share=shares.get(traits)))
        assert [placeholder.ahead.key_share for placeholder in answer.placeholders] == [0.001, 0.002, None]
        assert [placeholder.ahead.key_share for placeholder in answer_to(plan).placeholders] == [None, None, None]


class TestEstimates:
    def test_what_was_let_through_with_the_same_literals_decides_on_the_wait(self) -> None:
        recall = past(gated(WIDE), losses=0, kept=1.0)
        assert only_candidate(gated(WIDE)).reason == "PLANNED"
        assert only_candidate(gated(WIDE), recall=recall).reason == "WAIT_DOES_NOT_PAY"

    def test_packs_that_it_rejected_count_as_many_as_they_were(self) -> None:
        """As long as nobody has seen it, only a part of what has no partner is expected to lie in packs of its own."""
        small = gated(NARROW, fact_bytes=40_000_000)
        assert only_candidate(small, recall=past(small, losses=0, kept=0.9)).reason == "WAIT_DOES_NOT_PAY"
        assert only_candidate(small, recall=past(small, losses=0, kept=0.9, packs=0.9)).reason == "PLANNED"

    def test_nothing_is_expected_of_what_is_not_allowed(self) -> None:
        small = gated(NARROW, fact_bytes=20_000_000)
        assert only_candidate(small).reason == only_candidate(small, kinds=("bloom",)).reason == "PLANNED"
        assert only_candidate(small, kinds=("range",)).reason == "WAIT_DOES_NOT_PAY"
        large = gated(NARROW, fact_bytes=200_000_000)
        assert only_candidate(large, kinds=("range",)).reason == "PLANNED"
        assert only_candidate(large, kinds=("range",), packs_enabled=False).reason == "WAIT_DOES_NOT_PAY"

    def test_what_a_wide_range_let_through_keeps_no_narrow_one_from_its_gate(self) -> None:
        recall = past(gated(WIDE), losses=1, kept=1.0)
        (placeholder,) = answer_to(gated(NARROW), recall=recall).placeholders
        assert placeholder.gate and placeholder.ahead == only_placeholder(gated(NARROW)).ahead

    def test_what_a_narrow_range_let_through_makes_no_wide_one_wait(self) -> None:
        wide = dim(words=("not_null",), asks="day > 0")
        assert only_candidate(gated(wide), recall=past(gated(dim(words=("not_null",), asks="day > 9")), 0, 0.001)).reason == (
            only_candidate(gated(wide)).reason
        )


class TestObserved:
    def test_packs_are_expected_as_seen_where_rows_are(self) -> None:
        alone = Observed(0.5, packs=0.6)
        assert (alone.share_of(0.1), alone.packs_with(0.5)) == (0.5, 0.6)

    @pytest.mark.parametrize(
        ("seen", "estimated", "share"),
        [
            (Observed(0.5, packs=0.6, at_most=True), 0.1, 0.1),
            (Observed(0.5, packs=0.6, at_least=True), 0.9, 0.9),
        ],
        ids=["of more keys", "of fewer keys"],
    )
    def test_packs_seen_with_other_keys_say_nothing(self, seen: Observed, estimated: float, share: float) -> None:
        assert seen.share_of(estimated) == share
        assert seen.packs_with(share) is None
