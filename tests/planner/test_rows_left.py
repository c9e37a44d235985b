"""What conditions left of a table, told by stages that have finished, takes the place of a guess."""

from __future__ import annotations

from typing import Any

import pytest

from planner.cost.rows_left import rows_left, rows_to_see, with_rows_left
from planner.cost.sizes import Estimates
from planner.inputs.machine import Machine
from planner.plan.nodes import Scan
from planner.plan.tree import Plan
from tests.planner.plans import (
    Raw,
    aggregate,
    alias,
    attr,
    broadcast,
    changed,
    column,
    exchange,
    join,
    merged,
    only_candidate,
    other,
    placed,
    plan_of,
    project,
    scan,
    sort,
    stage,
    union,
    where,
)

ROWS = 1_000_000


def table(id: int = 1, asked: str | None = "x", **more: Any) -> Raw:
    """A table of a million rows with one condition, which is guessed to leave 5 %."""
    known = {"rows": ROWS, "bytes": 10**8, "filters": ["eq"], "roots": [f"file:/t{id}"], "literals": asked, **more}
    return where(scan("t", column(id, "k"), column(id + 1, "v"), **known), conjuncts=["eq"]) | {"literals": asked}


def seen(*roots: Raw) -> dict[str, int]:
    return {key: rows for root in roots for key, rows in rows_left(plan_of(root)).items()}


def rows_of(plan: Plan) -> float:
    size = Estimates(plan).size_of(0)
    assert size is not None
    return size.rows


@pytest.mark.parametrize("wrap", [exchange, broadcast])
def test_rows_of_a_finished_stage_are_those_of_the_next_query(wrap: Any) -> None:
    told = seen(stage(wrap(other("ColumnarToRow", project(table(), attr(1)))), rows=400_000, bytes=10**7))
    assert list(told.values()) == [400_000]
    assert rows_of(plan_of(table())) == pytest.approx(50_000)
    again = with_rows_left(plan_of(table()), told.get)
    assert rows_of(again) == pytest.approx(400_000)
    assert rows_of(with_rows_left(plan_of(sort(exchange(table()))), told.get)) == pytest.approx(400_000)
    assert [node.left for node in again.nodes if isinstance(node, Scan)] == [400_000]


def test_rows_of_a_table_of_which_nothing_is_asked_are_all_that_it_has() -> None:
    whole = where(scan("t", column(1, "k"), bytes=3_000, roots=["file:/t1"], literals="isnotnull(k)")) | {
        "literals": "isnotnull(k)"
    }
    told = seen(stage(exchange(whole), rows=25, bytes=400))
    asked = where(scan("t", column(1, "k"), bytes=3_000, roots=["file:/t1"], filters=["eq"], literals="k = 1"), conjuncts=["eq"])
    assert rows_of(with_rows_left(plan_of(asked), told.get)) == pytest.approx(25 * 0.05)
    known = where(scan("t", column(1, "k"), bytes=3_000, rows=30, roots=["file:/t1"], literals="v = 1"), conjuncts=["eq"])
    assert rows_of(with_rows_left(plan_of(known), told.get)) == pytest.approx(30 * 0.05)
    assert len(seen(stage(exchange(asked), rows=2, bytes=400))) == 1


def test_rows_of_some_partitions_are_not_those_of_the_table() -> None:
    """Conditions on partitions are no conjuncts: they are in what the scan asks, and in no filter above it."""
    part = scan("t", column(1, "k"), column(2, "p", partition=True), bytes=3_000, roots=["file:/t1"], literals="k, p = 1")
    some = [part, where(part) | {"literals": "k"}]
    assert [len(seen(stage(exchange(each), rows=25, bytes=400))) for each in some] == [1, 1]
    whole = where({**part, "literals": "k"}) | {"literals": "k"}
    assert len(seen(stage(exchange(whole), rows=25, bytes=400))) == 2


@pytest.mark.parametrize(
    "plan",
    [
        table(asked="y"),
        table(asked=None),
        table(bytes=10**8 + 1),
        table(roots=["file:/u"]),
    ],
)
def test_other_conditions_and_other_tables_are_guessed(plan: Raw) -> None:
    told = seen(stage(exchange(table()), rows=400_000, bytes=10**7))
    unchanged = with_rows_left(plan_of(plan), told.get)
    assert all(node.left is None for node in unchanged.nodes if isinstance(node, Scan))


@pytest.mark.parametrize(
    "below",
    [
        aggregate(table(), [attr(1)]),
        other("RowFilter", table()),
        other("LocalLimit", table()),
        join(table(), broadcast(table(11)), [attr(1)], [attr(11)]),
        union([1, 2], table(), table(11)),
        table(format="PackFormat"),
        table(thinned=True),
        changed(table(), thinned=True),
        where(project(table(), attr(1), alias(9, attr(2)))),
        where(project(scan("t", column(1, "k"), bytes=10**8, roots=["file:/t1"]), attr(1)), conjuncts=["eq"]),
        table(asked=None),
    ],
)
def test_rows_that_are_not_those_of_one_scan_tell_nothing(below: Raw) -> None:
    assert seen(stage(exchange(below), rows=9, bytes=99)) == {}


def test_a_stage_that_has_not_finished_tells_nothing() -> None:
    assert seen(stage(exchange(table()))) == {} and seen(exchange(table())) == {}


@pytest.mark.parametrize("wrap", [exchange, broadcast])
def test_the_end_is_worth_a_look_as_long_as_rows_of_a_stage_are_not_known(wrap: Any) -> None:
    root = join(table(11), wrap(table()), [attr(11)], [attr(1)])
    told = seen(stage(wrap(table()), rows=400_000, bytes=10**7))
    assert rows_to_see(plan_of(root)) == set(told) and not rows_to_see(with_rows_left(plan_of(root), told.get))
    # It has finished, and told what there was to tell.
    assert not rows_to_see(plan_of(stage(wrap(table()), rows=400_000, bytes=10**7)))
    assert rows_to_see(plan_of(stage(wrap(table())))) == set(told)


@pytest.mark.parametrize("below", [aggregate(table(), [attr(1)]), table(asked=None), other("LocalLimit", table())])
def test_the_end_is_worth_no_look_where_it_tells_nothing(below: Raw) -> None:
    assert not rows_to_see(plan_of(exchange(below)))


def test_more_rows_than_the_table_has_are_all_of_them() -> None:
    told = seen(stage(exchange(table()), rows=3 * ROWS, bytes=10**7))
    assert rows_of(with_rows_left(plan_of(table()), told.get)) == pytest.approx(ROWS)


def test_a_wait_that_pays_only_by_what_was_seen_is_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    """TPC-H Q10: of the large side far more is left than was guessed, of the small one less."""
    large = changed(table(1, rows=60_000_000, bytes=10**9), conjuncts=["eq", "eq"])
    small = table(11, rows=15_000_000, bytes=10**8)
    root = merged(large, small, [attr(1)], [attr(11)])
    two_cores = Machine(cores=2)
    assert only_candidate(root, machine=two_cores).reason == "WAIT_DOES_NOT_PAY"
    told = seen(*(stage(exchange(side), rows=rows, bytes=10**7) for side, rows in ((large, 15_000_000), (small, 500_000))))
    plain = plan_of
    monkeypatch.setattr("tests.planner.plans.plan_of", lambda raw: with_rows_left(plain(raw), told.get))
    assert placed(root, machine=two_cores) == ["t.k <- t.k"]
