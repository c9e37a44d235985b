"""Star-trees in reports, explanations and reasons: from the record of an execution, or the answers of a plan."""

from __future__ import annotations

import json
from typing import Any

from rtfilter.report import Explanation, WhyNot, report_from_record
from tests.report.records import candidate, decision, fill, outcome, record

FIELDS = [
    *("name", "table", "aggregate", "used", "reason", "detail", "change"),
    *("rows_read", "rows_decoded", "base_rows", "raw_files", "lacking"),
]


def entry(name: str = "cube", **changed: Any) -> dict[str, Any]:
    """A tree that answers, as the planner says it."""
    words = {"name": name, "table": "sales", "aggregate": "sum(x) by store", "used": True, "reason": "USED", "detail": "20 rows."}
    counts = {"rows_read": 20, "base_rows": 200_000, "raw_files": 0}
    return {**words, **counts, "change": "", "lacking": [], **changed}


def refused(name: str = "cube", **changed: Any) -> dict[str, Any]:
    words = {"used": False, "reason": "NO_DIMENSION", "detail": "the query groups by item: no dimension of the tree."}
    more = {"change": "one dimension more: item", "lacking": ["item"], "rows_read": None, "raw_files": None}
    return entry(name, **{**words, **more, **changed})


def star(name: str, *entries: dict[str, Any]) -> dict[str, Any]:
    return {"decision": name, "ms": 3.0, "candidates": [], "placeholders": [], "star_trees": list(entries)}


def test_a_tree_that_answered_has_every_field() -> None:
    report = report_from_record(record([star("d1", entry())], tree_rows={"d1": 4096}, idle="NO_JOIN"))
    (told,) = report.to_dict()["star_trees"]
    assert list(told) == FIELDS
    assert [told[name] for name in FIELDS[7:]] == [20, 4096, 200_000, 0, []]
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_a_query_that_a_tree_answered_is_no_query_without_a_part() -> None:
    report = report_from_record(record([star("d1", entry())], tree_rows={"d1": 4096}, idle="NO_JOIN"))
    assert (report.reason, report.detail) == ("", "")
    assert str(report) == (
        "execution 12: 1 of 1 star-tree used, planned in 3.0 ms\n"
        "star-tree cube of sales for sum(x) by store: USED: 20 rows. Scans of it put out 4,096 rows."
    )
    assert "<li>star-tree cube of sales for sum(x) by store: USED: 20 rows." in report._repr_html_()


def test_a_refused_tree_says_what_would_help() -> None:
    report = report_from_record(record([star("d1", refused())], idle="NO_JOIN"))
    assert report.reason == "NO_JOIN"
    assert report.star_trees[0].lacking == ("item",)
    assert str(report).splitlines()[0] == "execution 12: 0 of 0 candidates applied, 0 of 1 star-tree used, planned in 3.0 ms"
    assert "by item: no dimension of the tree. It would answer with one dimension more: item." in " ".join(str(report).split())


def test_a_planner_that_failed_on_trees_is_told_and_is_no_reason_of_filters() -> None:
    failed = {**star("d0"), "error": "The planner failed: it is gone. The aggregate is computed from its table."}
    report = report_from_record(record([failed], idle="NO_JOIN"))
    assert report.reason == "PLANNER_FAILED" and report.warnings == (failed["error"],)
    (entry,) = report_from_record(record([failed, decision("d1", candidate("a", "d1.0"))])).filters
    assert entry.reason == "NOT_FILLED"


def test_filters_and_trees_stand_in_one_report() -> None:
    plans = [star("d0", entry()), decision("d1", candidate("a", "d1.0"))]
    report = report_from_record(record(plans, [fill(outcome("d1.0"))], tree_rows={"d0": 20}))
    assert (
        str(report).splitlines()[0].startswith("execution 12: 1 of 1 candidate applied, 1 of 1 star-tree used, planned in 5.0 ms")
    )
    assert [line for line in str(report).splitlines() if line.startswith("star-tree cube")]


def test_an_aggregate_that_was_planned_twice_and_ran_once_has_one_entry() -> None:
    plans = [star("d1", entry()), star("d2", entry()), star("d3", refused()), star("d4", refused())]
    trees = report_from_record(record(plans, tree_rows={"d2": 5})).star_trees
    assert [(each.reason, each.rows_decoded) for each in trees] == [("USED", 5), ("NO_DIMENSION", None)]


def test_two_aggregates_that_ran_are_two_entries() -> None:
    trees = report_from_record(record([star("d1", entry()), star("d2", entry())], tree_rows={"d1": 5, "d2": 5})).star_trees
    assert [each.rows_decoded for each in trees] == [5, 5]


def test_of_a_plan_the_trees_that_would_be_used() -> None:
    answers = [star("d1", refused("small"), entry("large")), decision("d2", candidate("a", "d2.0"))]
    explained = Explanation.from_answers(answers)
    assert [each.name for each in explained.trees] == ["large"] and len(explained.filters) == 1
    assert str(explained).splitlines()[0] == "1 filter planned, 1 star-tree used"
    assert explained.to_dict()["trees"][0]["rows_read"] == 20
    only = Explanation.from_answers(answers[:1])
    assert str(only) == "0 filters planned, 1 star-tree used\nstar-tree large of sales for sum(x) by store: USED: 20 rows."


def test_of_a_plan_why_trees_are_not_used() -> None:
    answers = [star("d1", refused("small"), entry("large"))]
    reasons = WhyNot.from_answers(answers, "NO_JOIN")
    assert [(each.name, each.used, each.reason) for each in reasons.trees] == [
        ("small", False, "NO_DIMENSION"),
        ("large", True, "USED"),
    ]
    assert (reasons.reason, reasons.detail) == ("", "")
    assert str(reasons).splitlines()[0] == "0 pairs of join keys, 0 without a filter, 1 of 2 star-trees used"
    none = WhyNot.from_answers([star("d1", refused())], "NO_JOIN")
    assert none.reason == "NO_JOIN" and "The plan has no join" in str(none)
    assert none.to_dict()["trees"][0]["lacking"] == ["item"]
