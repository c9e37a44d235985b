"""Does the reader decode keys first?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.decision.figures import DecideSettings, FilterFigures
from planner.decision.key_first import judge_key_first, limits_of
from planner.inputs.row_work import RowWork
from planner.questions import decide

# 100 keys among a million values, in 100 packs of 65,536 rows that may all hold one.
FEW = FilterFigures(
    id="d1.0",
    kind="set",
    form="set",
    ahead=RowWork(scan_bytes=80.0),
    keys=100,
    key_min=5,
    key_max=999_000,
    build_rows=100,
    packs_total=100,
    packs_rejected=0,
    rows_total=6_553_600,
    rows_rejected=0,
    value_span=1_000_000,
    packs_bounded=100,
    tested_type="bigint",
)


def starts(figures: FilterFigures, cost: str = "auto", key_first: str = "auto") -> bool:
    return judge_key_first(figures, DecideSettings(cost=cost, key_first=key_first)).starts


def test_few_keys_in_packs_that_may_all_hold_one() -> None:
    assert starts(FEW)
    decision = decide([FEW], DecideSettings())[0]
    assert (decision.applied, decision.reason, decision.key_first, decision.push) == (True, "KEY_FIRST", True, "set")
    decision = decide([FEW], DecideSettings(key_first="never"))[0]
    assert (decision.applied, decision.reason, decision.key_first) == (False, "REJECTS_NO_PACK", False)


@pytest.mark.parametrize(
    "change",
    [
        {"tested_type": ""},
        {"packs_rejected": 100, "rows_rejected": 6_553_600},
        {"ahead": RowWork(scan_bytes=8.0)},
        {"keys": 200_000},
        {"packs_total": 7, "rows_total": 458_752, "keys": 50_000},
    ],
)
def test_where_it_does_not_begin(change: dict[str, object]) -> None:
    assert not starts(replace(FEW, **change))  # type: ignore[arg-type]


def test_in_few_packs_only_where_it_pays_for_rows_in_any_order() -> None:
    small = replace(FEW, packs_total=3, rows_total=3 * 65_536)
    # About 0.07 wanted rows a pack of three pages, or 655.
    assert starts(replace(small, keys=1)) and not starts(replace(small, keys=10_000))


def test_options_say_so() -> None:
    assert not starts(FEW, key_first="never") and not starts(FEW, cost="never")
    many = replace(FEW, keys=900_000)
    assert starts(many, key_first="always") and not starts(many, cost="always")
    assert not starts(replace(FEW, tested_type=""), key_first="always")


def test_always_never_stops() -> None:
    assert limits_of("always").worth == 0.0 and limits_of("auto").worth > 0.0
    assert limits_of("auto").to_dict() == {"most_share": 0.8, "groups": 3, "worth": 1.0}


def test_rejected_packs_and_keys_first_go_together() -> None:
    half = replace(FEW, packs_rejected=50, rows_rejected=3_276_800)
    decision = decide([half], DecideSettings())[0]
    assert (decision.reason, decision.key_first) == ("APPLIED", True)
