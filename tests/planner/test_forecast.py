"""The decision before the build side is there, on plans of the shape of those that lost time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.cost.sizes import BYTES_PER_COLUMN, BYTES_PER_VALUE
from planner.inputs.machine import DEFAULTS, Constants, Machine
from planner.inputs.row_work import RowWork
from tests.planner.plans import (
    Raw,
    aggregate,
    alias,
    answer_to,
    attr,
    broadcast,
    column,
    computed,
    exchange,
    join,
    merged,
    only_candidate,
    project,
    reasons,
    scan,
    sort,
    stage,
    where,
)

TWO_CORES = Machine(cores=2)


def tpch(table: str, id: int, rows: int, *conjuncts: str, columns: int = 3) -> Raw:
    """A table of TPC-H as Spark shows it: `rows` by its size, of which a few columns are read."""
    names = [column(id + number, f"{table[0]}_{number}", "bigint" if number == 0 else "int") for number in range(columns)]
    size = round(rows * columns * BYTES_PER_VALUE + columns * BYTES_PER_COLUMN)
    return where(scan(table, *names, bytes=size, filters=["not_null", *conjuncts]), conjuncts=["not_null", *conjuncts])


def reasons_on_two_cores(root: Raw, **settings: Any) -> dict[str, str]:
    return reasons(root, machine=TWO_CORES, **settings)


class TestLargeBuildSides:
    """TPC-H SF10 with a gate before every join: Q3 took 4.4 times as long, Q4 3.8 times."""

    LINEITEM, ORDERS, CUSTOMER = 60_000_000, 15_000_000, 1_500_000

    def test_orders_without_a_predicate_are_not_waited_for(self) -> None:
        root = merged(tpch("lineitem", 1, self.LINEITEM), tpch("orders", 11, self.ORDERS), [attr(1)], [attr(11)])
        assert reasons_on_two_cores(root) == {"lineitem.l_0 <- orders.o_0": "WAIT_DOES_NOT_PAY"}

    def test_q3_waits_for_the_orders_that_customers_of_a_segment_have_left(self) -> None:
        customer = tpch("customer", 21, self.CUSTOMER, "eq")
        orders = merged(tpch("orders", 11, self.ORDERS, "range"), customer, [attr(12)], [attr(21)])
        root = merged(tpch("lineitem", 1, self.LINEITEM, "range"), exchange(orders), [attr(1)], [attr(11)])
        assert reasons_on_two_cores(root) == {
            "lineitem.l_0 <- orders.o_0": "PLANNED",
            "orders.o_1 <- customer.c_0": "PLANNED",
        }

    def test_q4_never_waits_for_lineitem(self) -> None:
        lineitem = tpch("lineitem", 1, self.LINEITEM, "other")
        for orders in (tpch("orders", 11, self.ORDERS), tpch("orders", 11, self.ORDERS, "range")):
            found = reasons_on_two_cores(merged(orders, lineitem, [attr(11)], [attr(1)], join_type="LeftSemi"))
            assert "orders.o_0 <- lineitem.l_0" not in found

    def test_a_side_that_turned_out_large_is_not_waited_for(self) -> None:
        finished = stage(exchange(tpch("orders", 11, self.ORDERS, "eq")), rows=30_000_000, bytes=10**9)
        root = join(
            sort(exchange(tpch("lineitem", 1, self.LINEITEM))), sort(finished), [attr(1)], [attr(11)], build_side=None,
            kind="sort_merge_join",
        )  # fmt: skip
        assert reasons_on_two_cores(root) == {"lineitem.l_0 <- orders.o_0": "BUILD_NOT_SMALLER"}


class TestListsOfKeys:
    def test_a_short_list_without_a_condition_is_waited_for_by_a_large_scan(self) -> None:
        for keys, reason in ((1, "PLANNED"), (1_000, "PLANNED"), (100_000, "PLANNED"), (10_000_000, "BUILD_NOT_SMALLER")):
            root = merged(tpch("fact", 1, 20_000_000), tpch("keys", 11, keys, columns=1), [attr(1)], [attr(11)])
            assert reasons_on_two_cores(root) == {"fact.f_0 <- keys.k_0": reason}

    def test_a_dimension_without_a_condition_is_not_where_little_is_left_of_the_scan(self) -> None:
        root = merged(tpch("fact", 1, 20_000_000, "eq"), tpch("part", 11, 200_000), [attr(1)], [attr(11)])
        assert reasons_on_two_cores(root) == {"fact.f_0 <- part.p_0": "WAIT_DOES_NOT_PAY"}


class TestSmallTables:
    def test_nobody_waits_for_what_takes_less_time_than_a_job(self) -> None:
        root = merged(tpch("lineitem", 1, 60_000), tpch("orders", 11, 15_000, "eq"), [attr(1)], [attr(11)])
        assert reasons_on_two_cores(root) == {"lineitem.l_0 <- orders.o_0": "WAIT_DOES_NOT_PAY"}
        assert reasons_on_two_cores(root, cost="always") == {"lineitem.l_0 <- orders.o_0": "PLANNED"}

    def test_nobody_waits_for_what_the_error_of_the_constants_may_eat(self) -> None:
        """TPC-H SF10 Q11: a nation's 4,000 of 100,000 suppliers in a broadcast; the wait was to save 15 ms net and lost 24."""
        supplied = join(tpch("partsupp", 1, 8_000_000), broadcast(tpch("supplier", 21, 100_000, columns=2)), [attr(1)], [attr(21)])
        root = join(supplied, broadcast(tpch("nation", 31, 25, "eq")), [attr(22)], [attr(31)])
        (found,) = [each for each in answer_to(root, machine=TWO_CORES).candidates if each.probe == "supplier.s_1"]
        assert found.reason == "WAIT_DOES_NOT_PAY" and "cost 43 ms and to save 63 ms" in found.detail

    def test_keys_that_are_there_anyway_are_read_even_so(self) -> None:
        root = join(tpch("lineitem", 1, 60_000), broadcast(tpch("orders", 11, 15_000, "eq")), [attr(1)], [attr(11)])
        assert reasons_on_two_cores(root) == {"lineitem.l_0 <- orders.o_0": "PLANNED"}

    def test_but_not_many_of_them_for_a_small_scan(self) -> None:
        many = broadcast(tpch("orders", 11, 2_000_000))
        small, large = (join(tpch("lineitem", 1, rows), many, [attr(1)], [attr(11)]) for rows in (6_000_000, 6_000_000_000))
        assert reasons_on_two_cores(small) == {"lineitem.l_0 <- orders.o_0": "FILL_DOES_NOT_PAY"}
        assert reasons_on_two_cores(large) == {"lineitem.l_0 <- orders.o_0": "PLANNED"}

    def test_what_is_not_known_is_read_where_nobody_waits(self) -> None:
        unknown = scan("unknown", column(1, "k"), bytes=None)
        assert reasons(join(unknown, broadcast(tpch("orders", 11, 10)), [attr(1)], [attr(11)])) == {
            "unknown.k <- orders.o_0": "PLANNED"
        }


class TestWhatIsAhead:
    def sums(self, fact: Raw, dim: Raw) -> Raw:
        """A fact that is aggregated and shuffled below the join, as in Q17."""
        partial = aggregate(fact, [attr(1)], [attr(1), alias(50, computed("sum", "bigint"))])
        final = aggregate(exchange(partial), [attr(1)], [attr(1), alias(51, computed("avg", "bigint"))])
        return join(final, broadcast(dim), [attr(1)], [attr(11)])

    def test_it_is_counted_for_the_rows_that_get_there(self) -> None:
        root = self.sums(tpch("fact", 1, 10**8, "other"), tpch("dim", 11, 1_000, "eq"))
        (placeholder,) = answer_to(root, machine=TWO_CORES).placeholders
        ahead = placeholder.ahead
        # Half of the rows pass the scan's condition and are grouped, half of those are left to be shuffled and grouped again.
        assert (ahead.tested, ahead.groups, ahead.sorts, ahead.probes) == (0.5, 0.75, 0.0, 0.0)
        assert ahead.shuffle_bytes == pytest.approx(0.25 * (8 + 2 * 8))
        assert ahead.scan_bytes == 8 + 4 + 4

    def test_texts_are_wider(self) -> None:
        text = scan("fact", column(1, "k"), column(2, "s", "string"), bytes=10**9)
        (placeholder,) = answer_to(merged(text, tpch("dim", 11, 1_000, "eq"), [attr(1)], [attr(11)])).placeholders
        assert (placeholder.ahead.scan_bytes, placeholder.ahead.shuffle_bytes) == (4 + 20, 8 + 16 + 12)

    def test_a_join_on_the_way_leaves_its_share(self) -> None:
        fact = tpch("fact", 1, 10**9)
        below = join(fact, broadcast(tpch("dim", 21, 1_000, "eq")), [attr(2)], [attr(21)])
        answer = answer_to(merged(below, tpch("part", 11, 1_000, "eq"), [attr(1)], [attr(11)]), machine=TWO_CORES)
        (placeholder,) = [each for each in answer.placeholders if each.join == 0]
        assert placeholder.ahead.probes == 1.0
        assert placeholder.ahead.sorts == pytest.approx(0.05)

    def test_rows_that_are_joined_on_the_way_go_on_for_each_that_is_dropped(self) -> None:
        """TPC-H Q7: with a supplier its 600 line items are dropped before they are shuffled."""

        def of_a_nation(lineitems: int) -> RowWork:
            supplied = join(tpch("lineitem", 1, lineitems), broadcast(tpch("supplier", 21, 100_000)), [attr(2)], [attr(21)])
            ordered = merged(supplied, tpch("orders", 11, 15_000_000), [attr(1)], [attr(11)])
            root = join(ordered, broadcast(tpch("nation", 31, 25, "eq")), [attr(22)], [attr(31)])
            (found,) = [each for each in answer_to(root, machine=TWO_CORES, cost="always").placeholders if each.columns == (22,)]
            return found.ahead

        assert of_a_nation(60_000_000).sorts == pytest.approx(600.0)
        assert of_a_nation(60_000).sorts == pytest.approx(1.0)
        assert of_a_nation(60_000_000).broadcasts == 1.0

    def test_a_broadcast_on_the_way_is_made_of_fewer_rows(self) -> None:
        """TPC-DS Q30: of 100,000 customers that are broadcast one in twenty lives in the state that is asked for."""
        texts = [column(21 + number, f"c_{number}", "string") for number in range(8)]
        customer = scan("customer", column(11, "c_key", "bigint"), column(12, "c_address", "bigint"), *texts, bytes=2_500_000)
        below = join(tpch("fact", 1, 70_000), broadcast(where(customer)), [attr(1)], [attr(11)])
        root = join(below, broadcast(tpch("address", 31, 50_000, "eq")), [attr(12)], [attr(31)])
        found = {each.probe: each for each in answer_to(root, machine=TWO_CORES).candidates}
        assert found["customer.c_address"].reason == "PLANNED" and found["customer.c_address"].gate
        (placeholder,) = [each for each in answer_to(root, machine=TWO_CORES).placeholders if each.columns == (12,)]
        assert (placeholder.ahead.broadcasts, placeholder.ahead.shuffle_bytes) == (1.0, 0.0)
        assert placeholder.ahead.broadcast_bytes == 8 + 10 * 8 + 8 * 12
        free = Machine(replace(DEFAULTS, broadcast_row_ns=0.0, broadcast_byte_ns=0.0), cores=2)
        without = {each.probe: each.reason for each in answer_to(root, machine=free).candidates}
        assert without["customer.c_address"] == "WAIT_DOES_NOT_PAY"

    def test_behind_an_exchange_that_others_share_nothing_is_counted(self) -> None:
        fact = project(tpch("fact", 1, 10**8), attr(1))
        sides = sort(exchange(fact, same=4)), sort(exchange(tpch("dim", 11, 1_000, "eq")))
        shared = join(*sides, [attr(1)], [attr(11)], build_side=None, kind="sort_merge_join")
        (placeholder,) = answer_to(shared, machine=TWO_CORES).placeholders
        assert placeholder.ahead.shuffle_bytes > 0 and placeholder.ahead.sorts == 0.0

    def test_filters_of_one_join_share_its_wait(self) -> None:
        large, small = tpch("fact", 1, 10**8), tpch("dim", 11, 1_000, "eq")
        one = answer_to(merged(large, small, [attr(1)], [attr(11)]), machine=TWO_CORES).placeholders
        three = answer_to(merged(large, small, [attr(1), attr(2)], [attr(11), attr(12)]), machine=TWO_CORES).placeholders
        assert len(three) == 3
        assert sum(each.ahead.wait_ms for each in three) == pytest.approx(one[0].ahead.wait_ms)


class TestForecast:
    FACT, DIM = tpch("fact", 1, 10**8), tpch("dim", 11, 10**6, "eq")

    def test_it_is_told_with_the_plan(self) -> None:
        candidate = only_candidate(merged(self.FACT, self.DIM, [attr(1)], [attr(11)]), machine=TWO_CORES)
        assert candidate.estimated_gain_ms is not None and candidate.estimated_gain_ms > 10_000

    def test_a_refusal_has_its_figures(self) -> None:
        refused = only_candidate(merged(tpch("fact", 1, 1_000), tpch("dim", 11, 100), [attr(1)], [attr(11)]), machine=TWO_CORES)
        assert refused.estimated_gain_ms is None
        assert "100 build rows" in refused.detail and "55 ms" in refused.detail and "to save 0 ms" in refused.detail

    def test_the_second_of_two_filters_of_a_scan_must_pay_for_its_own_wait(self) -> None:
        # A customer in a thousand leaves nothing that is worth waiting for items as well.
        few = stage(exchange(tpch("customer", 31, 500_000, "eq", "eq", "eq")), rows=500, bytes=10_000)
        item = tpch("item", 11, 100_000, "in")
        alone = merged(self.FACT, item, [attr(1)], [attr(11)])
        first = join(sort(exchange(self.FACT)), sort(few), [attr(2)], [attr(31)], build_side=None, kind="sort_merge_join")
        both = merged(first, item, [attr(1)], [attr(11)])
        assert reasons_on_two_cores(alone)["fact.f_0 <- item.i_0"] == "PLANNED"
        assert reasons_on_two_cores(both)["fact.f_1 <- customer.c_0"] == "PLANNED"
        assert reasons_on_two_cores(both)["fact.f_0 <- item.i_0"] == "WAIT_DOES_NOT_PAY"

    def test_a_machine_whose_jobs_are_slow_waits_for_less(self) -> None:
        root = merged(tpch("fact", 1, 2_000_000), tpch("dim", 11, 10_000, "eq"), [attr(1)], [attr(11)])
        slow: Constants = replace(DEFAULTS, job_ms=2_000.0)
        assert only_candidate(root, machine=Machine(DEFAULTS, 2), job_from_rows=1).reason == "PLANNED"
        assert only_candidate(root, machine=Machine(slow, 2), job_from_rows=1).reason == "WAIT_DOES_NOT_PAY"

    def test_what_the_driver_reads_itself_is_not_priced_as_a_job(self) -> None:
        root = merged(tpch("fact", 1, 2_000_000), tpch("dim", 11, 10_000, "eq"), [attr(1)], [attr(11)])
        slow: Constants = replace(DEFAULTS, job_ms=2_000.0)
        by_rows = {rows: only_candidate(root, machine=Machine(slow, 2), job_from_rows=rows).reason for rows in (500, 501)}
        assert by_rows == {500: "WAIT_DOES_NOT_PAY", 501: "PLANNED"}

    def test_keys_that_weigh_much_are_worth_less(self) -> None:
        # Half a million keys: 8 MB as they are, among a million values an eighth of a MB.
        dim, fact = tpch("dim", 11, 10_000_000, "eq"), {"bytes": 10**9, "rows": 60_000_000}
        root = merged(scan("fact", column(1, "k"), **fact), dim, [attr(1)], [attr(11)])
        heavy: Constants = replace(DEFAULTS, ship_byte_ns=DEFAULTS.ship_byte_ns * 1_000)
        told = [only_candidate(root, machine=Machine(each, 2)) for each in (DEFAULTS, heavy)]
        assert (told[0].reason, told[1].reason) == ("PLANNED", "WAIT_DOES_NOT_PAY")
        spans = merged(scan("fact", column(1, "k") | {"distinct": 1_000_000}, **fact), dim, [attr(1)], [attr(11)])
        assert only_candidate(spans, machine=Machine(heavy, 2)).reason == "PLANNED"

    def test_rows_that_the_catalog_knows_count_more_than_bytes(self) -> None:
        known = scan("fact", column(1, "k"), bytes=10**9, rows=1_000)
        assert only_candidate(merged(known, tpch("dim", 11, 100, "eq"), [attr(1)], [attr(11)])).reason == "WAIT_DOES_NOT_PAY"

    def test_distinct_keys_that_the_catalog_knows_tell_how_few_rows_have_a_partner(self) -> None:
        dim = tpch("dim", 11, 6_000_000)
        fact = {"bytes": 10**9, "rows": 60_000_000}
        plain = scan("fact", column(1, "k"), **fact)
        counted = scan("fact", column(1, "k") | {"distinct": 50_000_000}, **fact)
        by_distinct = [
            only_candidate(merged(each, dim, [attr(1)], [attr(11)]), machine=TWO_CORES).estimated_gain_ms or 0
            for each in (plain, counted)
        ]
        assert by_distinct[1] > 2 * by_distinct[0]
