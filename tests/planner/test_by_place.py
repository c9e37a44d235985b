"""What goes by the place or the order of rows, or by chance, is fed by no narrowed scan."""

from __future__ import annotations

from typing import Any

import pytest

from planner.index_remarks import ScanIndex
from planner.settings import PlanSettings
from planner.static import plan_statics
from tests.planner.plans import (
    Raw,
    aggregate,
    alias,
    attr,
    broadcast,
    changed,
    column,
    computed,
    exchange,
    join,
    only_candidate,
    other,
    placed,
    plan_of,
    project,
    reasons,
    scan,
    sort,
    union,
    where,
    window,
)

RANDOM = computed("rand(7)", "double", deterministic=False)


def fact(id: int = 1, **more: Any) -> Raw:
    return scan("fact", column(id, "k"), column(id + 1, "v"), bytes=10**9, **more)


def dim(id: int = 11) -> Raw:
    return scan("dim", column(id, "d"), column(id + 1, "e"), bytes=1_000)


def joined(fact_id: int = 1, dim_id: int = 11, **more: Any) -> Raw:
    return join(fact(fact_id), broadcast(dim(dim_id), **more), [attr(fact_id)], [attr(dim_id)])


@pytest.mark.parametrize(
    "above",
    [
        lambda rows: other("Sample", rows),
        lambda rows: other("Sample", sort(exchange(rows))),
        lambda rows: where(rows, computed("", "boolean", deterministic=False)),
        lambda rows: project(rows, attr(2), alias(31, computed("input_file_block_start()", "bigint", deterministic=False))),
        lambda rows: project(rows, alias(31, computed("(" * 200, "bigint", deterministic=False))),
    ],
)
def test_rows_that_are_taken_by_their_place_come_from_whole_scans(above: Any) -> None:
    candidate = only_candidate(above(joined()), cost="always")
    assert candidate.reason == "NOT_DETERMINISTIC" and "above" in candidate.detail


@pytest.mark.parametrize(
    "above",
    [
        lambda rows: other("TakeOrderedAndProject", rows),
        lambda rows: other("CollectLimit", rows),
        lambda rows: where(rows, computed("", "boolean")),
        lambda rows: project(rows, attr(2), alias(31, RANDOM)),
        lambda rows: window(rows, [attr(2)], made=[31]),
    ],
)
def test_what_else_is_above_does_not_matter(above: Any) -> None:
    assert only_candidate(above(joined())).reason == "PLANNED"


def test_a_sample_of_the_build_side_keeps_no_filter_from_the_probe_side() -> None:
    root = join(fact(), broadcast(other("Sample", dim())), [attr(1)], [attr(11)])
    assert placed(root) == ["fact.k <- dim.d"]


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (lambda rows: project(rows, attr(rows["output"][0]), alias(rows["output"][0] + 30, RANDOM)), "NOT_DETERMINISTIC"),
        (lambda rows: other("GlobalLimit", rows), "NOT_DETERMINISTIC"),
        (lambda rows: other("BatchEvalPython", rows) | {"deterministic": False}, "NOT_DETERMINISTIC"),
        (lambda rows: window(rows, [attr(rows["output"][0])], made=[rows["output"][0] + 30]), "PLANNED"),
        (lambda rows: aggregate(rows, [attr(rows["output"][0])]) | {"deterministic": False}, "PLANNED"),
    ],
)
def test_a_shared_exchange_with_something_by_chance_in_it_has_no_filter(chance: Any, expected: str) -> None:
    """Its two copies are two scans to fill; were they to differ, Spark would run what goes by chance twice."""
    uses = [exchange(chance(joined(100 * n, 100 * n + 11, same=2)), same=1) for n in (1, 2)]
    assert set(reasons(union([1], *uses)).values()) == {expected}
    alone = exchange(chance(joined(100, 111)))
    assert set(reasons(alone).values()) == {"PLANNED"}


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize(("op", "expected"), [("GlobalLimit", "NOT_DETERMINISTIC"), ("Coalesce", "PLANNED")])
def test_a_broadcast_that_a_gate_may_run_again_must_give_the_same_rows(op: str, expected: str, reuse: bool) -> None:
    build = broadcast(other(op, dim()))
    above_a_shuffle = join(aggregate(exchange(fact()), [attr(1)]), build, [attr(1)], [attr(11)])
    assert only_candidate(above_a_shuffle, cost="always").reason == expected
    in_one_stage = join(fact(), build, [attr(1)], [attr(11)])
    assert only_candidate(in_one_stage).reason == "PLANNED"


@pytest.mark.parametrize("node", [sort, exchange])
def test_no_filter_goes_below_a_sort_or_a_shuffle_that_can_fail(node: Any) -> None:
    assert only_candidate(join(node(fact()), broadcast(dim()), [attr(1)], [attr(11)]), cost="always").reason == "PLANNED"
    failing = join(changed(node(fact()), may_raise=True), broadcast(dim()), [attr(1)], [attr(11)])
    assert only_candidate(failing, cost="always").reason == "MAY_RAISE"


@pytest.mark.parametrize(("op", "expected"), [("Sample", "NOT_DETERMINISTIC"), ("CollectLimit", "PLANNED")])
def test_conditions_on_an_index_are_held_back_too(op: str, expected: str) -> None:
    asked = {"op": "eq", "column": "k", "type": "int", "value": 3}
    root = other(op, fact(static=[{"text": "k = 3", "test": asked}]))
    found = {1: [ScanIndex("i", frozenset({"k"}))]}
    placeholders, (candidate,) = plan_statics(plan_of(root), PlanSettings("d1"), found)
    assert candidate.reason == expected and bool(placeholders) == (expected == "PLANNED")
