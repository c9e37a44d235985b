"""What goes by the place or the order of rows, or by chance, is fed by no narrowed scan."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inputs.settings import PlanSettings
from planner.questions import static
from planner.static.index_remarks import ScanIndex
from tests.planner.plans import (
    Raw,
    aggregate,
    alias,
    answer_to,
    attr,
    broadcast,
    changed,
    column,
    computed,
    exchange,
    expand,
    generate,
    join,
    only_candidate,
    other,
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


def random(node: Raw) -> Raw:
    """The operator evaluates something by place that no expression here shows."""
    return changed(node, by_place="rand(7)")


def groups(rows: Raw, **fields: Any) -> Raw:
    """Partial and final aggregate, with a shuffle in between."""
    return changed(aggregate(exchange(changed(aggregate(rows, [attr(2)]), **fields)), [attr(2)]), **fields)


@pytest.mark.parametrize(
    "above",
    [
        lambda rows: other("Sample", rows),
        lambda rows: other("Sample", sort(exchange(rows))),
        lambda rows: other("Sample", groups(rows)),
        lambda rows: where(rows, computed("", "boolean", deterministic=False)),
        lambda rows: random(where(groups(rows), computed("", "boolean", deterministic=False))),
        lambda rows: project(rows, attr(2), alias(31, RANDOM)),
        lambda rows: project(exchange(rows), attr(2), alias(31, RANDOM)),
        lambda rows: project(sort(exchange(rows)), attr(2), alias(31, RANDOM)),
        lambda rows: project(aggregate(rows, [attr(2)]), attr(2), alias(31, RANDOM)),
        lambda rows: aggregate(rows, [RANDOM], results=[attr(2)]),
        lambda rows: random(aggregate(rows, [attr(2)])),
        lambda rows: random(sort(rows)),
        lambda rows: random(window(rows, [attr(2)], made=[31])),
        lambda rows: random(generate(rows, made=[31])),
        lambda rows: random(expand(rows, _2=attr(2))),
        lambda rows: random(other("BatchEvalPython", rows)),
        lambda rows: random(exchange(rows)),
        lambda rows: changed(other("Unheard of", rows), deterministic=False),
        lambda rows: join(project(rows, alias(31, RANDOM)), broadcast(dim(21)), [attr(31)], [attr(21)]),
    ],
)
def test_rows_that_are_taken_by_their_place_come_from_whole_scans(above: Any) -> None:
    candidate = next(each for each in answer_to(above(joined()), cost="always").candidates if each.probe == "fact.k")
    assert candidate.reason == "NOT_DETERMINISTIC" and "above" in candidate.detail


def test_the_reason_names_the_value_by_place() -> None:
    root = project(joined(), alias(31, computed("shuffle(arr#12L, Some(7))", "int", deterministic=False)))
    assert only_candidate(root).detail == (
        "Project above the scan computes shuffle(arr, Some(7)), which depends on the place of a row, "
        "and a filter would change that."
    )


@pytest.mark.parametrize(
    ("above", "keep"),
    [
        (lambda rows: other("TakeOrderedAndProject", rows), True),
        (lambda rows: other("CollectLimit", rows), True),
        (lambda rows: other("CollectLimit", other("Project of somebody", sort(exchange(rows)))), True),
        (lambda rows: other("MapInPandas", rows), True),
        (lambda rows: changed(window(sort(exchange(rows)), [attr(2)], made=[31]), by_order="row_number()"), True),
        (lambda rows: groups(rows, by_order="first()"), True),
        (lambda rows: random(project(groups(rows), attr(2))), True),
        (lambda rows: other("CollectLimit", groups(rows)), False),
        (lambda rows: where(rows, computed("", "boolean")), False),
        (lambda rows: window(rows, [attr(2)], made=[31]), False),
        (lambda rows: groups(rows), False),
    ],
)
def test_rows_that_are_taken_in_their_order_come_from_sparks_own_splits(above: Any, keep: bool) -> None:
    (placeholder,) = answer_to(above(joined())).placeholders
    assert placeholder.keep_splits == keep
    assert placeholder.to_dict().get("keep_splits", False) == keep


def test_both_uses_of_a_shared_exchange_keep_their_splits_if_one_has_to() -> None:
    uses = [exchange(joined(100 * n, 100 * n + 11, same=2), same=1) for n in (1, 2)]
    answer = answer_to(union([1], other("GlobalLimit", uses[0]), uses[1]))
    assert [each.keep_splits for each in answer.placeholders] == [True, True]


@pytest.mark.parametrize(("goes_on", "above", "keep"), [(True, sort, True), (True, groups, False), (False, sort, False)])
def test_rows_that_go_on_into_a_cache_or_an_rdd_keep_their_splits(goes_on: bool, above: Any, keep: bool) -> None:
    (placeholder,) = answer_to(above(joined()), goes_on=goes_on).placeholders
    assert placeholder.keep_splits == keep


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (lambda rows: rows, "PLANNED"),
        (where, "PLANNED"),
        (lambda rows: generate(rows, made=[31]), "PLANNED"),
        (exchange, "PLANNED"),
        (lambda rows: sort(exchange(rows)), "PLANNED"),
        (sort, "NOT_DETERMINISTIC"),
        (lambda rows: other("BatchEvalPython", rows), "NOT_DETERMINISTIC"),
    ],
)
def test_the_file_of_a_row_is_steady_while_it_is_read(between: Any, expected: str) -> None:
    candidate = only_candidate(changed(project(between(joined()), attr(2)), asks_for_file=True), cost="always")
    assert candidate.reason == expected


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


def test_a_shared_limit_that_is_used_once_has_its_filter() -> None:
    assert set(reasons(exchange(other("GlobalLimit", joined()))).values()) == {"PLANNED"}


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
    (answer,) = static(plan_of(root), PlanSettings("d1"), found)
    (candidate,) = answer.candidates
    assert candidate.reason == expected and (answer.placeholder is not None) == (expected == "PLANNED")
