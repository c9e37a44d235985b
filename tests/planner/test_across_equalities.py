"""A filter goes across the equality of another join to its other side, where that is right."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.join_types import reaches_across
from tests.planner.plans import (
    Raw,
    ahead_of,
    answer_to,
    attr,
    broadcast,
    cast,
    changed,
    coalesce_default,
    column,
    computed,
    exchange,
    join,
    merged,
    placed,
    project,
    reasons,
    scan,
    stage,
    union,
    where,
)

# Two large tables that are joined by their keys, and a small one that filters them.
ONE = scan("one", column(1, "a"), column(2, "more"), bytes=10**9)
TWO = scan("two", column(21, "b"), column(22, "more"), bytes=10**9)
SMALL = scan("small", column(31, "k"), bytes=1_000)


def below(join_type: str = "Inner", one: Raw = ONE, two: Raw = TWO, **more: Any) -> Raw:
    """The two tables joined on a = b, shuffled."""
    return merged(one, two, [attr(1, "a")], [attr(21, "b")], join_type=join_type, **more)


def filtered_by_small(probe: Raw, key: int = 1) -> list[str]:
    """The scans that the small table filters through a broadcast join on a column of `probe`."""
    root = join(probe, broadcast(SMALL), [attr(key)], [attr(31, "k")])
    return [each.removesuffix(" <- small.k") for each in placed(root) if each.endswith("small.k")]


@pytest.mark.parametrize("join_type", ["Inner", "Cross", "LeftSemi", "LeftAnti", "ExistenceJoin(e#9)", "LeftOuter"])
def test_from_the_left_key_to_the_right_one(join_type: str) -> None:
    assert filtered_by_small(below(join_type)) == ["one.a", "two.b"]


@pytest.mark.parametrize("join_type", ["Inner", "Cross", "RightOuter"])
def test_from_the_right_key_to_the_left_one(join_type: str) -> None:
    assert filtered_by_small(below(join_type), key=21) == ["two.b", "one.a"]


@pytest.mark.parametrize(("join_type", "key"), [("LeftOuter", 21), ("RightOuter", 1), ("FullOuter", 1), ("FullOuter", 21)])
def test_not_from_a_side_that_gets_nulls(join_type: str, key: int) -> None:
    assert filtered_by_small(below(join_type), key) == []


def test_not_to_the_other_side_of_a_null_aware_anti_join() -> None:
    anti = join(ONE, broadcast(TWO), [attr(1)], [attr(21)], "LeftAnti", null_aware=True)
    assert filtered_by_small(anti) == ["one.a"]
    assert not reaches_across("LeftAnti", "left", null_aware=True) and reaches_across("LeftAnti", "left", null_aware=False)


def test_not_from_a_column_that_is_no_key() -> None:
    assert filtered_by_small(below(), key=2) == ["one.more"]


def test_over_several_joins() -> None:
    third = scan("three", column(41, "c"), bytes=10**9)
    chain = join(below(), broadcast(third), [attr(21)], [attr(41)])
    assert filtered_by_small(chain, key=21) == ["two.b", "one.a", "three.c"]


def test_over_a_column_that_a_join_below_made_equal() -> None:
    # The small table filters a; the upper join is on b, which equals a in every row of the lower one.
    third = scan("three", column(41, "c"), bytes=10**9)
    for low in (below(), where(below()), project(below(), attr(1), attr(21)), exchange(below())):
        upper = join(low, broadcast(third), [attr(21)], [attr(41)])
        assert filtered_by_small(upper) == ["one.a", "two.b", "three.c"]


def test_over_a_column_that_was_given_another_name() -> None:
    third = scan("three", column(41, "c"), bytes=10**9)
    renamed = project(below(), attr(1), {"kind": "alias", "id": 61, "name": "x", "type": "int", "child": attr(21)})
    assert filtered_by_small(join(renamed, broadcast(third), [attr(61)], [attr(41)])) == ["one.a", "two.b", "three.c"]


@pytest.mark.parametrize("join_type", ["LeftOuter", "FullOuter", "RightOuter"])
def test_not_over_a_column_that_is_equal_in_some_rows_only(join_type: str) -> None:
    third = scan("three", column(41, "c"), bytes=10**9)
    upper = join(below(join_type), broadcast(third), [attr(21)], [attr(41)])
    assert "three.c" not in filtered_by_small(upper)


def test_not_over_a_column_that_a_union_or_a_computation_has_touched() -> None:
    third = scan("three", column(41, "c"), bytes=10**9)
    computed_again = project(
        below(), attr(1), {"kind": "alias", "id": 61, "name": "x", "type": "int", "child": computed("(b + 1)", refs=[21])}
    )
    for low, key in ((union([1, 2, 21, 22], below(), below()), 21), (computed_again, 61)):
        assert "three.c" not in filtered_by_small(join(low, broadcast(third), [attr(key)], [attr(41)]))


def test_over_widening_casts_on_both_keys() -> None:
    wide = scan("two", column(21, "b", "bigint"), bytes=10**9)
    joined = merged(ONE, wide, [cast("bigint", attr(1))], [attr(21, type="bigint")])
    assert filtered_by_small(joined) == ["one.a", "two.b"]


def test_not_to_a_column_that_can_not_hold_the_keys_as_they_are() -> None:
    decimals = scan("two", column(21, "b", "decimal(20,2)"), bytes=10**9)
    joined = merged(ONE, decimals, [cast("decimal(20,2)", attr(1))], [attr(21, type="decimal(20,2)")])
    assert filtered_by_small(joined) == ["one.a"]


def test_not_over_a_null_safe_equality() -> None:
    ones = [coalesce_default(attr(1)), computed("isnull(a)", "boolean", [1])]
    twos = [coalesce_default(attr(21)), computed("isnull(b)", "boolean", [21])]
    assert filtered_by_small(merged(ONE, TWO, ones, twos)) == ["one.a"]


def test_into_the_arms_of_a_union_on_the_other_side() -> None:
    arms = union([21, 22], project(TWO, attr(21), attr(22)), scan("more", column(51, "d"), column(52, "x"), bytes=10**9))
    assert filtered_by_small(below(two=arms)) == ["one.a", "two.b", "more.d"]


def test_what_stops_it_there_leaves_no_trace_and_hinders_nothing() -> None:
    for two in (stage_of(TWO), where(TWO, computed("1 / b > 0", "boolean", [21], may_raise=True)), project(TWO, alias_of(21))):
        root = join(below(two=two), broadcast(SMALL), [attr(1)], [attr(31, "k")])
        assert [each for each in reasons(root).items() if each[0].endswith("small.k")] == [("one.a <- small.k", "PLANNED")]


def stage_of(child: Raw) -> Raw:
    return stage(exchange(child))


def alias_of(id: int) -> Raw:
    return {"kind": "alias", "id": id, "name": "b", "type": "int", "child": computed("(b + 1)", refs=[id])}


def test_what_is_not_worth_it_there_leaves_no_trace_either() -> None:
    tiny = scan("tiny", column(21, "b"), column(22, "more"), bytes=10)
    root = join(below(two=tiny), broadcast(SMALL), [attr(1)], [attr(31, "k")])
    assert [each for each in reasons(root) if each.endswith("small.k")] == ["one.a <- small.k"]
    assert "tiny.b <- small.k" in reasons(root, cost="always")


def test_what_an_earlier_plan_had_there_is_told_when_it_is_dropped() -> None:
    tiny = scan("tiny", column(21, "b"), column(22, "more"), bytes=10)
    root = join(below(two=tiny), broadcast(SMALL), [attr(1)], [attr(31, "k")])
    known = {each.key_id for each in answer_to(root, cost="always").candidates}
    assert reasons(root, placed_before=known.__contains__)["tiny.b <- small.k"] == "WAIT_DOES_NOT_PAY"


def test_what_can_fail_in_the_join_stops_both() -> None:
    failing = computed("1 / more > 0", "boolean", [2], may_raise=True)
    root = join(below(condition=failing), broadcast(SMALL), [attr(1)], [attr(31, "k")])
    assert reasons(root)["one.a <- small.k"] == "MAY_RAISE"
    assert not any(each.endswith("small.k") for each in placed(root))
    assert filtered_by_small(changed(below(), may_raise=True)) == []


def test_a_scan_that_is_reached_twice_is_filtered_once() -> None:
    both = merged(ONE, TWO, [attr(1), attr(1)], [attr(21), attr(21)])
    assert filtered_by_small(both) == ["one.a", "two.b"]


def test_the_other_side_waits_where_the_own_one_need_not() -> None:
    streamed = join(ONE, broadcast(TWO), [attr(1)], [attr(21)])
    answer = answer_to(join(streamed, broadcast(SMALL), [attr(1)], [attr(31, "k")]), cost="always")
    gates = {each.columns: (each.gate, ahead_of(each)) for each in answer.placeholders if each.join == 0}
    assert gates == {(1,): (False, {"probes"}), (21,): (True, {"broadcasts", "probes"})}
