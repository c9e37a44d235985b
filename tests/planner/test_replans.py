"""Whether a re-plan, of which only the stages have changed, would be answered alike: for which scans not."""

from __future__ import annotations

from planner.cost.rows_left import with_rows_left
from planner.inputs.settings import PlanSettings
from planner.questions import place
from tests.planner.plans import (
    Raw,
    attr,
    broadcast,
    column,
    exchange,
    join,
    merged,
    nodes_of,
    plan_of,
    reasons,
    scan,
)


def table(name: str, id: int, bytes: int | None = 10**9) -> Raw:
    return scan(name, column(id, "k"), column(id + 1, "v"), bytes=bytes)


LARGE, SMALL = table("large", 1), table("small", 11, 10**6)
TWINS = merged(LARGE, table("twin", 21), [attr(1)], [attr(21)])


def unsettled(root: Raw, rows: int | None = None) -> list[str]:
    """The tables of the scans that are not settled; `rows`: what an earlier query has seen of each table."""
    plan, nodes = plan_of(root), nodes_of(root)
    plan = with_rows_left(plan, lambda key: rows)
    return sorted(nodes[number]["table"] for number in place(plan, PlanSettings("d1")).unsettled)


def test_what_is_placed_with_known_sizes_is_settled() -> None:
    assert unsettled(merged(LARGE, SMALL, [attr(1)], [attr(11)])) == []
    assert unsettled(LARGE) == []


def test_what_no_size_can_change_is() -> None:
    root = merged(LARGE, SMALL, [attr(1)], [attr(11)], join_type="FullOuter")
    assert set(reasons(root).values()) == {"FULL_OUTER_JOIN"} and unsettled(root) == []


def test_a_scan_of_unknown_size_is_not() -> None:
    root = join(table("probe", 1, None), broadcast(SMALL), [attr(1)], [attr(11)])
    assert unsettled(root) == ["probe"]


def test_both_sides_of_a_shuffled_join_are_concerned() -> None:
    """Once one of them has started, the other may be filtered by it."""
    assert set(reasons(TWINS).values()) == {"BUILD_NOT_SMALLER"}
    other = join(exchange(TWINS), broadcast(SMALL), [attr(2)], [attr(11)])
    assert unsettled(other) == unsettled(other, rows=10_000_000) == ["large", "twin"]


def test_of_a_broadcast_join_only_the_scan_that_was_refused() -> None:
    """small would have to wait for late, which saves nothing."""
    root = join(LARGE, broadcast(SMALL), [attr(1)], [attr(11)])
    over = join(root, broadcast(table("late", 41, 10**4)), [attr(12)], [attr(41)])
    assert reasons(over)["small.v <- late.k"] == "WAIT_DOES_NOT_PAY"
    assert unsettled(over, rows=1000) == ["small"]
