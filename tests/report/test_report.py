"""From the bridge's record of an execution to the report that a user prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rtfilter.report import Explanation, FilterReport, WhyNot, report_from_record
from tests.report.records import candidate, decision, fill, outcome, record

CONTRACT_FIELDS = [
    *("id", "kind", "build", "probe", "join_type", "strategy", "decision", "reason", "keys", "build_rows", "fill_ms"),
    *("packs_total", "packs_kept", "rows_total", "rows_kept", "estimated_gain_ms"),
]


def only_filter(kept: dict[str, Any]) -> FilterReport:
    (entry,) = report_from_record(kept).filters
    return entry


def test_a_filled_candidate_has_every_field_of_the_contract() -> None:
    entry = only_filter(record([decision("d1", candidate("a", "d1.0"))], [fill(outcome("d1.0"))]))
    assert [entry.to_dict()[name] for name in CONTRACT_FIELDS] == [
        *(
            "inventory.inv_item_sk <- item.i_item_sk",
            "set",
            "item.i_item_sk",
            "inventory.inv_item_sk",
            "inner",
            "broadcast",
            "applied",
            "APPLIED",
        ),
        *(204, 210, 7.1, 6509, 261, 133110000, 5345280, 1200.0),
    ]
    assert entry.detail == "261 of 6509 packs stay."


def test_the_same_key_at_every_replan_is_one_candidate() -> None:
    plans = [decision(name, candidate("a", f"{name}.0"), candidate("b")) for name in ("d1", "d2", "d3")]
    report = report_from_record(record(plans, [fill(outcome("d2.0"))]))
    assert [(entry.placeholder, entry.decision) for entry in report.filters] == [("d2.0", "applied"), ("", "skipped")]
    assert report.planning_ms == 6.0


def test_the_latest_planning_names_the_reason_of_a_skipped_key() -> None:
    plans = [decision("d1", candidate("a", reason="FIRST")), decision("d2", candidate("a", reason="SECOND", detail="now so."))]
    entry = only_filter(record(plans))
    assert (entry.decision, entry.reason, entry.detail) == ("skipped", "SECOND", "now so.")
    assert (entry.kind, entry.packs_total) == (None, None)


def test_a_fill_is_the_last_word_even_when_a_later_plan_skips_the_key() -> None:
    plans = [decision("d1", candidate("a", "d1.0")), decision("d2", candidate("a", reason="STAGE_DONE"))]
    assert only_filter(record(plans, [fill(outcome("d1.0"))])).decision == "applied"


def test_of_two_fills_of_a_key_the_later_plan_counts() -> None:
    plans = [decision("d1", candidate("a", "d1.0")), decision("d2", candidate("a", "d2.0"))]
    dropped = outcome("d2.0", decision="skipped", reason="NO_PACK_REJECTED", packs_kept=6509)
    entry = only_filter(record(plans, [fill(outcome("d1.0")), fill(dropped)]))
    assert (entry.placeholder, entry.decision, entry.reason) == ("d2.0", "skipped", "NO_PACK_REJECTED")


def test_a_scan_that_runs_already_does_not_hide_what_was_decided_before_it_started() -> None:
    late = candidate("a", reason="ALREADY_STARTED", detail="its scans run already.")
    refused = [decision("d1", candidate("a", reason="BUILD_NOT_SMALLER", detail="too large.")), decision("d2", late)]
    assert only_filter(record(refused)).reason == "BUILD_NOT_SMALLER"
    planned = [decision("d1", candidate("a", "d1.0")), decision("d2", late)]
    assert only_filter(record(planned)).reason == "NOT_FILLED"
    assert only_filter(record([decision("d2", late)])).reason == "ALREADY_STARTED"


def test_each_scan_that_a_key_filters_is_a_candidate_of_its_own() -> None:
    arms = candidate("a|t.x#1", "d1.0", probe="t.x"), candidate("a|u.x#2", "d1.1", probe="u.x"), candidate("a|v.x#3", probe="v.x")
    report = report_from_record(record([decision("d1", *arms)], [fill(outcome("d1.0"), outcome("d1.1", decision="skipped"))]))
    assert [(entry.probe, entry.decision) for entry in report.filters] == [
        ("t.x", "applied"),
        ("u.x", "skipped"),
        ("v.x", "skipped"),
    ]


def test_a_copy_without_a_filter_does_not_hide_one_that_is_planned() -> None:
    plan = decision("d1", candidate("a", "d1.0"), candidate("a", reason="SHARED_EXCHANGE"))
    assert only_filter(record([plan])).reason == "NOT_FILLED"


@pytest.mark.parametrize("strategy", ["sort_merge", "shuffled_hash"])
def test_a_composite_filter_behind_a_gate_is_shown_with_all_its_columns(strategy: str) -> None:
    names = {"build": "returns.item, returns.ticket", "probe": "sales.item, sales.ticket", "strategy": strategy, "gate": True}
    composite = candidate("inner|1|2&3|4", "d1.2", pairs=[0, 1], **names)
    filled = outcome("d1.2", kind="bloom", reason="ROWS_ONLY", push="none", rows=True, packs_kept=6509)
    report = report_from_record(record([decision("d1", composite)], [fill(filled)]))
    (entry,) = report.filters
    assert (entry.gate, entry.rows_tested, entry.decision, entry.kind) == (True, True, "applied", "bloom")
    assert entry.id == "sales.item, sales.ticket <- returns.item, returns.ticket"
    assert f"{entry.id}: ROWS_ONLY." in str(report) and f"inner {strategy}, gated" in report._repr_html_()


def test_copies_of_a_join_in_one_plan_are_all_reported() -> None:
    plans = [decision("d1", candidate("a", "d1.0"), candidate("a", "d1.1")), decision("d2", candidate("a", "d2.0"))]
    both = report_from_record(record(plans, [fill(outcome("d1.0")), fill(outcome("d2.0", decision="skipped"))]))
    assert [(entry.placeholder, entry.decision) for entry in both.filters] == [("d1.0", "applied"), ("d2.0", "skipped")]
    assert [entry.placeholder for entry in report_from_record(record(plans, [fill(outcome("d1.1"))])).filters] == ["d1.1"]


def test_a_planned_filter_that_is_never_filled_is_skipped_with_a_sentence() -> None:
    entry = only_filter(record([decision("d1", candidate("a", "d1.0"))]))
    assert (entry.placeholder, entry.decision, entry.reason) == ("d1.0", "skipped", "NOT_FILLED")
    assert "did not run" in entry.detail


def test_an_error_in_planning_fails_its_candidates() -> None:
    entry = only_filter(record([decision("d1", candidate("a", "d1.0"), error="the planner host timed out")]))
    assert (entry.decision, entry.reason, entry.detail) == ("failed", "PLANNER_FAILED", "the planner host timed out")


def test_an_error_in_a_fill_fails_the_filters_it_names_and_keeps_what_planning_knew() -> None:
    broken = {"error": "half a frame", "filters": [{"id": "d1.0", "decision": "failed", "reason": "PLANNER_FAILED"}]}
    plan = decision("d1", candidate("a", "d1.0"), candidate("b", "d1.1"))
    report = report_from_record(record([plan], [broken, fill(outcome("d1.1"))]))
    assert [entry.decision for entry in report.filters] == ["failed", "applied"]
    first = report.filters[0]
    assert (first.reason, first.detail) == ("PLANNER_FAILED", "half a frame")
    assert (first.probe, first.keys) == ("inventory.inv_item_sk", None)
    assert report.warnings == ("half a frame",)


@pytest.mark.parametrize("nameless", ["decisions", "fills"])
def test_an_error_that_names_no_candidate_is_why_the_planned_ones_were_not_filled(nameless: str) -> None:
    kept = record([decision("d1", candidate("a", "d1.0"), candidate("b"))])
    kept[nameless].append({"error": "no answer in 2000 ms"})
    planned, refused = report_from_record(kept).filters
    assert (planned.decision, planned.reason, planned.detail) == ("failed", "PLANNER_FAILED", "no answer in 2000 ms")
    assert (refused.decision, refused.reason) == ("skipped", "KEY_TYPE")


def test_a_fill_whose_planning_was_not_recorded_is_not_lost() -> None:
    entry = only_filter(record([], [fill(outcome("d9.0"))]))
    assert (entry.placeholder, entry.decision, entry.build) == ("d9.0", "applied", "")


def test_warnings_come_once() -> None:
    kept = record([{"error": "no host"}], warnings=["no host", "unknown option 'rtfilter.enabeld'."])
    assert report_from_record(kept).warnings == ("no host", "unknown option 'rtfilter.enabeld'.")


def test_the_query_is_named_by_its_description_or_else_by_its_execution() -> None:
    assert report_from_record(record([], description="daily load")).query == "daily load"
    assert report_from_record(record([])).query == "execution 12"
    assert report_from_record({}).query == "an RDD"


def test_a_filter_says_whether_its_scan_has_run() -> None:
    plan = decision("d1", candidate("a", "d1.0"), candidate("b", "d1.1"), candidate("c", "d1.2"), candidate("d", "d1.3"))
    scans = [
        {"table": "inventory", "packs_total": 9, "packs_read": 0, "placeholders": ["d1.0"]},
        {"table": "inventory", "packs_total": 0, "packs_read": 0, "placeholders": ["d1.1"]},
    ]
    tests = [{"filter": "d1.2", "rows_tested": 5, "rows_dropped": 5, "rows_passed": 0}]
    filled = fill(*(outcome(f"d1.{number}") for number in range(4)))
    report = report_from_record(record([plan], [filled], scans=scans, row_filters=tests))
    assert [(entry.placeholder, entry.ran) for entry in report.filters] == [
        ("d1.0", True),
        ("d1.1", False),
        ("d1.2", True),
        ("d1.3", None),
    ]
    assert ["did not run" in entry.sentence() for entry in report.filters] == [False, True, False, False]


def test_of_a_stage_that_was_planned_twice_one_copy_ran() -> None:
    plan = decision("d1", candidate("a", "d1.0"))
    copies = [{"table": "inventory", "packs_total": total, "packs_read": 0, "placeholders": ["d1.0"]} for total in (0, 9, 0)]
    assert report_from_record(record([plan], [fill(outcome("d1.0"))], scans=copies)).filters[0].ran is True


def test_the_dict_is_plain_json() -> None:
    scan = {
        "table": "inventory",
        "packs_total": 9,
        "packs_kept": 3,
        "packs_read": 2,
        "files_dropped": 1,
        "rows_skipped": 7,
        "numOutputRows": 5,
        "packs_by_keys": 1,
        "rows_wanted": 5,
        "pages_total": 8,
        "pages_kept": 2,
        "key_first_stops": 1,
    }
    report = report_from_record(record([decision("d1", candidate("a", "d1.0"))], [fill(outcome("d1.0"))], scans=[scan]))
    as_dict = report.to_dict()
    assert json.loads(json.dumps(as_dict)) == as_dict
    assert as_dict["execution"] == 12 and as_dict["filters"][0]["packs_kept"] == 261
    (told,) = as_dict["scans"]
    packs = {"packs_total": 9, "packs_kept": 3, "packs_read": 2}
    by_keys = {"packs_by_keys": 1, "rows_wanted": 5, "pages_total": 8, "pages_kept": 2, "key_first_stops": 1}
    assert told == {"table": "inventory", **packs, "files_dropped": 1, "rows_skipped": 7, "output_rows": 5, **by_keys}
    text = " ".join(str(report).split())
    assert (
        "2 of 9 packs read (3 kept), 1 files not opened, 7 rows left out in batches, 5 rows out; keys first: 5 rows wanted" in text
    )
    assert "1 packs without a partner, 2 of 8 pages read in the others, stopped where it did not pay" in text


def test_the_text_is_an_aligned_table_with_a_sentence_per_candidate() -> None:
    scan = {
        "table": "inventory",
        "numOutputRows": 5345280,
        "packs_total": 6509,
        "packs_kept": 261,
        "packs_read": 261,
        "files_dropped": 3,
    }
    plan = decision("d1", candidate("a", "d1.0"), candidate("b", detail="the key is a string."))
    text = str(report_from_record(record([plan], [fill(outcome("d1.0"))], scans=[scan], warnings=["slow disk"])))
    assert text.splitlines() == [
        "execution 12: 1 of 2 candidates applied, planned in 2.0 ms, filled in 7.1 ms",
        "filter                            join             kind  decision  keys    packs kept                 rows kept  gain ms",
        "--------------------------------  ---------------  ----  --------  ----  ------------  ------------------------  -------",
        "inventory.inv_item_sk <-          inner broadcast  set   applied    204  261 of 6,509  5,345,280 of 133,110,000  1,200.0",
        "item.i_item_sk",
        "inventory.inv_item_sk <-          inner broadcast        skipped",
        "item.i_item_sk #2",
        "inventory.inv_item_sk <- item.i_item_sk: APPLIED. 261 of 6509 packs stay.",
        "inventory.inv_item_sk <- item.i_item_sk #2: KEY_TYPE. the key is a string.",
        "scan of inventory: 261 of 6,509 packs read, 3 files not opened, 5,345,280 rows out",
        "warning: slow disk",
    ]


def test_a_query_without_join_keys_says_so() -> None:
    assert "No pair of join keys" in str(report_from_record(record([])))
    assert "No pair of join keys" in report_from_record(record([]))._repr_html_()


def test_html_escapes_every_text() -> None:
    hostile = "<script>alert('&')</script>"
    plan = decision("d1", candidate("a", build=hostile, detail=hostile))
    page = report_from_record(record([plan], description=hostile, warnings=[hostile], scans=[{"table": hostile}]))._repr_html_()
    assert "<script" not in page and page.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 6
    assert page.count("<tr>") == 2


def test_a_join_that_was_planned_in_another_way_later_stands_once() -> None:
    def planned(number: int, strategy: str) -> dict[str, object]:
        candidate = {
            "key_id": f"{strategy}|1",
            "placeholder": f"d{number}.0",
            "build": "a.x",
            "probe": "b.y",
            "join_type": "left_semi",
        }
        return {
            "decision": f"d{number}",
            "candidates": [{**candidate, "strategy": strategy, "decision": "planned", "reason": "PLANNED"}],
        }

    applied = {
        "id": "d2.0",
        "kind": "set",
        "decision": "applied",
        "reason": "APPLIED",
        "keys": 3,
        "packs_total": 8,
        "packs_kept": 1,
    }
    record = {
        "execution": 1,
        "session": "s",
        "decisions": [planned(1, "sort_merge"), planned(2, "broadcast")],
        "fills": [{"ms": 1.0, "filters": [applied]}],
        "scans": [
            {"table": "b", "placeholders": ["d2.0"], "packs_total": 0, "packs_read": 0, "numOutputRows": 0},
            {"table": "b", "placeholders": ["d2.0"], "packs_total": 8, "packs_kept": 1, "packs_read": 1, "numOutputRows": 5},
        ],
    }
    report = report_from_record(record)
    assert [(entry.placeholder, entry.strategy, entry.reason) for entry in report.filters] == [("d2.0", "broadcast", "APPLIED")]
    assert [scan.packs_read for scan in report.scans] == [1], "what never ran is not shown"
    alone = report_from_record({**record, "decisions": record["decisions"][:1], "fills": [], "scans": []})  # type: ignore[index]
    assert [entry.reason for entry in alone.filters] == ["NOT_FILLED"]


LONG = "spark_catalog.a_schema_with_a_long_name.customer_demographics_and_more.cd_household_demographics_sk"


def test_nothing_is_wider_than_120_columns_however_long_names_and_figures_are() -> None:
    shape = {"join_type": "left_outer", "strategy": "shuffled_hash", "gate": True, "estimated_gain_ms": 123456789.0}
    computed = candidate("c", build="(" + "some_column + " * 40 + "1)", probe=LONG, detail="The key is computed. " * 20)
    plan = decision("d1", candidate("a", "d1.0", build=LONG + "2", probe=LONG, detail=LONG * 3, **shape), computed)
    counts = {"keys": 123456789, "packs_total": 1234567, "packs_kept": 123456, "rows_total": 12345678901, "rows_kept": 1234567890}
    scan = {"table": LONG, "numOutputRows": 10**12, "packs_total": 10**9, "packs_kept": 10**8, "packs_read": 9}
    kept = record([plan], [fill(outcome("d1.0", **counts))], scans=[scan], warnings=[LONG * 2], description="a query " * 30)
    report = report_from_record(kept)
    for shown in (report, WhyNot.from_answers([plan]), Explanation.from_answers([plan])):
        assert max(map(len, str(shown).splitlines())) <= 120
    assert "1,234,567,890" in str(report) and all(len(entry.id) <= 76 for entry in report.filters)
    assert {entry.probe for entry in report.filters} == {LONG}, "nothing is cut in the fields"


def test_names_of_filters_can_be_told_apart() -> None:
    plan = decision("d1", candidate("a", "d1.0"), candidate("b"), candidate("c", probe="store.s_item"))
    names = [
        "inventory.inv_item_sk <- item.i_item_sk",
        "inventory.inv_item_sk <- item.i_item_sk #2",
        "store.s_item <- item.i_item_sk",
    ]
    assert [entry.id for entry in report_from_record(record([plan])).filters] == names
    assert [key.id for key in WhyNot.from_answers([plan]).keys] == names
    assert [each.id for each in Explanation.from_answers([plan]).filters] == names[:1]


def test_what_is_minor_has_a_line_only_if_it_was_applied() -> None:
    minor = candidate("n", "d1.s0", build="(k IS NOT NULL)", strategy="static", minor=True, detail="Judged by index i.")
    plan = decision("d1", candidate("a", "d1.0"), minor)
    dropped = outcome("d1.s0", decision="skipped", reason="REJECTS_NO_PACK", detail="It rejects none of 4 packs.")
    assert [entry.placeholder for entry in report_from_record(record([plan], [fill(outcome("d1.0"), dropped)])).filters] == ["d1.0"]
    both = report_from_record(record([plan], [fill(outcome("d1.0"), outcome("d1.s0"))])).filters
    assert [entry.placeholder for entry in both] == ["d1.0", "d1.s0"]
    assert [key.build for key in WhyNot.from_answers([plan]).keys] == ["item.i_item_sk"]
    assert [each.build for each in Explanation.from_answers([plan]).filters] == ["item.i_item_sk"]


def test_a_query_with_nothing_but_what_is_minor_says_what_came_of_that() -> None:
    lacks = candidate(
        "n", build="(k = 3)", strategy="static", minor=True, reason="INDEX_LACKS_COLUMN", detail="Index i knows no k."
    )
    report = report_from_record(record([decision("d1", lacks)], idle="NO_JOIN"))
    reasons = WhyNot.from_answers([decision("d1", lacks)], "NO_JOIN")
    for shown, entries in ((report, report.filters), (reasons, reasons.keys)):
        assert (entries, shown.reason, shown.detail) == ((), "INDEX_LACKS_COLUMN", "Index i knows no k.")
        assert "Index i knows no k." in str(shown) and shown.to_dict()["reason"] == "INDEX_LACKS_COLUMN"


def test_the_time_of_a_fill_is_told_once() -> None:
    plan = decision("d1", candidate("a", "d1.0"), candidate("b", "d1.1"))
    report = report_from_record(record([plan], [fill(outcome("d1.0"), outcome("d1.1"))]))
    assert report.filling_ms == 7.1 and str(report).count("7.1") == 1
    assert [entry.fill_ms for entry in report.filters] == [7.1, 7.1]
