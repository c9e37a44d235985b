"""Predicted against actual gains: whose gain is whose, and how well the order agrees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.figures.predictions import FilterGain, agreement_text, filter_gains, rank_correlation
from rtfilter.bench.run.interleaved import Measurement
from rtfilter.bench.suites.suite import Query

NUMBERS = st.floats(-1e6, 1e6)


def measured(query_id: str, mode: str, ms: float, *filters: dict[str, Any]) -> Measurement:
    return Measurement(Query(query_id, "", "", ("t",)), mode, (ms,), 1, "digest", None, Execution(ms, (), filters=filters))


def candidate(id: str, expected_ms: float | None = 10.0, decision: str = "applied", **rows: int) -> dict[str, Any]:
    return {"id": id, "decision": decision, "estimated_gain_ms": expected_ms, **rows}


def gains_of(off_ms: float, on_ms: float, *filters: dict[str, Any]) -> list[FilterGain]:
    return filter_gains({"q": {"off": measured("q", "off", off_ms), "rtfilter": measured("q", "rtfilter", on_ms, *filters)}})


def pairs(*numbers: tuple[float, float]) -> list[FilterGain]:
    return [FilterGain("q", "f", expected, actual) for expected, actual in numbers]


class TestWhoseGain:
    def test_a_single_filter_has_all_of_its_query(self) -> None:
        assert gains_of(100, 30, candidate("a")) == [FilterGain("q", "a", 10.0, 70.0)]

    def test_a_scan_that_did_not_run_has_no_part(self) -> None:
        ran, reused, unknown = candidate("a", ran=True), candidate("b", ran=False), candidate("c")
        assert [gain.filter_id for gain in gains_of(100, 30, ran, reused, unknown)] == ["a", "c"]

    def test_several_have_parts_by_the_rows_that_each_removed(self) -> None:
        by_packs, by_rows = candidate("a", rows_total=1_000, rows_kept=400), candidate("b", rows_dropped=200)
        assert [gain.measured_ms for gain in gains_of(100, 20, by_packs, by_rows)] == [60.0, 20.0]

    def test_what_was_not_applied_or_not_estimated_does_not_count(self) -> None:
        others = candidate("b", decision="skipped", rows_dropped=10**6), candidate("c", None, rows_dropped=10**6)
        assert [gain.filter_id for gain in gains_of(100, 20, candidate("a", rows_dropped=1), *others)] == ["a"]

    def test_filters_that_removed_nothing_have_equal_parts_of_the_loss(self) -> None:
        assert [gain.measured_ms for gain in gains_of(20, 30, candidate("a"), candidate("b"))] == [-5.0, -5.0]

    def test_a_query_that_did_not_run_both_ways_has_no_gain(self) -> None:
        assert filter_gains({"q": {"rtfilter": measured("q", "rtfilter", 1, candidate("a"))}}) == []
        assert gains_of(100, 20) == []


class TestCorrelation:
    def test_the_same_order_is_one_and_the_reverse_minus_one_whatever_the_size(self) -> None:
        assert rank_correlation(pairs((1, 10), (2, 1_000), (3, 1_001))) == pytest.approx(1.0)
        assert rank_correlation(pairs((1, 3), (2, 2), (300, 1))) == pytest.approx(-1.0)

    def test_a_known_figure(self) -> None:
        # Differences of ranks 0, 1, -1, 1, -1: 1 - 6 * 4 / (5 * 24).
        assert rank_correlation(pairs((1, 1), (2, 3), (3, 2), (4, 5), (5, 4))) == pytest.approx(0.8)

    def test_equal_values_share_their_rank(self) -> None:
        assert rank_correlation(pairs((1, 1), (1, 1), (2, 2), (2, 2))) == pytest.approx(1.0)
        assert rank_correlation(pairs((1, 1), (1, 2), (2, 1), (2, 2))) == pytest.approx(0.0)

    def test_too_few_or_all_equal_say_nothing(self) -> None:
        assert rank_correlation(pairs((1, 1), (2, 2))) is None
        assert rank_correlation(pairs((1, 1), (1, 2), (1, 3))) is None
        assert agreement_text(pairs((1, 1))) == ""

    @given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=30))
    def test_it_is_between_minus_one_and_one_and_the_same_either_way(self, numbers: list[tuple[float, float]]) -> None:
        found, turned = rank_correlation(pairs(*numbers)), rank_correlation(pairs(*((b, a) for a, b in numbers)))
        assert found == turned or (found is not None and turned is not None and found == pytest.approx(turned))
        assert found is None or -1.0 - 1e-9 <= found <= 1.0 + 1e-9

    def test_it_is_told_in_a_line(self) -> None:
        assert agreement_text(pairs((1, 1), (2, 2), (3, 3))).endswith("3 applied filters: rank correlation (Spearman) 1.00")
