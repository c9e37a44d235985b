"""Which side of which join may be filtered, by join type and side."""

from __future__ import annotations

import pytest

from planner.legality.joins import refuse_to_filter
from planner.plan.join_types import passes_key_down

LEFT, RIGHT = "left", "right"


@pytest.mark.parametrize(
    ("join_type", "side"),
    [
        ("Inner", LEFT),
        ("Inner", RIGHT),
        ("Cross", LEFT),
        ("Cross", RIGHT),
        ("LeftSemi", LEFT),
        ("LeftSemi", RIGHT),
        ("LeftOuter", RIGHT),
        ("RightOuter", LEFT),
        ("LeftAnti", RIGHT),
        ("ExistenceJoin(exists#3)", RIGHT),
    ],
)
def test_a_side_that_is_not_preserved_may_be_filtered(join_type: str, side: str) -> None:
    assert refuse_to_filter(join_type, side, null_aware=False) is None


@pytest.mark.parametrize(
    ("join_type", "side", "reason"),
    [
        ("LeftOuter", LEFT, "PRESERVED_SIDE"),
        ("RightOuter", RIGHT, "PRESERVED_SIDE"),
        ("FullOuter", LEFT, "FULL_OUTER_JOIN"),
        ("FullOuter", RIGHT, "FULL_OUTER_JOIN"),
        ("LeftAnti", LEFT, "ANTI_JOIN"),
        ("ExistenceJoin(exists#3)", LEFT, "EXISTENCE_JOIN"),
        ("LeftSingle", LEFT, "PRESERVED_SIDE"),
        ("OfAnotherSpark", LEFT, "PRESERVED_SIDE"),
        ("OfAnotherSpark", RIGHT, "PRESERVED_SIDE"),
    ],
)
def test_a_preserved_side_is_refused_with_its_own_reason(join_type: str, side: str, reason: str) -> None:
    refusal = refuse_to_filter(join_type, side, null_aware=False)
    assert refusal is not None and refusal.reason == reason and refusal.detail.endswith(".")


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_a_null_aware_join_is_refused_on_both_sides(side: str) -> None:
    refusal = refuse_to_filter("LeftAnti", side, null_aware=True)
    assert refusal is not None and refusal.reason == "NULL_AWARE_JOIN"


def test_a_filter_of_a_join_above_passes_where_each_row_comes_from_one_row_of_that_side() -> None:
    passing = {
        (join_type, side)
        for join_type in (
            "Inner",
            "Cross",
            "LeftSemi",
            "LeftAnti",
            "ExistenceJoin(e#1)",
            "LeftOuter",
            "RightOuter",
            "FullOuter",
            "New",
        )
        for side in (LEFT, RIGHT)
        if passes_key_down(join_type, side)
    }
    assert passing == {
        ("Inner", LEFT),
        ("Inner", RIGHT),
        ("Cross", LEFT),
        ("Cross", RIGHT),
        ("LeftSemi", LEFT),
        ("LeftAnti", LEFT),
        ("ExistenceJoin(e#1)", LEFT),
        ("LeftOuter", LEFT),
        ("RightOuter", RIGHT),
    }
