"""What a wait spares where Spark makes a broadcast join of what it has waited for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planner.cost.formulas import ahead_row_ns
from planner.inputs.machine import DEFAULTS
from planner.inputs.row_work import RowWork
from planner.placement.answer import FilterPlan
from planner.placement.wait_credit import after_waiting, waits_of
from tests.planner.plans import Raw, answer_to, attr, broadcast, column, exchange, join, merged, scan, stage, where

LARGE = scan("large", column(1, "k"), column(2, "v"), bytes=10**9)
SMALL = where(scan("small", column(11, "k"), column(12, "v"), bytes=10**8), conjuncts=["not_null", "eq"])
SHUFFLED = merged(LARGE, SMALL, [attr(1)], [attr(11)])
TURNED = join(LARGE, broadcast(stage(exchange(SMALL), rows=100, bytes=5_000)), [attr(1)], [attr(11)])


def spared_ns(root: Raw, waits: Mapping[str, RowWork]) -> list[float]:
    return [placeholder.ahead.spared_ns for placeholder in answer_to(root, waited=waits.get).placeholders]


def waits(answer: FilterPlan) -> dict[str, RowWork]:
    found = waits_of(answer)
    assert found, "no scan waits"
    return found


def test_a_broadcast_join_after_a_wait_has_spared_the_shuffle_and_the_sort() -> None:
    before = waits(answer_to(SHUFFLED))
    (work,) = before.values()
    assert work.shuffle_bytes > 0 and work.sorts == 1.0
    assert spared_ns(TURNED, before) == [pytest.approx(ahead_row_ns(work, DEFAULTS))]
    (placeholder,) = answer_to(TURNED, waited=before.get).placeholders
    assert placeholder.ahead.wait_ms == work.wait_ms > answer_to(TURNED).placeholders[0].ahead.wait_ms


def test_a_broadcast_join_without_a_wait_has_spared_nothing() -> None:
    assert spared_ns(TURNED, {}) == [0.0]
    assert spared_ns(TURNED, {"inner|77|1|large.k#1": RowWork(shuffle_bytes=24.0)}) == [0.0]


def test_a_join_that_is_still_shuffled_has_spared_nothing() -> None:
    assert spared_ns(SHUFFLED, waits(answer_to(SHUFFLED))) == [0.0]


def test_a_broadcast_join_is_none_that_shuffles_were_waited_for() -> None:
    assert waits_of(answer_to(TURNED)) == {}


def test_filters_of_one_join_share_what_is_spared() -> None:
    left, right = [attr(1), attr(2)], [attr(11), attr(12)]
    before = waits(answer_to(merged(LARGE, SMALL, left, right)))
    turned = join(LARGE, broadcast(stage(exchange(SMALL), rows=100, bytes=5_000)), left, right)
    shares = spared_ns(turned, before)
    assert len(shares) > 1 and len(set(shares)) == 1
    assert sum(shares) == pytest.approx(ahead_row_ns(next(iter(before.values())), DEFAULTS))


def test_no_more_is_spared_than_there_was_and_never_less_than_nothing() -> None:
    before, now = RowWork(shuffle_bytes=10.0, wait_ms=50.0), RowWork(shuffle_bytes=24.0, wait_ms=70.0)
    assert after_waiting(now, before, DEFAULTS, 1) == now
