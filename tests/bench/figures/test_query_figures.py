"""What the report says of a result: who gained, who lost and why, and the charts that a suite's data calls for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.engines.modes import MODES
from rtfilter.bench.figures.query_figures import (
    by_speedup,
    expected_gain_ms,
    reasons,
    regressions,
    rows_let_through,
    share_let_through,
)
from rtfilter.bench.figures.result import Result, Settings
from rtfilter.bench.pages.report_page import render_report
from rtfilter.bench.run.interleaved import Measurement
from rtfilter.bench.suites.suite import Distribution, Query

MACHINE: dict[str, int | str | None] = {
    "cpus": 2,
    "memory_gb": 23,
    "spark": "4.3.0",
    "java": "17",
    "rtfilter": "0.1",
    "duckdb": "1.5",
}
APPLIED = {
    "build": "item.i",
    "probe": "sales.i",
    "decision": "applied",
    "packs_kept": 4,
    "packs_total": 100,
    "estimated_gain_ms": 70.0,
}
SKIPPED = {"build": "day.d", "probe": "sales.d", "decision": "skipped", "reason": "X", "detail": "It rejects none of 100 packs."}


def measured(query: Query, mode: str, ms: tuple[float, ...], rows: int | None = None, filters: Any = ()) -> Measurement:
    counted = Execution(ms[-1], (), scan_rows=rows, packs_total=100, packs_kept=4 if filters else 100, filters=filters)
    return Measurement(query, mode, ms, 1, "digest", None, counted)


def result_of(
    times: Mapping[str, Mapping[str, tuple[float, ...]]], queries: Mapping[str, Query] | None = None, **more: Any
) -> Result:
    measurements = []
    for query_id, by_mode in times.items():
        query = (queries or {}).get(query_id) or Query(query_id, "select 1", "select 1", ("a", "b"))
        for mode, ms in by_mode.items():
            of_layer = mode == "rtfilter"
            measurements.append(
                measured(query, mode, ms, 10 if of_layer else 1000, (APPLIED, SKIPPED, SKIPPED) if of_layer else ())
            )
    modes = tuple(dict.fromkeys(mode for by_mode in times.values() for mode in by_mode))
    return Result(Settings("mine", 1.0, None, "natural", modes, 5, 1), MACHINE, tuple(measurements), **more)


TIMES = {
    "even": {"off": (100.0,) * 5, "rtfilter": (99.5,) * 5, "duckdb": (1.0,) * 5},
    "gain": {"off": (100.0,) * 5, "rtfilter": (20.0,) * 5, "duckdb": (1.0,) * 5},
    "loss": {"off": (100.0,) * 5, "rtfilter": (125.0,) * 5, "duckdb": (1.0,) * 5},
    "worse": {"off": (10.0,) * 5, "rtfilter": (9.0, 20.0, 20.0, 20.0, 20.0), "duckdb": (1.0,) * 5},
}


def test_queries_are_sorted_by_speed_up_and_losses_by_ratio() -> None:
    result = result_of(TIMES)
    assert [query_id for query_id, _ in by_speedup(result)] == ["gain", "even", "loss", "worse"]
    lost = regressions(result)
    assert [(entry.query_id, entry.ratio, entry.lost_ms, entry.p_value) for entry in lost] == [
        ("worse", 0.5, 10.0, 0.375),
        ("loss", 0.8, 25.0, 0.0625),
    ]


def test_a_loss_comes_with_what_its_filters_said_the_applied_ones_first() -> None:
    lines = list(reasons([SKIPPED, APPLIED, SKIPPED]))
    assert lines[0] == "item.i → sales.i applied, 4 of 100 packs kept"
    assert lines[1:] == ["day.d → sales.d skipped. It rejects none of 100 packs. (2 times)"]
    assert "no pair of join keys" in next(reasons([]))


def test_a_reason_tells_only_what_was_counted() -> None:
    applied = "item.i → sales.i applied, "
    uncounted = {key: value for key, value in APPLIED.items() if not key.startswith("packs")}
    assert list(reasons([uncounted])) == [f"{applied}packs were not counted"]
    assert list(reasons([{**APPLIED, "packs_kept": None}])) == [f"{applied}packs were not counted"]
    rows = {"rows_seen": 2_000, "rows_dropped": 0}
    assert list(reasons([{**uncounted, **rows}])) == [f"{applied}packs were not counted, 0 of 2,000 tested rows dropped"]
    assert list(reasons([{**APPLIED, **rows}])) == [f"{applied}4 of 100 packs kept, 0 of 2,000 tested rows dropped"]
    assert list(reasons([{**uncounted, "ran": False}])) == [f"{applied}its scan did not run"]


def test_selectivity_is_what_the_scans_give_beside_what_they_give_off() -> None:
    by_mode = result_of(TIMES).by_query["gain"]
    assert share_let_through(by_mode, "rtfilter") == 0.01
    uncounted = measured(Query("q", "", "", ()), "off", (1.0,))
    assert share_let_through({"off": uncounted, "rtfilter": by_mode["rtfilter"]}, "rtfilter") is None


def test_rows_that_row_filters_dropped_were_not_let_through() -> None:
    run = result_of(TIMES).by_query["gain"]["rtfilter"]
    dropping, idle = {**APPLIED, "rows_dropped": 6}, {**APPLIED, "rows_dropped": 3, "ran": False}
    tested = replace(run, last=replace(run.last, filters=[dropping, idle, {**SKIPPED, "rows_dropped": 4}]))
    off = measured(Query("q", "", "", ()), "off", (1.0,), 1000)
    assert rows_let_through(tested) == 4 and share_let_through({"off": off, "rtfilter": tested}, "rtfilter") == 0.004
    assert rows_let_through(measured(Query("q", "", "", ()), "rtfilter", (1.0,))) is None
    assert share_let_through({"rtfilter": tested}, "rtfilter") is None


def test_the_expected_gain_is_that_of_the_applied_filters() -> None:
    by_mode = result_of(TIMES).by_query["gain"]
    assert expected_gain_ms(by_mode["rtfilter"]) == 70.0 and expected_gain_ms(by_mode["off"]) is None


def test_nothing_is_expected_of_a_scan_that_did_not_run() -> None:
    run = result_of(TIMES).by_query["gain"]["rtfilter"]
    copy = {**APPLIED, "estimated_gain_ms": 5.0}
    assert expected_gain_ms(replace(run, last=replace(run.last, filters=[{**APPLIED, "ran": False}, copy]))) == 5.0
    assert expected_gain_ms(replace(run, last=replace(run.last, filters=[{**APPLIED, "ran": False}]))) is None


def titles(page: str) -> list[str]:
    return re.findall(r"<section><h2[^>]*>(.*?)</h2>", page)


def test_the_page_begins_with_the_losses_and_has_the_charts() -> None:
    page = render_report(result_of(TIMES))
    # Charts stand in two columns of about one height, so their order goes by their sizes.
    assert titles(page)[:2] == ["Slower with rtfilter, the worst first", "Speed-up, query by query"]
    assert set(titles(page)[2:6]) == {
        "Speed-up against what the filters let through",
        "Expected and measured gain",
        "Packs read",
        "Median time",
    }
    assert page.index("<b>worse</b>") < page.index("<b>loss</b>") and "<b>even</b>" not in page
    assert "DuckDB 1.5" in page


def test_the_order_of_expected_gains_is_told_beside_the_filters() -> None:
    result = result_of(TIMES)
    # All four are expected to gain the same: there is no order.
    assert "Spearman" not in render_report(result)
    assert result.to_dict()["summary"]["predictions"] == {"filters": 4, "rank_correlation": None}
    ranked = tuple(
        replace(each, last=replace(each.last, filters=[{**APPLIED, "estimated_gain_ms": -each.median_ms}]))
        if each.mode == "rtfilter"
        else each
        for each in result.measurements
    )
    agreeing = replace(result, measurements=ranked)
    # 80 ms gained, none, 10 lost and 25 lost, in runs of 20, 99.5, 20 and 125 ms.
    assert agreeing.to_dict()["summary"]["predictions"] == {"filters": 4, "rank_correlation": pytest.approx(0.632, abs=1e-3)}
    assert "rank correlation (Spearman) 0.63" in render_report(agreeing)


def test_every_mode_has_a_colour() -> None:
    page = render_report(result_of({"gain": {mode: (100.0 - number,) * 5 for number, mode in enumerate(MODES)}}))
    assert all(page.count(f"--mode-{mode}:") == 3 for mode in MODES)
    assert all(f"var(--mode-{mode})" in page for mode in MODES)


def test_without_losses_there_is_no_such_section() -> None:
    assert "Slower with" not in render_report(result_of({"gain": TIMES["gain"]}))


def test_many_queries_get_dots_instead_of_bars_and_the_page_stays_small() -> None:
    times = {f"q{number}": {"off": (100.0,) * 5, "spark": (90.0,) * 5, "rtfilter": (50.0 + number,) * 5} for number in range(99)}
    page = render_report(result_of(times))
    assert len(page) < 1_500_000 and "https://" not in page
    assert len(re.findall("<svg", page)) == 5


def test_a_suite_over_numbers_of_keys_gets_curves() -> None:
    queries = {f"keys={n}": Query(f"keys={n}", "", "", ("a", "b"), family="keys", build_keys=n) for n in (1, 1000, 1_000_000)}
    page = render_report(result_of({query_id: TIMES["gain"] for query_id in queries}, queries))
    assert "Time by number of build keys" in titles(page) and "Packs read by number of build keys" in titles(page)


def test_skewed_data_is_shown_as_drawn_and_as_the_law_has_it() -> None:
    skew = Distribution("l_partkey", 2000, ((1, 0.61, 0.608), (10, 0.006, 0.0061), (2000, 0.0, 1.5e-7)))
    page = render_report(result_of(TIMES, distributions=(skew,)))
    assert "Skew of the data" in titles(page) and "61 %" in page and "60.8 %" in page


@pytest.mark.parametrize("modes", [("rtfilter", "duckdb"), ("off",), ("off", "duckdb")])
def test_a_page_without_a_pair_to_compare_has_no_speed_ups(modes: tuple[str, ...]) -> None:
    times = {query_id: {mode: by_mode[mode] for mode in modes} for query_id, by_mode in TIMES.items()}
    page = render_report(result_of(times))
    assert "Speed-up, query by query" not in page and "Median time" in titles(page)
