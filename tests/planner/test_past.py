"""What earlier queries showed of a filter, and what the planner does with it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.answer import Placeholder
from planner.observed import Observation
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
    other,
    scan,
    stage,
    where,
)

ROOTS = {"fact": "file:/data/fact", "dim": "file:/data/dim"}


def fact(**fields: Any) -> Raw:
    return scan("fact", column(1, "k"), column(2, "v"), **{"bytes": 100_000_000, "roots": [ROOTS["fact"]], **fields})


def dim(name: str = "d_name", words: tuple[str, ...] = ("eq", "not_null"), text: str = "(d_name#12 = x)", **fields: Any) -> Raw:
    table = scan("dim", column(11, "d_key"), column(12, name), **{"roots": [ROOTS["dim"]], "filters": list(words), **fields})
    return where(table, computed(text, "boolean", [12]), words)


def star(probe: Raw | None = None, build: Raw | None = None) -> Raw:
    return join(probe or fact(), broadcast(build or dim()), [attr(1, "k")], [attr(11, "d_key")])


def only_placeholder(root: Raw, **settings: Any) -> Placeholder:
    (placeholder,) = answer_to(root, **settings).placeholders
    return placeholder


def past(root: Raw, losses: int, kept: float | None = 1.0) -> dict[str, Observation]:
    traits = only_placeholder(root).traits
    return {traits.key: Observation(traits.inputs, losses, kept)}


class TestTraits:
    def test_literals_and_expression_ids_are_no_part_of_them(self) -> None:
        other = star(build=dim(text="(d_name#12 = y)"))
        assert only_placeholder(star()).traits == only_placeholder(other).traits

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
        (candidate,) = answer_to(star(), observed=past(star(), 2)).candidates
        assert (candidate.reason, candidate.placeholder) == ("LOST_TWICE", None)
        assert "RTFILTER(always)" in candidate.detail

    def test_one_that_lost_once_is(self) -> None:
        assert len(answer_to(star(), observed=past(star(), 1)).placeholders) == 1

    def test_it_is_tried_again_when_its_inputs_have_changed(self) -> None:
        changed = star(fact(bytes=100_000_001))
        assert len(answer_to(changed, observed=past(star(), 5)).placeholders) == 1

    def test_always_tries_it_as_an_option_and_as_a_hint(self) -> None:
        observed = past(star(), 5)
        assert len(answer_to(star(), observed=observed, cost="always").placeholders) == 1
        hinted = star(fact(hints=[{"words": ["always"], "names": [], "known": []}]))
        assert len(answer_to(hinted, observed=observed).placeholders) == 1

    def test_a_filter_of_several_columns_has_a_past_of_its_own(self) -> None:
        keys = [attr(1, "k"), attr(2, "v")], [attr(11, "d_key"), attr(12, "d_name")]
        plan = join(exchange(fact()), exchange(dim(bytes=1000)), *keys, kind="sort_merge_join", build_side=None)
        *_, both = answer_to(plan).placeholders
        assert len(both.columns) == 2
        answer = answer_to(plan, observed={both.traits.key: Observation(both.traits.inputs, 2)})
        assert [len(placeholder.columns) for placeholder in answer.placeholders] == [1, 1]
        assert answer.candidates[-1].reason == "LOST_TWICE"
