"""The decision after the fill."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import questions
from planner.cost.formulas import ROW_TEST_MARGIN, ship_ms, verdicts_ms
from planner.decision.figures import DecideSettings, FilterDecision, FilterFigures
from planner.decision.outcome import worth_testing_dictionaries
from planner.decision.shares import most_selective_first, share_passed
from planner.inputs.machine import DEFAULTS, Machine
from planner.inputs.row_work import RowWork

# The micro-benchmark of the design notes at p = 0.001.
FIGURES = FilterFigures(
    id="d1.0",
    kind="set",
    form="set",
    ahead=RowWork(),
    keys=204,
    key_min=1,
    key_max=101_000,
    build_rows=204,
    packs_total=6_509,
    packs_rejected=6_248,
    packs_bounded=6_509,
    rows_total=133_110_000,
    rows_rejected=127_764_720,
    value_span=102_000,
)
# A shuffle of 24 bytes a row, a sort and the join.
SHUFFLED = RowWork(shuffle_bytes=24.0, sorts=1.0)
NO_FOOTERS = replace(
    FIGURES, packs_total=0, packs_rejected=0, packs_bounded=0, rows_total=0, rows_rejected=0, value_span=None, files_unknown=16
)


def decide(figures: FilterFigures, cost: str = "auto", cores: int = 2) -> FilterDecision:
    (decision,) = questions.decide([figures], DecideSettings(cost, Machine(cores=cores)))
    return decision


class TestDecision:
    def test_a_filter_that_rejects_packs_is_applied(self) -> None:
        decision = decide(FIGURES)
        assert (decision.decision, decision.reason, decision.kind, decision.push) == ("applied", "APPLIED", "set", "set")
        assert (decision.packs_kept, decision.rows_kept) == (261, 5_345_280)
        assert decision.applied

    def test_a_filter_that_rejects_no_pack_is_skipped(self) -> None:
        decision = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0))
        assert (decision.decision, decision.reason, decision.dictionary) == ("skipped", "REJECTS_NO_PACK", False)
        assert (decision.estimated_gain_ms, decision.estimated_cost_ms) == (0.0, verdicts_ms(Machine(cores=2), 6_509))

    def test_a_column_without_any_bounds_is_named_as_the_cause(self) -> None:
        none = replace(FIGURES, packs_rejected=0, rows_rejected=0, packs_bounded=0)
        assert decide(none).detail.startswith("It rejects none of 6,509 packs: footers tell no bounds of the column.")

    def test_a_column_with_bounds_that_are_no_numbers_has_bounds(self) -> None:
        texts = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0, value_span=None))
        assert texts.detail.startswith("It rejects none of 6,509 packs: each of them may hold one of the keys.")

    def test_packs_without_bounds_are_counted(self) -> None:
        some = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0, packs_bounded=6_508))
        assert "footers tell no bounds of the column in 1 pack, and the others may hold one of the keys." in some.detail

    def test_a_column_that_can_not_be_decoded_is_named(self) -> None:
        lost = replace(
            FIGURES, packs_rejected=0, rows_rejected=0, packs_bounded=0, column_problem="p.parquet: pyarrow can't decode it"
        )
        why = (
            "It rejects none of 6,509 packs: footers tell no bounds of the column that count (p.parquet: pyarrow can't decode it)."
        )
        assert decide(lost).detail.startswith(why)
        assert "p.parquet" not in decide(replace(lost, packs_bounded=6_509)).detail

    def test_one_pack_is_no_plural(self) -> None:
        one = replace(FIGURES, packs_total=1, packs_bounded=1, packs_rejected=0, rows_rejected=0)
        assert decide(one).detail.startswith("It does not reject the only pack: it may hold one of the keys.")
        assert decide(replace(one, packs_rejected=1, rows_rejected=one.rows_total)).detail.startswith("It rejects the only pack, ")
        empty = replace(one, packs_total=0, packs_bounded=0, rows_total=0)
        assert decide(empty).detail.startswith("There is no pack in the files of the scan.")

    def test_cost_always_keeps_a_filter_that_rejects_no_pack(self) -> None:
        decision = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0), cost="always")
        assert (decision.applied, decision.rows, decision.reason) == (True, True, "ROWS_ONLY")

    def test_cost_never_skips_every_filter(self) -> None:
        assert decide(FIGURES, cost="never").reason == "COST_NEVER"

    def test_rows_of_packs_that_surely_pass_whole_are_not_tested(self) -> None:
        figures = replace(FIGURES, ahead=SHUFFLED, value_span=None)
        assert decide(figures).rows
        sure = replace(figures, rows_sure=figures.rows_total - figures.rows_rejected)
        assert (decide(sure).rows, decide(sure).rows_reason) == (False, "PASSES_MOST_ROWS")
        assert decide(replace(sure, rows_sure=sure.rows_sure - 1)).rows and decide(replace(sure, files_unknown=1)).rows
        assert decide(sure, cost="always").rows

    def test_without_a_known_footer_there_is_nothing_to_apply(self) -> None:
        decision = decide(NO_FOOTERS)
        assert (decision.decision, decision.reason) == ("skipped", "FOOTERS_NOT_KNOWN")
        assert decision.detail == "None of the 16 files has a footer that was read in time."
        assert decide(replace(NO_FOOTERS, files_unknown=1)).detail == "The only file has no footer that was read in time."

    def test_a_footer_that_can_not_be_used_is_no_late_one(self) -> None:
        encrypted = replace(NO_FOOTERS, footer_problem="p.parquet: the footer is encrypted")
        assert decide(encrypted).detail == "None of the 16 files has a footer that can be used: p.parquet: the footer is encrypted."
        one = decide(replace(encrypted, files_unknown=1))
        assert one.detail == "The only file has no footer that can be used: p.parquet: the footer is encrypted."

    def test_without_a_known_footer_rows_can_be_tested_nevertheless(self) -> None:
        decision = decide(replace(NO_FOOTERS, ahead=SHUFFLED))
        assert (decision.applied, decision.rows, decision.reason) == (True, True, "ROWS_ONLY")

    def test_an_empty_build_side_is_a_filter_that_rejects_everything(self) -> None:
        empty = replace(
            FIGURES, form="empty", keys=0, key_min=None, key_max=None, build_rows=0, packs_rejected=6_509, rows_rejected=133_110_000
        )
        decision = decide(empty)
        assert decision.applied and decision.packs_kept == 0 and not decision.dictionary

    def test_each_filter_of_a_scan_is_judged_alone_and_in_order(self) -> None:
        idle = replace(FIGURES, id="d1.1", packs_rejected=0, rows_rejected=0)
        decisions = questions.decide([FIGURES, idle, replace(FIGURES, id="d1.2")], DecideSettings())
        assert [(each.id, each.applied) for each in decisions] == [("d1.0", True), ("d1.1", False), ("d1.2", True)]

    def test_the_form_of_the_protocol(self) -> None:
        assert list(decide(FIGURES).to_dict()) == [
            "id",
            "kind",
            "decision",
            "reason",
            "detail",
            "keys",
            "build_rows",
            "packs_total",
            "packs_kept",
            "rows_total",
            "rows_kept",
            "estimated_gain_ms",
            "estimated_cost_ms",
            "push",
            "dictionary",
            "rows",
            "rows_reason",
            "key_first",
        ]


class TestRows:
    AHEAD = replace(FIGURES, ahead=SHUFFLED)

    def test_they_are_tested_where_something_is_before_them(self) -> None:
        decision = decide(self.AHEAD)
        assert (decision.rows, decision.rows_reason, decision.reason) == (True, "ROWS_TESTED", "APPLIED")
        assert "saves" in decision.detail

    def test_they_are_not_where_nothing_is(self) -> None:
        decision = decide(FIGURES)
        assert (decision.rows, decision.rows_reason, decision.applied) == (False, "NOTHING_AHEAD", True)

    def test_before_the_join_alone_they_are_where_a_test_is_quicker_than_a_look_up(self) -> None:
        far = replace(FIGURES, ahead=RowWork(own_probes=1.0), packs_rejected=0, rows_rejected=0)
        assert decide(far).rows and not decide(replace(far, keys=30_000)).rows
        for near_or_hashed in (replace(far, keys=60_000), replace(far, key_max=10**12), replace(far, kind="bloom")):
            decision = decide(near_or_hashed)
            assert (decision.rows, decision.rows_reason) == (False, "NOTHING_AHEAD")

    def test_not_for_so_few_that_the_other_code_takes_longer(self) -> None:
        far = replace(FIGURES, ahead=RowWork(own_probes=1.0), packs_rejected=0, rows_rejected=0)
        # 7 ns a row on two cores.
        for rows, tested in ((1_500_000, True), (1_400_000, False)):
            decision = decide(replace(far, rows_total=rows))
            assert (decision.rows, decision.rows_reason == "NOTHING_AHEAD") == (tested, not tested)

    def test_too_few_beside_another_filter_is_another_reason_than_nothing_ahead(self) -> None:
        """What is learned of a filter depends on it: with other literals the other filter may leave more."""
        far = replace(FIGURES, ahead=RowWork(own_probes=1.0), packs_rejected=0, rows_rejected=0)
        few = replace(far, id="d1.1", keys=150)
        first, beside = questions.decide([few, replace(far, rows_total=2_000_000)], DecideSettings())
        assert first.rows and not beside.applied
        assert (beside.reason, beside.rows_reason) == ("GAIN_TOO_SMALL", "GAIN_TOO_SMALL")
        assert decide(replace(far, rows_total=2_000_000)).rows
        # What no row test would pay for alone has not got too few.
        _, useless = questions.decide([few, replace(far, keys=100_000, key_max=10**6, value_span=10**5)], DecideSettings())
        assert (useless.reason, useless.rows_reason) == ("REJECTS_NO_PACK", "NOTHING_AHEAD")

    def test_they_are_before_a_join_of_texts(self) -> None:
        texts = replace(FIGURES, ahead=RowWork(own_row_probes=1.0), packs_rejected=0, rows_rejected=0, key_min=None, key_max=None)
        decision = decide(replace(texts, keys=51_000))
        assert (decision.rows, decision.rows_reason, decision.reason) == (True, "ROWS_TESTED", "ROWS_ONLY")

    def test_they_alone_make_a_filter_that_rejects_no_pack_worth_it(self) -> None:
        decision = decide(replace(self.AHEAD, packs_rejected=0, rows_rejected=0))
        assert (decision.decision, decision.reason, decision.rows) == ("applied", "ROWS_ONLY", True)

    @pytest.mark.parametrize(("kind", "test_ns"), [("set", DEFAULTS.bitmap_test_ns), ("bloom", DEFAULTS.bloom_test_ns)])
    def test_they_are_not_where_so_many_pass_that_the_test_hardly_saves_what_it_costs(self, kind: str, test_ns: float) -> None:
        # 24 bytes and a sort: the share that must be dropped is what the test costs of that, half as much again, and a bloom filter
        # drops a bit less.
        ahead_ns = 24 * DEFAULTS.shuffle_byte_ns + DEFAULTS.sort_row_ns
        turn = 1.0 - ROW_TEST_MARGIN * test_ns / ahead_ns / (0.99 if kind == "bloom" else 1.0)
        for keys, tested in ((turn - 0.001, True), (turn + 0.001, False)):
            idle = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, kind=kind, keys=round(keys * 102_000))
            decision = decide(idle)
            assert (decision.rows, decision.rows_reason == "PASSES_MOST_ROWS") == (tested, not tested)

    def test_a_bloom_filter_that_lets_many_strangers_through_is_not_worth_a_test(self) -> None:
        bloom = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, kind="bloom", keys=102)
        tested = {fpp: questions.decide([bloom], DecideSettings(bloom_fpp=fpp))[0].rows for fpp in (0.01, 0.97)}
        assert tested == {0.01: True, 0.97: False}

    def test_a_join_ahead_is_worth_a_test_only_if_many_rows_are_dropped(self) -> None:
        one_join = replace(FIGURES, ahead=RowWork(probes=1.0), packs_rejected=0, rows_rejected=0)
        assert decide(replace(one_join, keys=10_200)).rows
        assert not decide(replace(one_join, keys=61_200)).rows

    def test_they_are_not_in_packs_that_hold_little_else_than_partners(self) -> None:
        # A tenth of the rows is kept and a tenth has a partner: a fact that is clustered by its key.
        clustered = replace(self.AHEAD, keys=10_200, rows_rejected=FIGURES.rows_total * 9 // 10)
        decision = decide(clustered)
        assert (decision.applied, decision.rows, decision.rows_reason) == (True, False, "PASSES_MOST_ROWS")

    def test_the_second_filter_of_a_scan_gains_only_what_the_first_has_left(self) -> None:
        first = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, keys=102)
        second = replace(first, id="d1.1", keys=51_000)
        alone = decide(second).estimated_gain_ms
        after = questions.decide([second, first], DecideSettings(machine=Machine(cores=2)))[0].estimated_gain_ms
        assert 0 < after < alone / 100

    def test_no_row_of_a_pack_that_another_filter_rejects_is_tested(self) -> None:
        """Keys of 1 % are tested before those of 2 % that reject 98 of 100 packs: what is in those never gets to a test."""
        item = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, keys=1_020)
        date = replace(self.AHEAD, id="d1.1", keys=2_040, rows_rejected=FIGURES.rows_total // 100 * 98)
        alone = decide(item).estimated_gain_ms
        beside, packs = questions.decide([item, date], DecideSettings(machine=Machine(cores=2)))
        assert most_selective_first([item, date]) == [0, 1] and beside.rows and packs.applied
        assert beside.estimated_gain_ms == pytest.approx(alone / 50, rel=1e-3)
        # Of a join alone too few rows are left then for other code to pay.
        join_alone = RowWork(own_probes=1.0)
        far, near = replace(item, ahead=join_alone), replace(date, ahead=join_alone)
        tested = {
            thousandths: questions.decide(
                [far, replace(near, rows_rejected=FIGURES.rows_total // 1000 * thousandths)], DecideSettings()
            )[0].rows
            for thousandths in (500, 998)
        }
        assert tested == {500: True, 998: False}

    def test_a_range_passes_all_between_its_ends(self) -> None:
        wide = replace(self.AHEAD, kind="range", form="ranges", key_min=1, key_max=101_000, value_span=102_000)
        assert share_passed(wide) == pytest.approx(101_000 / 102_000)
        assert not decide(replace(wide, packs_rejected=0, rows_rejected=0)).rows
        assert decide(replace(wide, packs_rejected=0, rows_rejected=0, key_max=50_000)).rows

    def test_they_are_tested_where_nothing_is_known_of_the_column(self) -> None:
        unknown = replace(self.AHEAD, packs_rejected=0, rows_rejected=0)
        assert decide(replace(unknown, keys=10**6, value_span=None)).rows
        assert decide(replace(unknown, kind="range", form="ranges", key_min=None, key_max=None)).rows

    def test_what_the_planning_expected_counts_where_nothing_else_is_known(self) -> None:
        unknown = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, value_span=None)
        assert share_passed(replace(unknown, ahead=replace(SHUFFLED, kept=0.25))) == 0.25
        assert not decide(replace(unknown, ahead=replace(SHUFFLED, kept=0.99))).rows

    def test_what_each_key_let_through_in_an_earlier_query_counts_more_than_the_span(self) -> None:
        """Of TPC-H's order numbers a quarter of their span is there: so many keys of them have four times the share."""
        orders = replace(self.AHEAD, packs_rejected=0, rows_rejected=0, keys=729_413, value_span=6_000_000)
        seen = replace(SHUFFLED, kept=0.1, key_share=0.4862 / 729_413)
        assert share_passed(orders) == pytest.approx(0.1216, abs=1e-4)
        assert share_passed(replace(orders, ahead=seen)) == pytest.approx(0.4862)
        # With half the keys half of it, whatever the planning has expected.
        assert share_passed(replace(orders, ahead=seen, keys=364_706)) == pytest.approx(0.2431, abs=1e-4)
        # A bloom filter's or a range's keys are not all that it lets through.
        assert share_passed(replace(orders, ahead=seen, kind="bloom")) == pytest.approx(0.1216, abs=1e-4)
        assert share_passed(replace(orders, ahead=seen, keys=10**8)) == 1.0

    def test_no_key_at_all_passes_nothing(self) -> None:
        assert share_passed(replace(self.AHEAD, form="empty", keys=0, value_span=None)) == 0.0

    @pytest.mark.parametrize("ahead", [RowWork(), SHUFFLED])
    def test_cost_always_tests_them_whatever_is_expected(self, ahead: RowWork) -> None:
        assert decide(replace(FIGURES, ahead=ahead, keys=102_000), cost="always").rows

    def test_cost_never_tests_none(self) -> None:
        assert not decide(self.AHEAD, cost="never").rows

    def test_a_filter_that_does_nothing_is_skipped_with_both_reasons(self) -> None:
        idle = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0))
        assert not idle.applied and not idle.rows
        assert (idle.reason, idle.rows_reason) == ("REJECTS_NO_PACK", "NOTHING_AHEAD")
        assert "rejects none" in idle.detail and "only the join" in idle.detail


class TestPush:
    def test_a_set_without_gaps_is_pushed_as_its_range(self) -> None:
        decision = decide(replace(FIGURES, key_min=100, key_max=303))
        assert (decision.kind, decision.push) == ("set", "range")

    def test_a_set_with_one_gap_is_pushed_as_a_set(self) -> None:
        assert decide(replace(FIGURES, key_min=100, key_max=304)).push == "set"

    def test_a_set_of_texts_is_pushed_as_a_set(self) -> None:
        assert decide(replace(FIGURES, key_min=None, key_max=None, value_span=None)).push == "set"

    @pytest.mark.parametrize("kind", ["bloom", "range"])
    def test_what_the_host_knows_as_ranges_is_pushed_as_a_range(self, kind: str) -> None:
        assert decide(replace(FIGURES, kind=kind, form="ranges")).push == "range"

    def test_a_key_beside_all_keys_of_its_join_tests_no_rows(self) -> None:
        ahead = replace(SHUFFLED, join=3, kept=0.2)
        several = replace(FIGURES, form="none", ahead=ahead, packs_rejected=0, rows_rejected=0, value_span=None)
        single = replace(several, id="d1.1", form="set", ahead=replace(ahead, kept=0.3))
        _, beside = questions.decide([several, single], DecideSettings())
        assert (beside.applied, beside.rows, beside.rows_reason) == (False, False, "PASSES_MOST_ROWS")
        _, other = questions.decide([several, replace(single, ahead=replace(single.ahead, join=4))], DecideSettings())
        assert other.rows
        # Without all its keys tested, one of them is.
        assert decide(single).rows

    def test_a_wait_that_has_spared_a_shuffle_is_part_of_the_gain(self) -> None:
        spared = replace(FIGURES, ahead=replace(FIGURES.ahead, spared_ns=100.0))
        more_ms = decide(spared).estimated_gain_ms - decide(FIGURES).estimated_gain_ms
        assert more_ms == pytest.approx(100.0 * FIGURES.rows_total / 1e6 / 2)
        assert replace(decide(spared), estimated_gain_ms=0.0) == replace(decide(FIGURES), estimated_gain_ms=0.0)

    @pytest.mark.parametrize("kind", ["set", "bloom"])
    def test_a_composite_filter_is_not_pushed_and_tests_rows_alone(self, kind: str) -> None:
        several = replace(FIGURES, kind=kind, form="none", ahead=SHUFFLED, packs_rejected=0, rows_rejected=0, value_span=None)
        decision = decide(several)
        assert (decision.push, decision.rows, decision.reason, decision.dictionary) == ("none", True, "ROWS_ONLY", False)


class TestDictionaries:
    # Packs of 20,480 rows over a span of ten million values: one key is in a pack with a chance of 0.2 %.
    SPARSE = replace(FIGURES, keys=10, value_span=10_000_000)

    def test_few_keys_that_a_pack_hardly_holds_are_worth_it(self) -> None:
        assert worth_testing_dictionaries(self.SPARSE) and decide(self.SPARSE).dictionary

    def test_many_keys_are_not(self) -> None:
        assert worth_testing_dictionaries(replace(self.SPARSE, keys=64))
        assert not worth_testing_dictionaries(replace(self.SPARSE, keys=65))

    def test_keys_that_a_pack_probably_holds_are_not(self) -> None:
        assert not worth_testing_dictionaries(replace(self.SPARSE, value_span=102_000))

    def test_the_estimate_turns_at_one_half(self) -> None:
        # One key, 20,480-odd rows a pack: P(none) = 1 - d/D is above one half from twice the rows on.
        rows_per_pack = FIGURES.rows_total / FIGURES.packs_total
        one = replace(self.SPARSE, keys=1)
        assert worth_testing_dictionaries(replace(one, value_span=int(rows_per_pack * 2.01)))
        assert not worth_testing_dictionaries(replace(one, value_span=int(rows_per_pack * 1.99)))

    def test_packs_with_more_rows_than_there_are_values_are_not(self) -> None:
        assert not worth_testing_dictionaries(replace(self.SPARSE, value_span=100))

    @pytest.mark.parametrize(
        "figures", [{"kind": "bloom", "form": "ranges"}, {"form": "ranges"}, {"value_span": None}, {"keys": 0}, {"packs_total": 0}]
    )
    def test_nothing_known_is_not(self, figures: dict[str, object]) -> None:
        assert not worth_testing_dictionaries(replace(self.SPARSE, **figures))  # type: ignore[arg-type]

    def test_a_filter_that_is_not_applied_pushes_none(self) -> None:
        assert not decide(replace(self.SPARSE, packs_rejected=0, rows_rejected=0)).dictionary


class TestGain:
    def test_it_is_about_what_the_benchmark_of_the_design_gained(self) -> None:
        # 3,060 ms less 270 ms there, of which the scan and the join of the rows in rejected packs are the larger part.
        assert 2_000 < decide(replace(FIGURES, ahead=RowWork(own_probes=1.0))).estimated_gain_ms < 3_500

    def test_it_is_shared_by_the_cores(self) -> None:
        one, four = (decide(FIGURES, cores=cores).estimated_gain_ms for cores in (1, 4))
        sent_ms = ship_ms(Machine(), "set", 204, FIGURES.key_span)
        assert (one + sent_ms) / (four + sent_ms) == pytest.approx(4.0)

    def test_what_waiting_has_cost_is_told_by_itself(self) -> None:
        waited = replace(FIGURES, ahead=RowWork(wait_ms=500.0))
        assert decide(waited).estimated_cost_ms - decide(FIGURES).estimated_cost_ms == pytest.approx(500.0)
        assert decide(waited).estimated_gain_ms == decide(FIGURES).estimated_gain_ms

    def test_what_was_waited_for_in_vain_gains_nothing(self) -> None:
        idle = replace(FIGURES, ahead=RowWork(wait_ms=500.0), packs_rejected=0, rows_rejected=0)
        assert not decide(idle).applied
        assert decide(idle).estimated_gain_ms == 0.0 and decide(idle).estimated_cost_ms > 500.0

    def test_a_filter_that_is_applied_whatever_it_costs_shows_no_loss(self) -> None:
        many = replace(FIGURES, keys=1_000_000, key_max=10**12, packs_rejected=1, rows_rejected=20_000)
        assert decide(many, cost="always").applied and decide(many, cost="always").estimated_gain_ms == 0.0

    def test_a_pack_less_does_not_pay_for_a_million_keys(self) -> None:
        many = replace(FIGURES, keys=1_000_000, key_max=10**12, packs_rejected=1, rows_rejected=20_000)
        decision = decide(many)
        assert (decision.decision, decision.reason, decision.dictionary) == ("skipped", "GAIN_TOO_SMALL", False)
        assert decide(many, cost="always").applied

    def test_files_that_are_not_opened_count(self) -> None:
        assert decide(replace(FIGURES, files_rejected=8)).estimated_gain_ms > decide(FIGURES).estimated_gain_ms


WORK = st.builds(
    RowWork,
    scan_bytes=st.floats(1, 500),
    tested=st.floats(0.001, 1),
    shuffle_bytes=st.floats(0, 500),
    sorts=st.floats(0, 3),
    probes=st.floats(0, 5),
    groups=st.floats(0, 2),
    kept=st.none() | st.floats(0, 1),
    wait_ms=st.floats(0, 1_000),
)


@st.composite
def any_figures(draw: st.DrawFn) -> FilterFigures:
    packs_total = draw(st.integers(0, 10_000))
    packs_rejected = draw(st.integers(0, packs_total))
    span = draw(st.none() | st.integers(1, 10**9))
    return replace(
        FIGURES,
        kind=draw(st.sampled_from(["range", "set", "bloom"])),
        ahead=draw(WORK),
        keys=draw(st.integers(0, 10**7)),
        packs_total=packs_total,
        packs_rejected=packs_rejected,
        packs_bounded=packs_total,
        rows_total=packs_total * 20_000,
        rows_rejected=packs_rejected * 20_000,
        value_span=span,
    )


class TestOrder:
    @given(any_figures())
    def test_an_applied_filter_is_expected_to_gain_what_was_not_spent_before(self, figures: FilterFigures) -> None:
        decision = decide(figures)
        assert decision.estimated_gain_ms >= 0.0
        spent_ms = figures.ahead.wait_ms + verdicts_ms(Machine(cores=2), figures.packs_total)
        assert decision.estimated_cost_ms == pytest.approx(spent_ms)

    @given(any_figures(), st.integers(1, 10**6))
    def test_more_keys_gain_nothing(self, figures: FilterFigures, more: int) -> None:
        gains = [decide(replace(figures, keys=keys)).estimated_gain_ms for keys in (figures.keys, figures.keys + more)]
        assert gains[1] <= gains[0] + 1e-6

    @given(any_figures(), st.integers(1, 1_000))
    def test_more_packs_rejected_lose_nothing(self, figures: FilterFigures, more: int) -> None:
        packs = min(figures.packs_rejected + more, figures.packs_total)
        better = replace(figures, packs_rejected=packs, rows_rejected=packs * 20_000)
        assert decide(better).estimated_gain_ms >= decide(figures).estimated_gain_ms - 1e-6

    @given(any_figures(), st.floats(0, 1_000))
    def test_a_longer_wait_gains_nothing(self, figures: FilterFigures, more_ms: float) -> None:
        longer = replace(figures, ahead=replace(figures.ahead, wait_ms=figures.ahead.wait_ms + more_ms))
        assert decide(longer).estimated_cost_ms == pytest.approx(decide(figures).estimated_cost_ms + more_ms)
        assert replace(decide(longer), estimated_cost_ms=0.0) == replace(decide(figures), estimated_cost_ms=0.0)

    @given(st.lists(any_figures(), min_size=1, max_size=4))
    def test_beside_others_that_reject_no_pack_the_most_selective_filter_gains_as_if_it_were_alone(
        self, filters: list[FilterFigures]
    ) -> None:
        first = most_selective_first(filters)[0]
        others = [each if at == first else replace(each, packs_rejected=0, rows_rejected=0) for at, each in enumerate(filters)]
        decisions = questions.decide(others, DecideSettings(machine=Machine(cores=2)))
        assert decisions[first] == decide(filters[first])

    @given(st.lists(any_figures(), min_size=1, max_size=4))
    def test_no_filter_gains_more_beside_others_than_alone(self, filters: list[FilterFigures]) -> None:
        decisions = questions.decide(filters, DecideSettings(machine=Machine(cores=2)))
        alone = [decide(each) for each in filters]
        assert all(now.estimated_gain_ms <= then.estimated_gain_ms + 1e-6 for now, then in zip(decisions, alone, strict=True))
