"""Off against itself: how many queries look lost by the clock alone."""

from __future__ import annotations

import pytest

from rtfilter.bench.engines.modes import SPARK_CONF_BY_MODE
from rtfilter.bench.figures.losses import is_lost, noise_summary, noise_text
from rtfilter.bench.pages.report_page import render_report
from tests.bench.figures.test_query_figures import result_of

TIMES = {
    "noisy": {"off": (2_000.0,), "off-again": (2_200.0,), "rtfilter": (2_000.0,)},
    "lost": {"off": (500.0,), "off-again": (510.0,), "rtfilter": (540.0,)},
    "gained": {"off": (4_000.0,), "off-again": (3_000.0,), "rtfilter": (1_000.0,)},
}


@pytest.mark.parametrize(
    ("off_ms", "ms", "lost"),
    [(2_000, 2_100, False), (2_000, 2_110, True), (900, 930, False), (900, 931, True), (2_000, 1_000, False)],
)
def test_long_queries_are_lost_by_their_ratio_and_short_ones_by_milliseconds(off_ms: float, ms: float, lost: bool) -> None:
    assert is_lost(off_ms, ms) is lost


def test_the_result_names_what_looks_lost_and_gained_of_off_and_of_rtfilter() -> None:
    result = result_of(TIMES)
    expected = {
        "queries": 3,
        "lost": {"off-again": ["noisy"], "rtfilter": ["lost"]},
        "gained": {"off-again": ["gained"], "rtfilter": ["gained"]},
    }
    assert noise_summary(result.by_query) == expected == result.to_dict()["summary"]["noise"]
    line = "off against itself: of 3 queries 1 look lost and 1 gained; with rtfilter 1 and 1"
    assert noise_text(result.by_query) == line and line in render_report(result)


def test_off_is_held_against_itself_without_rtfilter_too() -> None:
    result = result_of({query_id: {mode: by_mode[mode] for mode in ("off", "off-again")} for query_id, by_mode in TIMES.items()})
    assert noise_text(result.by_query) == "off against itself: of 3 queries 1 look lost and 1 gained"


def test_where_off_ran_once_nothing_is_said() -> None:
    result = result_of({"q": {"off": (1.0,), "rtfilter": (1.0,)}})
    assert noise_text(result.by_query) == "" and "noise" not in result.to_dict()["summary"]


def test_a_query_that_one_of_them_did_not_finish_does_not_count() -> None:
    result = result_of({**TIMES, "failed": {"off": (1_000.0,), "off-again": (5_000.0,)}})
    noise = noise_summary(result.by_query)
    assert noise is not None and noise["queries"] == 3


def test_off_again_is_off() -> None:
    assert SPARK_CONF_BY_MODE["off-again"] == SPARK_CONF_BY_MODE["off"]
