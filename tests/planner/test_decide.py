"""The decision after the fill."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.cost import SCAN_AND_PROBE_NS_PER_ROW, estimated_gain_ms
from planner.decide import DecideSettings, FilterDecision, FilterFigures, decide_filters, share_passed, worth_testing_dictionaries

# The micro-benchmark of the design notes at p = 0.001.
FIGURES = FilterFigures(
    id="d1.0",
    kind="set",
    form="set",
    ahead=None,
    keys=204,
    key_min=1,
    key_max=101_000,
    build_rows=204,
    packs_total=6_509,
    packs_rejected=6_248,
    rows_total=133_110_000,
    rows_rejected=127_764_720,
    value_span=102_000,
)
NO_FOOTERS = replace(FIGURES, packs_total=0, packs_rejected=0, rows_total=0, rows_rejected=0, value_span=None, files_unknown=16)


def decide(figures: FilterFigures, cost: str = "auto", cores: int = 2) -> FilterDecision:
    (decision,) = decide_filters([figures], DecideSettings(cost, cores))
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
        assert decision.estimated_gain_ms == 0.0

    def test_a_column_without_any_bounds_is_named_as_the_cause(self) -> None:
        assert "no pack has bounds" in decide(replace(FIGURES, packs_rejected=0, rows_rejected=0, value_span=None)).detail

    def test_cost_always_keeps_a_filter_that_rejects_no_pack(self) -> None:
        decision = decide(replace(FIGURES, packs_rejected=0, rows_rejected=0), cost="always")
        assert (decision.applied, decision.rows, decision.reason) == (True, True, "ROWS_ONLY")

    def test_cost_never_skips_every_filter(self) -> None:
        assert decide(FIGURES, cost="never").reason == "COST_NEVER"

    def test_rows_of_packs_that_surely_pass_whole_are_not_tested(self) -> None:
        figures = replace(FIGURES, ahead="shuffle", value_span=None)
        assert decide(figures).rows
        sure = replace(figures, rows_sure=figures.rows_total - figures.rows_rejected)
        assert (decide(sure).rows, decide(sure).rows_reason) == (False, "PASSES_MOST_ROWS")
        assert decide(replace(sure, rows_sure=sure.rows_sure - 1)).rows and decide(replace(sure, files_unknown=1)).rows
        assert decide(sure, cost="always").rows

    def test_without_a_known_footer_there_is_nothing_to_apply(self) -> None:
        decision = decide(NO_FOOTERS)
        assert (decision.decision, decision.reason) == ("skipped", "FOOTERS_NOT_KNOWN")

    def test_without_a_known_footer_rows_can_be_tested_nevertheless(self) -> None:
        decision = decide(replace(NO_FOOTERS, ahead="shuffle"))
        assert (decision.applied, decision.rows, decision.reason) == (True, True, "ROWS_ONLY")

    def test_an_empty_build_side_is_a_filter_that_rejects_everything(self) -> None:
        empty = replace(
            FIGURES, form="empty", keys=0, key_min=None, key_max=None, build_rows=0, packs_rejected=6_509, rows_rejected=133_110_000
        )
        decision = decide(empty)
        assert decision.applied and decision.packs_kept == 0 and not decision.dictionary

    def test_each_filter_of_a_scan_is_judged_alone_and_in_order(self) -> None:
        idle = replace(FIGURES, id="d1.1", packs_rejected=0, rows_rejected=0)
        decisions = decide_filters([FIGURES, idle, replace(FIGURES, id="d1.2")], DecideSettings())
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
            "push",
            "dictionary",
            "rows",
            "rows_reason",
        ]


class TestRows:
    AHEAD = replace(FIGURES, ahead="shuffle")

    def test_they_are_tested_where_something_is_before_them(self) -> None:
        decision = decide(self.AHEAD)
        assert (decision.rows, decision.rows_reason, decision.reason) == (True, "ROWS_TESTED", "APPLIED")
        assert "shuffle before them" in decision.detail

    def test_they_are_not_where_only_the_join_is(self) -> None:
        decision = decide(FIGURES)
        assert (decision.rows, decision.rows_reason, decision.applied) == (False, "NOTHING_AHEAD", True)

    def test_they_alone_make_a_filter_that_rejects_no_pack_worth_it(self) -> None:
        decision = decide(replace(self.AHEAD, packs_rejected=0, rows_rejected=0))
        assert (decision.decision, decision.reason, decision.rows) == ("applied", "ROWS_ONLY", True)

    @pytest.mark.parametrize("kind", ["set", "bloom"])
    @pytest.mark.parametrize(("keys", "tested"), [(91_800, True), (91_801, False)])
    def test_they_are_not_where_nine_of_ten_would_pass(self, kind: str, keys: int, tested: bool) -> None:
        decision = decide(replace(self.AHEAD, kind=kind, keys=keys, value_span=102_000))
        assert (decision.rows, decision.rows_reason == "PASSES_MOST_ROWS") == (tested, not tested)

    def test_a_range_passes_all_between_its_ends(self) -> None:
        wide = replace(self.AHEAD, kind="range", form="ranges", key_min=1, key_max=101_000, value_span=102_000)
        assert share_passed(wide) == pytest.approx(101_000 / 102_000) and not decide(wide).rows
        assert decide(replace(wide, key_max=50_000)).rows

    def test_they_are_tested_where_nothing_is_known_of_the_column(self) -> None:
        assert decide(replace(self.AHEAD, keys=10**9, value_span=None)).rows
        assert decide(replace(self.AHEAD, kind="range", form="ranges", key_min=None, key_max=None)).rows

    def test_no_key_at_all_passes_nothing(self) -> None:
        assert share_passed(replace(self.AHEAD, form="empty", keys=0, value_span=None)) == 0.0

    @pytest.mark.parametrize("ahead", [None, "shuffle"])
    def test_cost_always_tests_them_whatever_is_expected(self, ahead: str | None) -> None:
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

    @pytest.mark.parametrize("kind", ["set", "bloom"])
    def test_a_composite_filter_is_not_pushed_and_tests_rows_alone(self, kind: str) -> None:
        several = replace(FIGURES, kind=kind, form="none", ahead="shuffle", packs_rejected=0, rows_rejected=0, value_span=None)
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
    def test_the_rows_of_the_benchmark_take_the_time_of_the_benchmark(self) -> None:
        assert estimated_gain_ms(133_110_000, cores=2) == pytest.approx(3_060, rel=0.01)

    def test_it_is_shared_by_the_cores(self) -> None:
        assert estimated_gain_ms(1_000_000, 4) == pytest.approx(SCAN_AND_PROBE_NS_PER_ROW / 4)

    def test_no_cores_is_taken_as_one(self) -> None:
        assert estimated_gain_ms(1_000_000, 0) == estimated_gain_ms(1_000_000, 1)
