"""Waits that pay by what later filters gain, on plans of the shape of TPC-H's Q5 and Q21."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from planner.cost.filters_at_work import with_filters_at_work
from planner.cost.sizes import Estimates
from planner.inputs.filter_history import Observation, Traits
from planner.inputs.machine import Constants, Machine
from planner.inputs.settings import PlanSettings
from planner.legality.exchange_copies import gather
from planner.placement.answer import FilterPlan
from planner.placement.chains import judge_proposals
from planner.plan.snapshot import parse_snapshot
from planner.questions import PROPOSE, answer_by, place
from tests.planner.plans import (
    Raw,
    answer_to,
    attr,
    broadcast,
    column,
    exchange,
    join,
    merged,
    nodes_of,
    plan_of,
    project,
    reasons,
    scan,
    stage,
    where,
)

TWO_CORES = Machine(cores=2)
NATION, SUPPLIER = "supplier.s_1 <- nation.n_0", "lineitem.l_1 <- supplier.s_0"


def table(name: str, id: int, rows: int, conjuncts: Sequence[str] = ()) -> Raw:
    columns = [column(id + number, f"{name[0]}_{number}", "bigint") for number in range(3)]
    asked = ["not_null", *conjuncts]
    return where(scan(name, *columns, rows=rows, bytes=rows * 8, filters=asked), conjuncts=asked)


def suppliers_of_a_nation(nation: Raw, rows: int = 1_500_000, join_type: str = "Inner", suppliers: int = 10_000) -> Raw:
    """lineitem ⋈ orders, shuffled; then supplier, then nation, both broadcast."""
    ordered = merged(table("lineitem", 1, rows), table("orders", 11, rows // 4), [attr(1)], [attr(11)], join_type=join_type)
    supplied = join(ordered, broadcast(table("supplier", 21, suppliers)), [attr(2)], [attr(21)])
    return join(supplied, broadcast(nation), [attr(22)], [attr(31)])


ONE_NATION = table("nation", 31, 25, ["eq"])


def on_two_cores(root: Raw, **settings: object) -> FilterPlan:
    return answer_to(root, **{"machine": TWO_CORES, **settings})


def reasons_of(root: Raw, **settings: object) -> dict[str, str]:
    return {label: reason for label, reason in reasons(root, **{"machine": TWO_CORES, **settings}).items() if "orders" not in label}


def test_a_chain_holds_once_its_first_table_is_there_however_much_memory_spark_says_that_takes() -> None:
    region = stage(broadcast(table("region", 41, 5, ["eq"])), rows=1, bytes=64 << 20)
    root = join(suppliers_of_a_nation(table("nation", 31, 25)), region, [attr(32)], [attr(41)])
    assert reasons_of(root) == {NATION: "PLANNED", SUPPLIER: "PLANNED", "nation.n_1 <- region.r_0": "PLANNED"}


def of_a_nation(nation: Raw) -> Raw:
    """The core of Q5: customer ⋈ orders, shuffled, ⋈ lineitem, then supplier of the customer's nation, then nation."""
    ordered = merged(table("customer", 61, 1_500_000), table("orders", 11, 2_000_000), [attr(61)], [attr(12)])
    sold = merged(table("lineitem", 1, 60_000_000), ordered, [attr(1)], [attr(11)])
    supplied = join(sold, broadcast(table("supplier", 21, 100_000)), [attr(2), attr(62)], [attr(21), attr(22)])
    return join(supplied, broadcast(nation), [attr(22)], [attr(31)])


def test_what_a_filter_across_an_equality_drops_is_missing_from_build_sides_below_that_equality() -> None:
    def rows_expected(nation: Raw) -> float:
        plan = parse_snapshot(nodes_of(of_a_nation(nation)))
        settings = PlanSettings("d1", machine=TWO_CORES)
        proposed = gather(plan, answer_by(PROPOSE, plan=plan, settings=settings))
        placement, proposals = judge_proposals(Estimates(plan), settings, proposed), proposed.proposals
        (found,) = (
            number for number, each in enumerate(proposals) if (each.columns[0].name, each.columns[0].table) == ("l_0", "lineitem")
        )
        assert found not in placement.refused
        rows = placement.forecasts[proposals[found].join, proposals[found].scan].build_rows
        assert rows is not None
        return rows

    assert rows_expected(ONE_NATION) == pytest.approx(0.05 * rows_expected(table("nation", 31, 25)))


def test_two_filters_of_one_column_by_equal_keys_count_once() -> None:
    told = reasons(of_a_nation(ONE_NATION), machine=TWO_CORES)
    assert told["customer.c_1 <- nation.n_0"] == "PLANNED"
    assert told["customer.c_1 <- supplier.s_1"] == "WAIT_DOES_NOT_PAY"


def test_what_the_feeder_costs_is_counted_where_the_gain_is() -> None:
    def waits_of(answer: FilterPlan) -> dict[str, float]:
        return {placeholder.label: placeholder.ahead.wait_ms for placeholder in answer.placeholders}

    dear = TWO_CORES.constants.gate_ms + 30.0
    waits = waits_of(on_two_cores(suppliers_of_a_nation(ONE_NATION)))
    dearer = waits_of(
        on_two_cores(suppliers_of_a_nation(ONE_NATION), machine=replace(TWO_CORES, constants=Constants(gate_ms=dear)))
    )
    assert waits["nation.n_0"] == dearer["nation.n_0"] == 0.0
    assert dearer["supplier.s_0"] - waits["supplier.s_0"] == pytest.approx(60.0)


def test_what_the_feeder_gains_itself_is_taken_off_before() -> None:
    """Reducing 90,000 suppliers brings in what waiting for the nation takes, though not the margin that a wait must have."""

    def waits_for(suppliers: int) -> tuple[float, float]:
        answer = on_two_cores(suppliers_of_a_nation(ONE_NATION, rows=6_000_000, suppliers=suppliers))
        waits = {placeholder.label: placeholder.ahead.wait_ms for placeholder in answer.placeholders}
        return waits["nation.n_0"], waits["supplier.s_0"] - TWO_CORES.constants.gate_ms

    (few_nation, few), (many_nation, many) = waits_for(10_000), waits_for(90_000)
    assert few_nation == many_nation == 0.0
    assert few > TWO_CORES.constants.gate_ms / 2 and many < TWO_CORES.constants.gate_ms / 10


def test_what_a_filter_let_through_behind_a_feeder_is_not_expected_of_it_alone() -> None:
    past: list[Traits] = []

    def recall(traits: Traits) -> Observation:
        past.append(traits)
        return Observation(0, 0.04)

    small = suppliers_of_a_nation(ONE_NATION, rows=200_000)
    assert reasons_of(small, recall=None) == {NATION: "WAIT_DOES_NOT_PAY", SUPPLIER: "WAIT_DOES_NOT_PAY"}
    assert reasons_of(small, recall=recall) == {NATION: "WAIT_DOES_NOT_PAY", SUPPLIER: "WAIT_DOES_NOT_PAY"}
    assert past
    large = suppliers_of_a_nation(ONE_NATION)
    assert reasons_of(large, recall=recall) == {NATION: "PLANNED", SUPPLIER: "PLANNED"}


def past_of(probed: str, observation: Observation) -> Callable[[Traits], Observation | None]:
    """The past of the filter of one table."""
    return lambda traits: observation if traits.root.endswith(probed) else None


@pytest.mark.parametrize("nation", [ONE_NATION, broadcast(ONE_NATION), stage(broadcast(ONE_NATION), rows=1, bytes=100)])
def test_what_a_filter_let_through_without_a_feeder_is_the_most_that_it_does_behind_one(nation: Raw) -> None:
    # Lineitem was filtered by all suppliers, for the wait for nation was refused then; that must not refuse it for ever.
    everything = Observation(0, 1.0, build_rows=10_000)
    assert reasons_of(suppliers_of_a_nation(nation), recall=past_of("lineitem", everything)) == {
        NATION: "PLANNED",
        SUPPLIER: "PLANNED",
    }
    of_one_nation = Observation(0, 1.0, build_rows=410)
    waits = reasons_of(suppliers_of_a_nation(nation), recall=past_of("lineitem", of_one_nation))
    assert waits[SUPPLIER] == "WAIT_DOES_NOT_PAY"


def test_a_feeder_at_work_counts_as_one() -> None:
    supplier = table("supplier", 21, 10_000)
    supplier["children"][0]["runs"] = ["d1.0"]
    ordered = merged(table("lineitem", 1, 1_500_000), table("orders", 11, 375_000), [attr(1)], [attr(11)])
    root = join(ordered, stage(broadcast(supplier), rows=411, bytes=9_000), [attr(2)], [attr(21)])

    def reason(build_rows: int) -> str:
        plan = with_filters_at_work(plan_of(root), {"d1.0": 0.04}.get)
        settings = PlanSettings("d1", machine=TWO_CORES, recall=past_of("lineitem", Observation(0, 1.0, build_rows=build_rows)))
        (found,) = (each.reason for each in place(plan, settings).candidates if each.build == "supplier.s_0")
        return found

    assert (reason(10_000), reason(411)) == ("PLANNED", "WAIT_DOES_NOT_PAY")


def test_a_join_of_the_build_side_itself_needs_no_feeder() -> None:
    of_a_nation = merged(table("supplier", 21, 10_000), ONE_NATION, [attr(22)], [attr(31)])
    ordered = merged(table("lineitem", 1, 6_000_000), table("orders", 11, 1_500_000), [attr(1)], [attr(11)])
    root = join(ordered, broadcast(project(of_a_nation, attr(21))), [attr(2)], [attr(21)])
    assert reasons_of(root) == {NATION: "WAIT_DOES_NOT_PAY", SUPPLIER: "PLANNED"}


def test_what_is_there_already_is_not_waited_for() -> None:
    def suppliers_with(nation: Raw) -> Raw:
        return join(exchange(table("supplier", 21, 100_000)), nation, [attr(22)], [attr(31)])

    assert reasons_of(suppliers_with(broadcast(ONE_NATION))) == {NATION: "WAIT_DOES_NOT_PAY"}
    assert reasons_of(suppliers_with(stage(broadcast(ONE_NATION), rows=1, bytes=100))) == {NATION: "PLANNED"}


def test_a_filter_that_is_served_may_be_one_that_could_serve_others() -> None:
    # With an outer join it is orders that lineitem would reduce, which lineitem is too large for.
    found = reasons_of(suppliers_of_a_nation(ONE_NATION, join_type="LeftOuter"))
    assert found == {NATION: "PLANNED", SUPPLIER: "PLANNED"}


def test_a_filter_that_gains_little_by_a_feeder_pays_little_of_it() -> None:
    # Suppliers reduce partsupp as well, over the equality with lineitem.
    supplied = merged(table("lineitem", 1, 1_500_000), table("partsupp", 11, 300_000), [attr(2)], [attr(11)])
    of_suppliers = join(supplied, broadcast(table("supplier", 21, 10_000)), [attr(2)], [attr(21)])
    answer = on_two_cores(join(of_suppliers, broadcast(ONE_NATION), [attr(22)], [attr(31)]))
    gains = {each.probe: each.estimated_gain_ms for each in answer.candidates if each.placeholder is not None}
    assert (gains["lineitem.l_1"] or 0) > 50
    assert all(gain is None or gain >= 0 for gain in gains.values())


def test_many_joins_on_one_key_are_planned_in_no_time() -> None:
    root = table("fact", 1, 10_000_000)
    for number in range(25):
        dimension = table(f"dimension{number}", 100 + 10 * number, 10_000)
        below = table(f"below{number}", 1_000 + 10 * number, 20, ["eq"])
        root = join(root, broadcast(dimension), [attr(1)], [attr(100 + 10 * number)])
        root = join(root, broadcast(below), [attr(101 + 10 * number)], [attr(1_000 + 10 * number)])
    begin = time.process_time()
    assert on_two_cores(root).placeholders
    assert time.process_time() - begin < 1.0
