"""explain and why_not: what the planner's answers mean for somebody who has not run the query."""

from __future__ import annotations

import json

from rtfilter.report import Explanation, WhyNot, report_from_record
from tests.report.records import candidate, decision


def test_an_explanation_has_the_planned_filters_only() -> None:
    explanation = Explanation.from_answers([decision("d1", candidate("a", "d1.0", estimated_gain_ms=1200.0), candidate("b"))])
    (planned,) = explanation.filters
    assert (planned.build, planned.probe, planned.estimated_gain_ms) == ("item.i_item_sk", "inventory.inv_item_sk", 1200.0)
    assert "1 filter planned" in str(explanation) and "1,200.0" in str(explanation)


def test_at_a_prompt_and_in_a_list_the_table_is_shown() -> None:
    answers = [decision("d1", candidate("a", "d1.0", estimated_gain_ms=1200.0), candidate("b"))]
    record = {"execution": 3, "session": "s", "decisions": answers, "fills": []}
    for shown in (Explanation.from_answers(answers), WhyNot.from_answers(answers), report_from_record(record)):
        assert repr(shown) == str(shown)
        assert "item.i_item_sk" in repr(shown) and "FilterReport(" not in repr(shown)
        assert "<table>" in shown._repr_html_()


def test_kinds_come_from_the_candidate_or_from_its_placeholder() -> None:
    of_placeholder = decision("d1", candidate("a", "d1.0"), placeholders=[{"id": "d1.0", "kinds": "range,set"}])
    of_candidate = decision("d1", candidate("a", "d1.0", kinds="range"))
    neither = decision("d1", candidate("a", "d1.0"))
    found = [Explanation.from_answers([answer]).filters[0].kinds for answer in (of_placeholder, of_candidate, neither)]
    assert found == ["range,set", "range", ""]


def test_a_gain_that_needs_the_keys_says_so() -> None:
    assert "known at fill" in str(Explanation.from_answers([decision("d1", candidate("a", "d1.0"))]))


def test_a_gate_and_all_columns_of_a_composite_filter_are_shown() -> None:
    gated = candidate("a", "d1.0", strategy="sort_merge", gate=True, build="r.item, r.ticket", probe="s.item, s.ticket")
    explanation = Explanation.from_answers([decision("d1", gated, candidate("b", "d1.1", strategy="shuffled_hash"))])
    assert [planned.gate for planned in explanation.filters] == [True, False]
    first, second = str(explanation).splitlines()[3:5]
    assert "inner sort_merge, gated" in first and "s.item, s.ticket <- r.item, r.ticket" in first
    assert "inner shuffled_hash" in second and "gated" not in second


def test_an_explanation_without_filters_points_to_why_not() -> None:
    assert "why_not" in str(Explanation.from_answers([decision("d1", candidate("b"))]))


def test_why_not_has_every_key_and_each_reason() -> None:
    reasons = WhyNot.from_answers([decision("d1", candidate("a", "d1.0"), candidate("b", detail="the key is a string."))])
    assert [(key.decision, key.reason, key.detail) for key in reasons.keys] == [
        ("planned", "PLANNED", ""),
        ("skipped", "KEY_TYPE", "the key is a string."),
    ]
    assert "2 pairs of join keys, 1 without a filter" in str(reasons)


def test_several_answers_are_one_list_and_the_latest_counts() -> None:
    answers = [decision("d1", candidate("a", "d1.0"), candidate("b")), decision("d2", candidate("a", reason="BUILD_TOO_LARGE"))]
    assert [key.reason for key in WhyNot.from_answers(answers).keys] == ["BUILD_TOO_LARGE", "KEY_TYPE"]
    assert Explanation.from_answers(answers).filters == ()


def test_a_failed_answer_shows_its_error() -> None:
    failed = [decision("d1", candidate("a", "d1.0"), error="no host can be started"), {"candidates": [], "error": "again"}]
    reasons = WhyNot.from_answers(failed)
    assert [(key.decision, key.reason) for key in reasons.keys] == [("failed", "PLANNER_FAILED")]
    assert reasons.errors == ("no host can be started", "again")
    assert "error: again" in str(reasons) and "error: again" in str(Explanation.from_answers(failed))


def test_a_plan_without_joins_says_so() -> None:
    for code, sentence in (("NO_JOIN", "The plan has no join"), ("NO_EQUALITY", "has an equality"), ("", "No pair of join keys")):
        reasons = WhyNot.from_answers([], code)
        assert reasons.reason == code and sentence in str(reasons) and sentence in reasons._repr_html_()


def test_dicts_are_plain_json_and_html_is_escaped() -> None:
    answers = [decision("d1", candidate("a", "d1.0", build="<b>"), candidate("b", detail="a < b"))]
    for shown in (Explanation.from_answers(answers), WhyNot.from_answers(answers)):
        assert json.loads(json.dumps(shown.to_dict())) == shown.to_dict()
        assert "<b>d" not in shown._repr_html_() and "&lt;b&gt;" in shown._repr_html_()
