"""Rules of the planner, each broken in one way: the random plans must show it, or they prove nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from planner.legality import exchange_copies, joins, lineage
from planner.plan import columns, join_types
from planner.plan.columns import KeyColumn
from planner.plan.expressions import CoalesceDefault, Expression
from planner.plan.nodes import Window
from planner.plan.shifts import UNMOVED
from planner.reasons import Refusal
from tests.planner import random_plans
from tests.planner.random_plans import random_plan
from tests.planner.test_random_plans import check

MOST_PLANS = 4_000

_source_column = columns.source_column


def _dropping_nulls(key: Expression, above: KeyColumn | None = None) -> KeyColumn | Refusal:
    return _source_column(key.child if isinstance(key, CoalesceDefault) else key, above)


def _unmoved(key: Expression, above: KeyColumn | None = None) -> KeyColumn | Refusal:
    found = _source_column(key, above)
    return replace(found, shift=UNMOVED) if isinstance(found, KeyColumn) else found


def _any_partition(_node: Window, wanted: KeyColumn) -> KeyColumn | Refusal:
    return wanted


def _everywhere(*_: object) -> bool:
    return True


def _null_aware_or_not(join_type: str, side: str, null_aware: bool) -> bool:
    return join_types.passes_key_down(join_type, side)


def _both_sides(join_type: str) -> Callable[[], Any]:
    return lambda: mock.patch.dict(joins._FILTERABLE, {join_type: ("left", "right")})


BROKEN: dict[str, Callable[[], Any]] = {
    "a left outer join loses rows of its left side": _both_sides("LeftOuter"),
    "a right outer join loses rows of its right side": _both_sides("RightOuter"),
    "an anti join loses rows without a partner": _both_sides("LeftAnti"),
    "an existence join loses rows": _both_sides("ExistenceJoin"),
    "a full outer join below lets a filter pass": lambda: mock.patch.dict(join_types._PASSES_KEY, FullOuter=("left", "right")),
    "a null-aware anti join below does not see every row": lambda: mock.patch.object(lineage, "reaches_across", _null_aware_or_not),
    "<=> is taken for =": lambda: mock.patch.object(columns, "source_column", _dropping_nulls),
    "a shifted key is taken for its column": lambda: mock.patch.object(columns, "source_column", _unmoved),
    "a window sees a part of its partition": lambda: mock.patch.object(columns, "_partition_column", _any_partition),
    "one of two equal exchanges is filtered": lambda: mock.patch.object(exchange_copies, "_is_everywhere", _everywhere),
}


# Rules that take one sort of join above another: among all sorts that is too rare.
JOIN_TYPES = {"a full outer join below lets a filter pass": ("Inner", "FullOuter")}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_found(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_plans, "JOIN_TYPES", JOIN_TYPES.get(rule, random_plans.JOIN_TYPES))
    with BROKEN[rule](), pytest.raises(AssertionError):
        for seed in range(MOST_PLANS):
            check(random_plan(random.Random(seed), 3), "always")
