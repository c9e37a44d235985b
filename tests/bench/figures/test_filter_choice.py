"""Whether cost=auto keeps up with the better of always and never."""

from __future__ import annotations

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.figures.filter_choice import Choice, choice_summary, choice_text, choices
from rtfilter.bench.pages.report_page import render_report
from rtfilter.bench.run.interleaved import Measurement
from rtfilter.bench.suites.suite import Query
from tests.bench.figures.test_query_figures import result_of

TIMES = {
    "kept up": {"rtfilter": (104.0,), "rtfilter-always": (100.0,), "rtfilter-never": (150.0,)},
    "better than both": {"rtfilter": (50.0,), "rtfilter-always": (100.0,), "rtfilter-never": (75.0,)},
    "lost": {"rtfilter": (200.0,), "rtfilter-always": (300.0,), "rtfilter-never": (100.0,)},
}


def measured(query_id: str, mode: str, ms: float) -> Measurement:
    return Measurement(Query(query_id, "", "", ("t",)), mode, (ms,), 1, "digest", None, Execution(ms, ()))


def by_query(**modes: float) -> dict[str, dict[str, Measurement]]:
    return {"q": {mode.replace("_", "-"): measured("q", mode, ms) for mode, ms in modes.items()}}


def test_a_query_is_held_against_the_better_mode() -> None:
    assert choices(by_query(rtfilter=100.0, rtfilter_always=80.0, rtfilter_never=90.0)) == [Choice("q", "rtfilter-always", 0.8)]
    assert choices(by_query(rtfilter=100.0, rtfilter_always=90.0, rtfilter_never=80.0)) == [Choice("q", "rtfilter-never", 0.8)]


def test_five_percent_longer_keeps_up_and_more_does_not() -> None:
    assert choices(by_query(rtfilter=104.9, rtfilter_always=100.0, rtfilter_never=200.0))[0].keeps_up
    assert not choices(by_query(rtfilter=105.1, rtfilter_always=100.0, rtfilter_never=200.0))[0].keeps_up


def test_without_one_of_the_modes_nothing_is_said() -> None:
    assert choices(by_query(rtfilter=100.0, rtfilter_always=80.0, off=90.0)) == [] and choice_text([]) == ""


def test_the_result_names_the_queries_behind_the_worst_first() -> None:
    result = result_of(TIMES)
    found = choices(result.by_query)
    assert [choice.query_id for choice in found] == ["lost", "kept up", "better than both"]
    assert choice_summary(found) == {"queries": 3, "behind": {"lost": {"better": "rtfilter-never", "ratio": 0.5}}}
    assert result.to_dict()["summary"]["choice"] == choice_summary(found)
    assert "2 of 3 queries; not in lost 0.50" in render_report(result)
    assert "choice" not in result_of({"q": {"off": (1.0,), "rtfilter": (1.0,)}}).to_dict()["summary"]
