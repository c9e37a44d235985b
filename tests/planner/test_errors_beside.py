"""A filter neither hides an error of rows that are joined with the probe side, nor brings one forward."""

from __future__ import annotations

import pytest

from tests.planner.plans import Raw, attr, broadcast, column, computed, exchange, join, merged, reasons, scan, stage, where

FACT = scan("fact", column(1, "a"), column(2, "v"), bytes=10**9)
DIM = scan("dim", column(21, "b"), column(22, "more"), bytes=10**8)
SMALL = scan("small", column(31, "k"), bytes=1_000)


def failing(child: Raw, id: int) -> Raw:
    return where(child, computed("1 / v > 0", "boolean", [id], may_raise=True))


def of_dim(root: Raw) -> str:
    return reasons(root)["dim.more <- small.k"]


def filtered(joined: Raw) -> str:
    """What becomes of the filter that the small table is for the dimension, through a join above it."""
    return of_dim(join(joined, broadcast(SMALL), [attr(22)], [attr(31)]))


def test_not_where_the_other_side_would_not_run_if_nothing_were_left() -> None:
    assert filtered(join(failing(FACT, 2), broadcast(DIM), [attr(1)], [attr(21)])) == "MAY_RAISE"
    assert filtered(join(FACT, broadcast(DIM), [attr(1)], [attr(21)])) == "PLANNED"


def test_what_has_run_has_raised() -> None:
    ran = stage(exchange(failing(FACT, 2)), rows=1_000_000, bytes=10**7)
    assert filtered(join(ran, broadcast(DIM), [attr(1)], [attr(21)])) == "PLANNED"


def test_both_sides_of_a_shuffled_join_start_together() -> None:
    assert filtered(merged(failing(FACT, 2), DIM, [attr(1)], [attr(21)])) == "PLANNED"


def test_the_streamed_side_waits_for_the_broadcast_in_any_case() -> None:
    assert filtered(join(DIM, broadcast(failing(FACT, 2)), [attr(21)], [attr(1)])) == "PLANNED"


def test_an_across_way_neither() -> None:
    below = join(failing(FACT, 2), broadcast(DIM), [attr(1)], [attr(21)])
    assert "dim.b <- small.k" not in reasons(join(below, broadcast(SMALL), [attr(1)], [attr(31)]))


@pytest.mark.parametrize(("small", "expected"), [(SMALL, "PLANNED"), (failing(SMALL, 31), "MAY_RAISE")])
def test_nothing_waits_for_a_build_side_that_can_fail(small: Raw, expected: str) -> None:
    assert of_dim(merged(DIM, small, [attr(22)], [attr(31)])) == expected


def test_a_broadcast_that_can_fail_runs_first_in_any_case() -> None:
    assert of_dim(join(DIM, broadcast(failing(SMALL, 31)), [attr(22)], [attr(31)])) == "PLANNED"


def test_a_key_that_is_moved_by_a_number_is_waited_for() -> None:
    moved = {"kind": "shift", "sign": 1, "by": -4000, "type": "int", "may_raise": True, "child": attr(31)}
    assert of_shift(merged(DIM, SMALL, [attr(22)], [moved])) == "PLANNED"


def of_shift(root: Raw) -> str:
    (reason,) = reasons(root).values()
    return reason
