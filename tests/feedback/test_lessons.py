"""What is learned from a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rtfilter.feedback.lessons import lessons_of
from tests.report.records import candidate, decision, fill, outcome, record

FEEDBACK = {"key": "k1", "literals": "l1", "inputs": "i1", "root": "file:/t", "indexes": ""}


def executed(
    *filters: dict[str, Any], rows: list[dict[str, Any]] | None = None, feedback: bool = True, scans: Sequence[int] = ()
) -> dict[str, Any]:
    """The record of a query with these filters: of one scan and of one name, or with `scans` of these and of a name each."""
    placeholders: list[dict[str, Any]] = [
        {"id": each["id"], "scan": 9, **({"feedback": FEEDBACK} if feedback else {})} for each in filters
    ]
    for placeholder, scan in zip(placeholders, scans, strict=False):
        placeholder.update(scan=scan, feedback={**FEEDBACK, "key": placeholder["id"]})
    candidates = [candidate(f"c{number}", each["id"]) for number, each in enumerate(filters)]
    return record([decision("d1", *candidates, placeholders=placeholders)], [fill(*filters)], row_filters=rows or [])


def counts(name: str, tested: int, dropped: int) -> dict[str, Any]:
    return {"filter": name, "rows_tested": tested, "rows_dropped": dropped, "rows_passed": tested - dropped}


NO_PACK = {"packs_total": 80, "packs_kept": 80, "rows_total": 1000, "rows_kept": 1000}


def test_a_filter_that_rejects_packs_has_won_and_says_what_it_kept() -> None:
    (lesson,) = lessons_of(executed(outcome("d1.0", packs_total=4, packs_kept=1, rows_total=1000, rows_kept=250)))
    assert (lesson.key, lesson.literals, lesson.lost, lesson.kept) == ("k1", "l1", False, 0.25)
    assert lesson.label == "item.i_item_sk -> inventory.inv_item_sk"


def test_rows_that_were_dropped_count_on_top_of_packs() -> None:
    packs = {"packs_total": 4, "packs_kept": 2, "rows_total": 1000, "rows_kept": 500, "rows": True}
    (lesson,) = lessons_of(executed(outcome("d1.0", **packs), rows=[counts("d1.0", 500, 450)]))
    assert lesson.kept == pytest.approx(0.05)


def test_rows_that_were_tested_say_what_each_key_lets_through() -> None:
    def by_key(tested: int, **counted: Any) -> float | None:
        packs = {"packs_total": 4, "packs_kept": 2, "rows_total": 1000, "rows_kept": 500}
        filled = outcome("d1.0", rows=True, **{**packs, "keys": 25, "build_rows": 30, **counted})
        (lesson,) = lessons_of(executed(filled, rows=[counts("d1.0", tested, tested // 10 * 9)]))
        assert lesson.build_rows == 30
        return lesson.key_share

    assert by_key(500) == pytest.approx(0.05 / 25)
    assert by_key(0) is None
    assert by_key(500, kind="bloom") is None
    assert by_key(500, keys=0) is None


@pytest.mark.parametrize(("dropped", "lost"), [(0, True), (19, True), (20, False), (900, False)])
def test_without_packs_a_row_test_has_to_drop_two_percent(dropped: int, lost: bool) -> None:
    (lesson,) = lessons_of(executed(outcome("d1.0", rows=True, **NO_PACK), rows=[counts("d1.0", 1000, dropped)]))
    assert lesson.lost is lost


TOO_DEAR = {"estimated_gain_ms": -2.5}


def test_a_filter_that_could_not_bring_in_what_its_fill_had_cost_has_lost() -> None:
    (packs,) = lessons_of(executed(outcome("d1.0", **TOO_DEAR)))
    (rows,) = lessons_of(
        executed(outcome("d1.0", rows=True, passed_expected=0.2, **NO_PACK, **TOO_DEAR), rows=[counts("d1.0", 900, 730)])
    )
    (paid,) = lessons_of(executed(outcome("d1.0", estimated_gain_ms=0.1)))
    assert (packs.lost, rows.lost, paid.lost) == (True, True, False)


@pytest.mark.parametrize(
    ("tested", "dropped", "changed"),
    [(900, 850, {"passed_expected": 0.2}), (900, 700, {"passed_expected": None}), (5000, 4000, {"passed_expected": 0.2})],
    ids=["more rows were dropped than expected", "nothing was expected", "most packs were not known"],
)
def test_an_estimate_that_did_not_hold_is_no_loss(tested: int, dropped: int, changed: dict[str, Any]) -> None:
    filled = outcome("d1.0", rows=True, **NO_PACK, **TOO_DEAR, **changed)
    (lesson,) = lessons_of(executed(filled, rows=[counts("d1.0", tested, dropped)]))
    assert not lesson.lost


def test_a_filter_that_was_filled_in_vain_has_lost() -> None:
    (lesson,) = lessons_of(executed(outcome("d1.0", decision="skipped", reason="REJECTS_NO_PACK", **NO_PACK)))
    assert lesson.lost


@pytest.mark.parametrize("reason", ["FOOTERS_NOT_KNOWN", "COST_NEVER", "SOURCE_NOT_READY"])
def test_what_says_nothing_of_the_filter_teaches_nothing(reason: str) -> None:
    assert lessons_of(executed(outcome("d1.0", decision="skipped", reason=reason, **NO_PACK))) == ()


def test_a_failed_fill_a_row_test_that_saw_no_row_and_an_old_placeholder_teach_nothing() -> None:
    assert lessons_of(executed(outcome("d1.0", decision="failed", reason="PLANNER_FAILED"))) == ()
    assert lessons_of(executed(outcome("d1.0", rows=True, **NO_PACK), rows=[counts("d1.0", 0, 0)])) == ()
    assert lessons_of(executed(outcome("d1.0"), feedback=False)) == ()
    assert lessons_of(record([decision("d1", candidate("c0", "d1.0"), placeholders=[{"id": "d1.0", "feedback": FEEDBACK}])])) == ()


SMALL_GAIN = outcome("d1.1", decision="skipped", reason="GAIN_TOO_SMALL")
NO_ROW = outcome("d1.1", rows=True, **NO_PACK)


@pytest.mark.parametrize("loss", [SMALL_GAIN, NO_ROW, outcome("d1.1", **TOO_DEAR)], ids=["packs", "rows", "too dear"])
@pytest.mark.parametrize(
    ("beside", "scans", "lessons"),
    [
        (outcome("d1.0"), (9, 9), {"d1.0": False}),
        (outcome("d1.0"), (9, 8), {"d1.0": False, "d1.1": True}),
        (outcome("d1.0", rows=True, **NO_PACK), (9, 9), {"d1.0": True, "d1.1": True}),
    ],
    ids=["beside a filter that won", "with a scan of its own", "beside one that lost"],
)
def test_a_loss_that_another_filter_of_the_scan_may_have_caused_teaches_nothing(
    loss: dict[str, Any], beside: dict[str, Any], scans: tuple[int, int], lessons: dict[str, bool]
) -> None:
    rows = [counts("d1.0", 1000, 0), counts("d1.1", 1000, 0)]
    learned = lessons_of(executed(beside, loss, rows=rows, scans=scans))
    assert {lesson.key: lesson.lost for lesson in learned} == lessons


def test_a_filter_that_rejects_no_pack_has_lost_whatever_others_did() -> None:
    """Its gain is below zero then, as what filling it cost is all there is."""
    useless = outcome("d1.1", decision="skipped", reason="REJECTS_NO_PACK", **NO_PACK, **TOO_DEAR)
    learned = lessons_of(executed(outcome("d1.0"), useless, scans=(9, 9)))
    assert {lesson.key: lesson.lost for lesson in learned} == {"d1.0": False, "d1.1": True}


def test_a_key_that_is_tested_with_others_of_its_join_has_not_lost_beside_them() -> None:
    """Of what all keys together leave it drops nothing, and without it there would be no test of all."""
    single = outcome("d1.1", decision="skipped", reason="REJECTS_NO_PACK", **NO_PACK, **TOO_DEAR)
    together = outcome("d1.0", rows=True, **NO_PACK)
    query = executed(together, single, rows=[counts("d1.0", 1000, 900)], scans=(9, 9))
    all_keys, one_key = query["decisions"][0]["placeholders"]
    all_keys.update(join=4, columns=[1, 2])
    one_key.update(join=4, columns=[1])
    assert {lesson.key: lesson.lost for lesson in lessons_of(query)} == {"d1.0": False}
    one_key["join"] = 5
    assert {lesson.key: lesson.lost for lesson in lessons_of(query)} == {"d1.0": False, "d1.1": True}


def test_copies_of_a_filter_have_won_if_one_of_them_has() -> None:
    lost = outcome("d1.0", decision="skipped", reason="REJECTS_NO_PACK", **NO_PACK)
    (lesson,) = lessons_of(executed(lost, outcome("d1.1")))
    assert not lesson.lost


ONE_PACK = {"packs_total": 8, "packs_kept": 7, "rows_total": 1000, "rows_kept": 875}
IN_VAIN = {"decision": "skipped", "reason": "REJECTS_NO_PACK", **NO_PACK}


@pytest.mark.parametrize("outcome_of", [IN_VAIN, {"rows": False, **ONE_PACK}])
def test_a_wait_that_made_a_shuffle_a_broadcast_teaches_nothing(outcome_of: dict[str, Any]) -> None:
    found = fill(outcome("d2.0", **outcome_of))
    assert lessons_of(record(turned(), [found])) == ()
    (lesson,) = lessons_of(record(turned()[1:], [found]))
    assert lesson.lost is (outcome_of is IN_VAIN)


def test_after_a_wait_tested_rows_tell_what_is_let_through() -> None:
    found = fill(outcome("d2.0", rows=True, **ONE_PACK))
    (lesson,) = lessons_of(record(turned(), [found], row_filters=[counts("d2.0", 875, 700)]))
    assert lesson.kept == pytest.approx(0.875 * 0.2)


def turned() -> list[dict[str, Any]]:
    """The decisions of a query whose scan waits in its first plan, and in its second has a broadcast instead."""
    feedback = {"feedback": FEEDBACK}
    gated = decision("d1", candidate("c1", "d1.0", gate=True), placeholders=[{"id": "d1.0", "scan": 9, **feedback}])
    return [gated, decision("d2", candidate("c1", "d2.0"), placeholders=[{"id": "d2.0", "scan": 9, **feedback}])]


@pytest.mark.parametrize(
    ("counted", "lost"),
    [
        ({"packs_by_keys": 3}, False),
        ({"pages_total": 9, "pages_kept": 2}, False),
        ({"pages_total": 9, "pages_kept": 9, "key_first_stops": 1}, True),
        ({"pages_total": 9, "pages_kept": 9}, None),
    ],
)
def test_keys_that_are_decoded_first_have_won_where_packs_or_pages_are_left_out(counted: dict[str, int], lost: bool | None) -> None:
    scans = [{"table": "t", "packs_total": 80, "placeholders": ["d1.0"], **counted}]
    learned = lessons_of({**executed(outcome("d1.0", reason="KEY_FIRST", **NO_PACK)), "scans": scans})
    assert [lesson.lost for lesson in learned] == ([] if lost is None else [lost])
