"""Until a stage with filters in it has ended, its size is what they were expected to let through when they were filled."""

from __future__ import annotations

import pytest

from planner.cost.filters_at_work import with_filters_at_work
from planner.cost.sizes import Estimates
from tests.planner.plans import Raw, attr, broadcast, changed, column, exchange, join, other, plan_of, scan, stage, where

SHARES = {"d1.0": 0.1, "d1.1": 0.5}


def table(*runs: str, id: int = 1) -> Raw:
    return scan("t", column(id, "k"), rows=1_000_000, bytes=10**8) | {"runs": list(runs)}


def filtered(child: Raw, *runs: str) -> Raw:
    return changed(other("RtFilterRows", child), runs=list(runs))


def rows_of(root: Raw) -> float:
    size = Estimates(with_filters_at_work(plan_of(root), SHARES.get)).size_of(0)
    assert size is not None
    return size.rows


@pytest.mark.parametrize(
    ("below", "share"),
    [
        (table(), 1.0),
        (table("d1.0"), 0.1),
        (table("d1.0", "d1.1"), 0.05),
        # In the scan by its packs and above it by its rows: one filter.
        (filtered(table("d1.0"), "d1.0"), 0.1),
        (where(filtered(filtered(other("ColumnarToRow", table()), "d1.1"), "d1.0")), 0.05),
        (filtered(where(table()), "d1.0"), 0.1),
        (table("d9.0"), 1.0),
    ],
)
def test_of_a_stage_that_runs(below: Raw, share: float) -> None:
    assert rows_of(stage(exchange(below))) == pytest.approx(1_000_000 * share)


def test_a_stage_that_has_ended_tells_by_itself_and_what_it_is_of_all() -> None:
    plan = with_filters_at_work(plan_of(stage(exchange(table("d1.0")), rows=70_000, bytes=10**6)), SHARES.get)
    size = Estimates(plan).size_of(0)
    assert size is not None and size.rows == 70_000 and size.kept == pytest.approx(0.07)


def test_filters_above_a_join_are_not_those_of_its_scans() -> None:
    joined = filtered(join(table(), broadcast(table(id=11)), [attr(1)], [attr(11)]), "d1.0")
    assert rows_of(stage(exchange(joined))) == pytest.approx(1_000_000)


def test_where_nothing_is_known_the_plan_stays_as_it_is() -> None:
    plan = plan_of(stage(exchange(table("d9.0"))))
    assert with_filters_at_work(plan, SHARES.get) is plan
