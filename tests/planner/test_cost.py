"""The terms of the cost model, one by one, and what must hold of them whatever the machine."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cost.forecast import GATE_MARGIN, WAIT_MARGIN, least_gain_ms
from planner.cost.formulas import (
    IDLE_SHARE,
    KEYS_MISSING,
    MOST_MISSING,
    TASK_BYTES,
    RowTest,
    ahead_row_ns,
    alone_row_ns,
    collect_ms,
    idle_ms,
    idle_share,
    missing_share,
    own_row_ns,
    packs_gain_ms,
    row_test,
    row_test_gain_ns,
    row_test_pays,
    rows_gain_ms,
    scan_row_ns,
    semi_join_share,
    share_let_through,
    ship_ms,
    test_row_ns,
    verdicts_ms,
    whole_row_ns,
)
from planner.inputs.machine import DEFAULTS, Constants, Machine
from planner.inputs.row_work import RowWork

test_row_ns.__test__ = False  # type: ignore[attr-defined]

# Round figures, each another one, so that a term that takes the wrong constant shows.
PLAIN = Constants(
    scan_row_ns=10.0,
    scan_byte_ns=2.0,
    pack_open_ms=0.5,
    footer_ms=3.0,
    join_probe_ns=20.0,
    row_probe_ns=60.0,
    group_row_ns=40.0,
    sort_row_ns=100.0,
    shuffle_byte_ns=7.0,
    broadcast_row_ns=300.0,
    broadcast_byte_ns=11.0,
    range_test_ns=1.0,
    bitmap_test_ns=4.0,
    set_test_ns=5.0,
    bloom_test_ns=9.0,
    collect_key_ns=50.0,
    job_ms=30.0,
    driver_read_ms=8.0,
    round_trip_ms=4.0,
    gate_ms=70.0,
    verdict_pack_ns=1_000.0,
    ship_byte_ns=6.0,
)
TWO_CORES = Machine(PLAIN, cores=2)
BROADCAST = RowWork(tested=0.5, broadcasts=0.25, broadcast_bytes=20.0)
WORK = RowWork(scan_bytes=8.0, tested=0.5, shuffle_bytes=10.0, sorts=0.5, probes=1.0, groups=0.25, own_probes=0.5)
KINDS = st.sampled_from(["range", "set", "bloom"])
CONSTANTS = st.builds(Constants, **{field.name: st.floats(0.0, 1e3) for field in fields(Constants)})
WORKS = st.builds(
    RowWork,
    scan_bytes=st.floats(0, 1e3),
    tested=st.floats(1e-3, 1.0),
    shuffle_bytes=st.floats(0, 1e3),
    sorts=st.floats(0, 5),
    probes=st.floats(0, 5),
    row_probes=st.floats(0, 5),
    own_probes=st.floats(0, 5),
    own_row_probes=st.floats(0, 5),
    groups=st.floats(0, 5),
    broadcasts=st.floats(0, 5),
    broadcast_bytes=st.floats(0, 1e3),
)
SHARES = st.floats(0.0, 1.0)
ROWS = st.floats(0.0, 1e10)


class TestOneRow:
    def test_reading_it_takes_time_for_the_row_and_its_bytes(self) -> None:
        assert scan_row_ns(WORK, PLAIN) == 10 + 8 * 2

    def test_what_is_ahead_adds_up(self) -> None:
        assert ahead_row_ns(WORK, PLAIN) == 10 * 7 + 0.5 * 100 + 1 * 20 + 0.25 * 40

    def test_a_row_without_a_partner_is_read_carried_and_looked_up_in_vain(self) -> None:
        assert whole_row_ns(WORK, PLAIN) == 26 + 150 + 0.5 * 20

    def test_a_broadcast_is_made_of_rows_and_bytes_by_one_core(self) -> None:
        assert alone_row_ns(BROADCAST, PLAIN) == 0.25 * 300 + 20 * 11
        assert ahead_row_ns(BROADCAST, PLAIN) == 0.0 == alone_row_ns(WORK, PLAIN)
        assert BROADCAST.has_work_ahead

    @pytest.mark.parametrize(("kind", "ns"), [("range", 1.0), ("bitmap", 4.0), ("set", 5.0), ("bloom", 9.0)])
    def test_each_kind_of_test_has_its_time(self, kind: str, ns: float) -> None:
        assert test_row_ns(kind, PLAIN) == ns

    def test_a_row_of_keys_takes_longer_to_look_up_than_one_number(self) -> None:
        by_rows = RowWork(row_probes=2.0, own_row_probes=0.5)
        assert (ahead_row_ns(by_rows, PLAIN), own_row_ns(by_rows, PLAIN)) == (2 * 60, 0.5 * 60)
        assert by_rows.has_work_ahead and by_rows.looks_up
        assert RowWork(own_probes=0.5).looks_up and not RowWork(own_probes=0.5).has_work_ahead

    def test_a_bloom_filter_lets_some_through_that_have_no_partner(self) -> None:
        assert share_let_through("bloom", 0.2, fpp=0.1) == pytest.approx(0.28)
        assert share_let_through("set", 0.2, fpp=0.1) == share_let_through("range", 0.2, fpp=0.1) == 0.2


class TestRowTest:
    """What testing rows spares of the look-up in the filter's own join."""

    OWN = RowWork(probes=1.0, own_probes=1.0, own_row_probes=1.0)

    def test_a_bitmap_is_quicker_than_a_hash_table(self) -> None:
        test = row_test(self.OWN, "set", keys=2_000, span=2_000_000)
        assert (test.kind, test.work) == ("bitmap", self.OWN)

    @pytest.mark.parametrize(("keys", "span"), [(2_000, 4_000), (3, 1_024)])
    def test_but_not_than_an_array(self, keys: int, span: int) -> None:
        test = row_test(self.OWN, "set", keys, span)
        assert (test.kind, test.work) == ("bitmap", replace(self.OWN, own_probes=0.0))
        assert row_test(self.OWN, "set", keys, span + 1).work == self.OWN

    @pytest.mark.parametrize(("kind", "span"), [("set", 10**12), ("set", None), ("bloom", 2_000_000), ("bloom", None)])
    def test_a_hash_table_takes_as_long_as_another(self, kind: str, span: int | None) -> None:
        assert row_test(self.OWN, kind, 2_000, span) == RowTest(kind, replace(self.OWN, own_probes=0.0))

    def test_a_range_is_quicker(self) -> None:
        assert row_test(self.OWN, "range", 2_000_000, None) == RowTest("range", self.OWN)


class TestGains:
    def test_rejected_packs_save_their_rows_and_their_opening_shared_by_the_cores(self) -> None:
        assert packs_gain_ms(TWO_CORES, WORK, rows=1e6, packs=10) == pytest.approx((1e6 * 186 / 1e6 + 10 * 0.5) / 2)

    def test_files_that_are_not_opened_save_their_footers(self) -> None:
        assert packs_gain_ms(TWO_CORES, WORK, 0, 0, files=4) == pytest.approx(4 * 3 / 2)

    def test_more_cores_make_no_broadcast_sooner(self) -> None:
        for machine in (TWO_CORES, Machine(PLAIN, cores=8)):
            with_it, without = (packs_gain_ms(machine, work, 1e6, 0) for work in (BROADCAST, RowWork(tested=0.5)))
            assert with_it - without == pytest.approx(1e6 * 295 / 1e6)
            tested = rows_gain_ms(machine, BROADCAST, "set", 0.25, rows=1e6)
            assert tested == pytest.approx(1e6 * (0.75 * 295 - 0.5 * 5 / machine.cores) / 1e6)

    def test_a_test_saves_what_is_ahead_of_the_rows_that_it_drops(self) -> None:
        # 150 ns ahead of an average row and 10 in the join are 320 ns ahead of one that reaches the test.
        assert row_test_gain_ns(TWO_CORES, WORK, "set", 0.25) == pytest.approx(0.75 * 320 - 5)

    def test_a_test_pays_where_it_saves_half_as_much_again_as_it_takes(self) -> None:
        # Of 320 ns ahead 2.3 % are the 5 ns of a test and half of that.
        assert row_test_pays(TWO_CORES, WORK, "set", 0.976)
        assert not row_test_pays(TWO_CORES, WORK, "set", 0.977)

    def test_only_rows_that_the_scan_lets_through_are_tested(self) -> None:
        assert rows_gain_ms(TWO_CORES, WORK, "set", 0.25, rows=1e6) == pytest.approx(1e6 * 0.5 * 235 / 1e6 / 2)

    def test_with_nothing_ahead_a_test_only_costs(self) -> None:
        assert row_test_gain_ns(TWO_CORES, RowWork(), "range", 0.0) == -1.0


class TestCosts:
    def test_keys_of_a_shuffle_take_a_job_and_all_cores(self) -> None:
        assert collect_ms(TWO_CORES, 1e6, shuffled=True) == pytest.approx(30 + 50 / 2)
        assert collect_ms(TWO_CORES, 1e6, shuffled=True, job_from_rows=1_000_000) == pytest.approx(30 + 50 / 2)

    def test_keys_of_a_small_shuffle_are_read_by_the_driver_alone(self) -> None:
        assert collect_ms(TWO_CORES, 1e6, shuffled=True, job_from_rows=1_000_001) == pytest.approx(8 + 50)

    def test_keys_of_a_broadcast_are_read_by_the_driver_alone(self) -> None:
        assert collect_ms(TWO_CORES, 1e6, shuffled=False) == pytest.approx(50)

    def test_a_question_judges_every_pack(self) -> None:
        assert verdicts_ms(TWO_CORES, packs=2_000) == pytest.approx(2)

    def test_a_wait_has_to_make_up_for_wrong_sizes_more_than_for_what_any_wait_takes(self) -> None:
        assert least_gain_ms(100.0, gate_ms=70.0) == pytest.approx(WAIT_MARGIN * 30 + GATE_MARGIN * 70)
        assert WAIT_MARGIN > GATE_MARGIN > 1.0

    def test_a_wait_idles_a_share_of_the_build_sides_time_and_starts_a_stage_later(self) -> None:
        assert idle_ms(TWO_CORES, 1e9) == pytest.approx(500 + PLAIN.gate_ms)
        assert idle_ms(TWO_CORES, 0.0) == PLAIN.gate_ms

    def test_the_more_tasks_a_stage_has_the_smaller_is_the_share_that_its_last_ones_leave_idle(self) -> None:
        assert idle_share(TWO_CORES, 20 * TASK_BYTES) == pytest.approx(1 / 40)
        assert idle_share(Machine(PLAIN, 16), 200 * TASK_BYTES) == pytest.approx(15 / 400)

    @pytest.mark.parametrize("scanned_bytes", [None, 0, 1_000_000, 3 * TASK_BYTES])
    def test_of_few_tasks_or_unknown_ones_the_share_is_the_most(self, scanned_bytes: int | None) -> None:
        assert idle_share(TWO_CORES, scanned_bytes) == IDLE_SHARE

    def test_a_single_core_is_never_idle(self) -> None:
        assert idle_share(Machine(PLAIN, 1), None) == 0.0

    def test_a_range_weighs_nothing_and_a_bloom_filter_less_than_a_set(self) -> None:
        dense, apart = ship_ms(TWO_CORES, "set", 5e6, span=2**26), ship_ms(TWO_CORES, "set", 5e6, span=2**40)
        assert dense == pytest.approx(2**23 * PLAIN.ship_byte_ns / 1e6) and apart == ship_ms(TWO_CORES, "set", 5e6)
        assert ship_ms(TWO_CORES, "set", 10, span=2**26) == ship_ms(TWO_CORES, "set", 10) > 0
        by_kind = [ship_ms(TWO_CORES, kind, 1e6) for kind in ("range", "bloom", "set")]
        assert by_kind[0] == 0.0 and by_kind == sorted(by_kind) and len(set(by_kind)) == 3


class TestShares:
    def test_a_build_side_without_conditions_is_expected_to_lack_some_keys(self) -> None:
        assert semi_join_share(1.0, 1_000, probe_rows=1_000) == 1.0 - KEYS_MISSING
        assert semi_join_share(1.0, 1_000, probe_rows=10) == 1.0 - KEYS_MISSING

    def test_the_more_so_the_smaller_it_is_beside_the_probe_side(self) -> None:
        assert missing_share(1_000, 1_000) == KEYS_MISSING
        assert missing_share(10**6, 1_000) == pytest.approx(4 * KEYS_MISSING)
        assert missing_share(1e30, 0) == MOST_MISSING

    def test_conditions_on_the_build_side_count_and_what_is_missing_is_judged_without_them(self) -> None:
        assert semi_join_share(0.1, 100, probe_rows=1_000) == pytest.approx(0.1 * (1.0 - KEYS_MISSING))

    def test_a_few_rows_can_not_have_many_keys(self) -> None:
        assert semi_join_share(1.0, 100, 1_000, probe_distinct=10_000) == 0.01
        # 25 nations hold the keys of a million customers if customers are of 25 nations.
        assert semi_join_share(0.2, 5, 10**6, probe_distinct=25) == pytest.approx(0.2 * (1.0 - KEYS_MISSING))
        assert semi_join_share(0.2, 5, 10**6, probe_distinct=26) < 0.2 * (1.0 - 2 * KEYS_MISSING)
        assert semi_join_share(0.5, 10**6, 10**6, probe_distinct=10_000) == semi_join_share(0.5, 10**6, 10**6)


class TestDefaults:
    def test_they_are_near_the_trials_that_they_come_from(self) -> None:
        # 46 ns to scan and probe a row of two ints; 375 ns to shuffle, sort and merge one of three columns.
        assert whole_row_ns(RowWork(scan_bytes=8.0, own_probes=1.0), DEFAULTS) == pytest.approx(46, rel=0.2)
        assert ahead_row_ns(RowWork(shuffle_bytes=32.0, sorts=1.0), DEFAULTS) == pytest.approx(375, rel=0.2)

    def test_no_cores_count_as_one(self) -> None:
        assert Machine(PLAIN, cores=0).shared_ms(1e6) == 1.0


class TestWhateverTheMachine:
    @given(CONSTANTS, WORKS, KINDS, SHARES, SHARES)
    def test_a_test_that_lets_more_through_saves_no_more(
        self, constants: Constants, work: RowWork, kind: str, one: float, other: float
    ) -> None:
        gains = [row_test_gain_ns(Machine(constants), work, kind, share) for share in sorted((one, other))]
        assert gains[1] <= gains[0] + 1e-6

    @given(CONSTANTS, WORKS, ROWS, ROWS, st.floats(0, 1e5))
    def test_more_rows_rejected_save_no_less(
        self, constants: Constants, work: RowWork, one: float, other: float, packs: float
    ) -> None:
        gains = [packs_gain_ms(Machine(constants), work, rows, packs) for rows in sorted((one, other))]
        assert gains[0] <= gains[1]

    @given(CONSTANTS, ROWS, ROWS, st.booleans(), st.integers(1, 64))
    def test_more_build_rows_cost_no_less(self, constants: Constants, one: float, other: float, shuffled: bool, cores: int) -> None:
        costs = [collect_ms(Machine(constants, cores), rows, shuffled) for rows in sorted((one, other))]
        assert costs[0] <= costs[1]

    @given(CONSTANTS, KINDS, ROWS, ROWS)
    def test_more_keys_are_no_lighter(self, constants: Constants, kind: str, one: float, other: float) -> None:
        costs = [ship_ms(Machine(constants), kind, keys) for keys in sorted((one, other))]
        assert costs[0] <= costs[1]

    @given(CONSTANTS, WORKS)
    def test_nothing_that_is_ahead_saves_time(self, constants: Constants, work: RowWork) -> None:
        without = RowWork(work.scan_bytes, work.tested)
        assert ahead_row_ns(without, constants) == 0.0 <= ahead_row_ns(work, constants)
        assert own_row_ns(without, constants) == 0.0 <= own_row_ns(work, constants)
        assert alone_row_ns(without, constants) == 0.0 <= alone_row_ns(work, constants)
        assert not without.has_work_ahead and not without.looks_up

    @given(SHARES, ROWS, ROWS, st.none() | st.integers(0, 10**9))
    def test_a_share_stays_a_share(self, kept: float, build_rows: float, probe_rows: float, distinct: int | None) -> None:
        assert 0.0 <= semi_join_share(kept, build_rows, probe_rows, distinct) <= kept
