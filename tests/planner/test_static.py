"""Static filters: which of a query's conditions are asked of the indexes, and why others are not."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inputs.settings import PlanSettings
from planner.placement.answer import FilterPlan
from planner.plan.errors import SnapshotError
from planner.plan.snapshot import parse_snapshot
from planner.questions import static
from planner.reasons import Refusal
from planner.static.answer import with_statics
from planner.static.conditions import could_reject
from planner.static.decide import StaticFigures, decide_static
from planner.static.index_remarks import ScanIndex
from tests.planner.plans import Raw, column, nodes_of, scan

USABLE = ScanIndex("i", frozenset({"a"}))


def eq(name: str, value: int = 5) -> dict[str, Any]:
    return {"op": "eq", "column": name, "type": "int", "value": value}


def condition(test: dict[str, Any], text: str = "") -> dict[str, Any]:
    return {"text": text or str(test.get("column")), "test": test}


def table(*conditions: dict[str, Any], **more: Any) -> Raw:
    return scan("t", column(1, "a"), column(2, "b"), static=list(conditions), **more)


def planned(root: Raw, *indexes: ScanIndex, **settings: Any) -> dict[str, Any]:
    """The placeholders' predicates and the candidate's reason."""
    plan = parse_snapshot(nodes_of(root))
    statics = static(plan, PlanSettings("d1", **settings), {0: indexes})
    answer: dict[str, Any] = with_statics(FilterPlan((), (), ()).to_dict(), statics)
    return {
        "asked": [test for each in answer.get("statics", []) for test in each["predicate"]["args"]],
        "columns": [each["columns"] for each in answer.get("statics", [])],
        "reasons": [(each["decision"], each["reason"]) for each in answer["candidates"]],
        "detail": " ".join(each["detail"] for each in answer["candidates"]),
    }


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (eq("a"), True),
        (eq("b"), False),
        ({"op": "other"}, False),
        ({"op": "and", "args": [eq("b"), eq("a")]}, True),
        ({"op": "and", "args": [eq("b"), {"op": "other"}]}, False),
        ({"op": "or", "args": [eq("a"), eq("a", 6)]}, True),
        ({"op": "or", "args": [eq("a"), eq("b")]}, False),
        ({"op": "or", "args": []}, False),
        ({"op": "not", "args": [eq("a")]}, True),
        ({"op": "not", "args": [{"op": "and", "args": [eq("a"), {"op": "other"}]}]}, False),
    ],
)
def test_a_condition_is_asked_only_if_its_known_parts_could_reject(test: dict[str, Any], expected: bool) -> None:
    assert could_reject(test, frozenset({"a"})) is expected


def test_conditions_on_covered_columns_are_placed_and_others_left_out() -> None:
    said = planned(table(condition(eq("a")), condition(eq("b"))), USABLE)
    assert said["asked"] == [eq("a")] and said["columns"] == [[1]] and said["reasons"] == [("planned", "PLANNED")]


def test_is_not_null_is_left_out_beside_a_comparison_and_asked_alone() -> None:
    there = {"op": "is_not_null", "column": "a", "type": "int"}
    assert planned(table(condition(there), condition(eq("a"))), USABLE)["asked"] == [eq("a")]
    assert planned(table(condition(there), condition(eq("b"))), USABLE)["asked"] == [there]


@pytest.mark.parametrize(
    ("root", "index", "settings", "reason"),
    [
        (table(condition(eq("b"))), USABLE, {}, "INDEX_LACKS_COLUMN"),
        (table(condition(eq("a"))), USABLE, {"cost": "never"}, "COST_NEVER"),
        (table(condition(eq("a")), hints=[{"words": ["never"], "names": [], "known": []}]), USABLE, {}, "HINT_NEVER"),
        (table(condition(eq("a"))), USABLE, {"field_id_read": True}, "FIELD_ID_READ"),
        (table(condition(eq("a")), plain_parquet=False), USABLE, {}, "NOT_PLAIN_PARQUET"),
        (table(condition(eq("a")), skips_corrupt=True), USABLE, {}, "SKIPS_CORRUPT_FILES"),
        (table(condition(eq("a"))), ScanIndex("i", frozenset(), Refusal("INDEX_VERSION", "Old.")), {}, "INDEX_VERSION"),
    ],
)
def test_what_is_not_placed_has_a_reason(root: Raw, index: ScanIndex, settings: dict[str, Any], reason: str) -> None:
    said = planned(root, index, **settings)
    assert said["asked"] == [] and said["reasons"] == [("skipped", reason)] and said["detail"]


NOT_NULL = {"op": "is_not_null", "column": "a", "type": "int"}
RAISING = {"text": "1 / b", "test": {"op": "other"}, "may_raise": True}


@pytest.mark.parametrize(
    ("conditions", "asked"),
    [
        ([condition(NOT_NULL), condition(eq("a")), RAISING], [eq("a")]),
        ([condition(NOT_NULL), RAISING, condition(eq("a"))], []),
        # A row with a null goes on to the next condition where no code is generated.
        ([condition(eq("a")), RAISING, condition(NOT_NULL)], []),
        ([condition(eq("a")), RAISING], []),
        ([condition({**eq("a"), "op": "same"}), RAISING], [{**eq("a"), "op": "same"}]),
        ([condition({"op": "is_null", "column": "a", "type": "int"}), RAISING], [{"op": "is_null", "column": "a", "type": "int"}]),
        # Code for it is moved behind the others.
        ([condition(NOT_NULL), RAISING], []),
        (
            [condition(NOT_NULL), condition({"op": "or", "args": [eq("a"), eq("a", 6)]}), RAISING],
            [{"op": "or", "args": [eq("a"), eq("a", 6)]}],
        ),
        ([condition(NOT_NULL), {**condition(eq("a")), "may_raise": True}], []),
    ],
)
def test_a_condition_behind_one_that_may_raise_is_not_asked(conditions: list[dict[str, Any]], asked: list[Any]) -> None:
    said = planned(table(*conditions), USABLE)
    assert said["asked"] == asked and said["reasons"] == [("planned", "PLANNED") if asked else ("skipped", "MAY_RAISE")]


def test_one_index_that_can_not_be_used_does_not_stop_another() -> None:
    said = planned(table(condition(eq("a"))), ScanIndex("old", frozenset(), Refusal("INDEX_DELETED", "Gone.")), USABLE)
    assert said["reasons"] == [("planned", "PLANNED")] and "Gone." in said["detail"]


def test_without_an_index_or_a_condition_nothing_is_said() -> None:
    for root, indexes in ((table(condition(eq("a"))), ()), (table(), (USABLE,)), (scan("t", column(1, "a")), (USABLE,))):
        assert planned(root, *indexes) == {"asked": [], "columns": [], "reasons": [], "detail": ""}


def test_an_answer_without_static_filters_does_not_speak_of_them() -> None:
    assert with_statics(FilterPlan((), (), ()).to_dict(), ()) == FilterPlan((), (), ()).to_dict()


@pytest.mark.parametrize("static", [[{"text": "x"}], [{"test": {}}], [5], {}])
def test_a_snapshot_with_conditions_that_are_none_is_an_error(static: Any) -> None:
    with pytest.raises(SnapshotError):
        parse_snapshot(nodes_of(scan("t", column(1, "a"), static=static)))


FIGURES = StaticFigures("d1.s0", packs_total=10, packs_rejected=7, rows_total=100, rows_rejected=70, rows_sure=5, packs_told=10)


def test_what_rejects_a_pack_is_applied_and_what_rejects_none_is_not() -> None:
    applied = decide_static(FIGURES)
    assert (applied["decision"], applied["reason"], applied["packs_kept"], applied["rows_kept"]) == ("applied", "APPLIED", 3, 30)
    none = StaticFigures("d1.s0", 10, 0, 100, 0, 100, 4)
    assert (decide_static(none)["decision"], decide_static(none)["reason"]) == ("skipped", "REJECTS_NO_PACK")
    assert decide_static(FIGURES, "never")["reason"] == "COST_NEVER"


def test_an_index_that_was_not_asked_is_the_reason_only_if_nothing_is_rejected() -> None:
    refusal = Refusal("INDEX_STALE", "Index i is too stale.")
    stale = decide_static(StaticFigures("d1.s0", 0, 0, 0, 0, 0, 0, refusals=(refusal,)))
    assert (stale["reason"], stale["detail"]) == ("INDEX_STALE", "Index i is too stale.")
    other = decide_static(StaticFigures("d1.s0", 10, 7, 100, 70, 0, 10, (Refusal("INDEX_STALE", "Remark."),), (refusal,)))
    assert other["reason"] == "APPLIED" and "Remark." in str(other["detail"]) and "too stale" in str(other["detail"])


def test_a_condition_on_a_padded_column_says_that_it_is_padded() -> None:
    unjudged = {"op": "unknown", "columns": ["a"]}
    padded = condition(unjudged, "(static_invoke(CharVarcharCodegenUtils.readSidePadding(a, 6)) = k1    )")
    assert (
        "values alone. Spark pads char(6) as it reads, and files may hold it without the blanks."
        in planned(table(padded), USABLE)["detail"]
    )
    assert "char" not in planned(table(condition(unjudged, "(length(a) = 3)")), USABLE)["detail"]
