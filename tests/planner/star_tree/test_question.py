"""What an aggregate asks of a table: conditions, columns that are told apart, and where nothing can be asked."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.errors import SnapshotError
from planner.star_tree.fragment import parse_fragment
from planner.star_tree.reasons import TreeReason, TreeRefusedError
from tests.planner.star_tree.fragments import (
    IDS,
    OTHER_TABLE,
    alias,
    asked,
    call,
    column,
    condition,
    filtered,
    function,
    joined,
    literal,
    projected,
    reference,
    table,
)

COUNT = function("count", {"op": "literal", "type": "int", "number": 1, "value": "1", "refs": []})
TEST = {"op": "eq", "column": "day", "type": "int", "value": 3}


def refusal(*args: Any, **more: Any) -> TreeReason:
    with pytest.raises(TreeRefusedError) as caught:
        asked(*args, **more)
    assert caught.value.refusal.detail
    return caught.value.refusal.reason


def test_conditions_above_the_table_are_judged_and_others_are_told_apart() -> None:
    below = filtered(table(), condition(TEST, "day"))
    found = asked(filtered(below, condition(None, "name")), COUNT, grouping=(column("store"),))
    assert [(each.columns, each.test) for each in found.conditions] == [(("day",), TEST)]
    assert found.told_apart == {"store", "name"}


def test_an_alias_is_what_it_stands_for() -> None:
    below = projected(table(), alias(50, call("Year", column("day"))), alias(51, column("x")), column("store"))
    found = asked(below, function("sum", reference(51)), grouping=(reference(50),))
    assert found.told_apart == {"day"}
    (only,) = found.aggregates
    assert [term.name for term in only.args] == ["x"] and only.args[0].id == IDS["x"]


def test_grouping_sets_tell_apart_what_any_of_them_groups_by() -> None:
    columns = [
        {"id": IDS["x"], "terms": [column("x")]},
        {"id": 60, "terms": [column("store"), literal(None, "string")]},
        {"id": 61, "terms": [literal(0), literal(1)]},
    ]
    below = {"kind": "expand", "columns": columns, "child": table()}
    found = asked(below, function("sum", column("x")), grouping=(reference(60, "string"), reference(61)))
    assert found.told_apart == {"store"}
    assert [term.name for term in found.aggregates[0].args] == ["x"]


def test_a_filter_of_an_aggregate_tells_apart() -> None:
    found = asked(table(), function("sum", column("x"), condition=condition(None, "day")))
    assert found.told_apart == {"day"}


@pytest.mark.parametrize(
    ("how", "left", "right"),
    [
        ("Inner", True, True),
        ("Cross", True, True),
        ("LeftOuter", True, False),
        ("RightOuter", False, True),
        ("LeftSemi", True, False),
        ("LeftAnti", True, False),
        ("FullOuter", False, False),
        ("ExistenceJoin(exists#3)", False, False),
    ],
)
def test_sides_of_joins(how: str, left: bool, right: bool) -> None:
    on = call("EqualTo", column("day"), column("other"), kind="boolean")
    for stands_left, is_right in ((True, left), (False, right)):
        one, other = (table(), OTHER_TABLE) if stands_left else (OTHER_TABLE, table())
        if is_right:
            found = asked(joined(one, other, how, on), COUNT)
            assert found.told_apart == {"day"}
        else:
            assert refusal(joined(one, other, how, on), COUNT) == TreeReason.NOT_PRESERVED


@pytest.mark.parametrize(
    "where",
    [
        lambda random: {"child": table(), "grouping": (random,)},
        lambda random: {"child": filtered(table(), {**random, "test": None})},
        lambda random: {"child": joined(table(), OTHER_TABLE, "Inner", random)},
        lambda random: {"child": projected(table(), alias(50, column("x")), {**alias(51, random), "unsure": True})},
    ],
)
def test_what_is_not_deterministic_is_refused(where: Any) -> None:
    given = where(call("Rand", kind="double", unsure=True))
    assert refusal(given.pop("child"), COUNT, **given) == TreeReason.NOT_DETERMINISTIC


def test_other_operators_are_refused_by_name() -> None:
    window = {"kind": "other", "name": "Window"}
    assert asked(joined(table(), window), COUNT).told_apart == set()
    above = {**window, "tables": [table()]}
    assert refusal(above, COUNT) == refusal(joined(above, OTHER_TABLE), COUNT) == TreeReason.OPERATOR_BELOW


@pytest.mark.parametrize("broken", [{}, {"ansi": 1}, {"ansi": True, "grouping": [7], "read": [], "aggregates": [], "child": {}}])
def test_what_is_no_fragment_is_told(broken: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError):
        parse_fragment(broken)
