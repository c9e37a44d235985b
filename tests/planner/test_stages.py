"""Who waits for whom: circles that the rule of one direction per join can't see, and those that gates would make."""

from __future__ import annotations

from planner.cost.sizes import Estimates
from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import proposed_of
from planner.placement.gates import WaitGraph, place_filters
from planner.plan.columns import ProbeColumn
from planner.plan.nodes import Scan
from planner.plan.proposals import Proposal
from tests.planner.plans import attr, broadcast, column, exchange, join, merged, plan_of, scan, sort, stage, union

ONE, TWO = scan("one", column(1, "a"), bytes=10**9), scan("two", column(11, "b"), bytes=10**6)
# 0 join, 1 sort, 2 exchange, 3 one, 4 sort, 5 exchange, 6 two
JOINED = merged(ONE, TWO, [attr(1)], [attr(11)])


def proposal(scan: Scan, source: int, build_side: str) -> Proposal:
    (found,) = scan.columns
    columns = (ProbeColumn(scan.id, scan.table, found.id, found.name, found.type),)
    return Proposal(0, (0,), build_side, source, columns, keep_nulls=False, gate=True, ahead="shuffle")


def test_two_stages_do_not_wait_for_each_other() -> None:
    waits = WaitGraph(plan_of(JOINED))
    assert not waits.would_close_a_circle(3, 5) and not waits.would_close_a_circle(6, 2)
    waits.add(3, 5)
    assert waits.would_close_a_circle(6, 2)


def test_a_scan_does_not_wait_for_the_stage_that_it_is_part_of_or_that_is_above() -> None:
    waits = WaitGraph(plan_of(exchange(exchange(ONE))))
    assert waits.would_close_a_circle(2, 1) and waits.would_close_a_circle(2, 0)


def test_a_circle_over_several_gates_is_seen() -> None:
    # 0 union; exchanges at 1, 3, 5 and their scans behind them.
    waits = WaitGraph(plan_of(union([1], *(exchange(scan(f"t{id}", column(id, "c"))) for id in (1, 2, 3)))))
    waits.add(2, 3)
    waits.add(4, 5)
    assert waits.would_close_a_circle(6, 1)


def test_what_a_source_is_made_of_counts() -> None:
    # The exchange at 1 holds a join with a broadcast at 4: who waits for 1 waits for that too.
    inner = exchange(join(ONE, broadcast(TWO), [attr(1)], [attr(11)]))
    plan = plan_of(
        join(
            sort(inner),
            sort(exchange(scan("three", column(21, "c")))),
            [attr(1)],
            [attr(21)],
            build_side=None,
            kind="sort_merge_join",
        )
    )
    broadcast_scan = next(node.id for node in plan.nodes if isinstance(node, Scan) and node.table == "two")
    three = next(node.id for node in plan.nodes if isinstance(node, Scan) and node.table == "three")
    waits = WaitGraph(plan)
    waits.add(broadcast_scan, plan.parents[three])
    assert waits.would_close_a_circle(three, 2)


def test_equal_exchanges_are_one_stage() -> None:
    copies = [exchange(scan("t", column(id, "c")), same=7) for id in (1, 2)]
    waits = WaitGraph(plan_of(union([1], *copies, exchange(TWO))))
    waits.add(2, 5)
    assert waits.would_close_a_circle(6, 3)


def test_a_stage_that_has_started_waits_for_nobody_above_it() -> None:
    waits = WaitGraph(plan_of(union([1], stage(exchange(ONE), 3), exchange(TWO))))
    assert not waits.would_close_a_circle(5, 1)


def test_of_two_gates_that_wait_for_each_other_the_one_for_the_smaller_source_is_placed() -> None:
    plan = plan_of(JOINED)
    one, two = plan.nodes[3], plan.nodes[6]
    assert isinstance(one, Scan) and isinstance(two, Scan)
    both = [proposal(two, 2, "left"), proposal(one, 5, "right")]
    refused = place_filters(Estimates(plan), PlanSettings("d1", cost="always"), proposed_of(plan, (*both,))).refused
    assert {number: refusal.reason for number, refusal in refused.items()} == {0: "WOULD_WAIT_IN_A_CIRCLE"}
