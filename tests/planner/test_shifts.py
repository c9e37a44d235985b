"""Keys that are a column moved or mirrored: which values of the column a key stands for, and which are kept unseen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.placement.answer import PlacedShift
from planner.plan.columns import KeyColumn, source_column
from planner.plan.errors import SnapshotError
from planner.plan.expressions import Expression, parse_expression
from tests.planner.plans import (
    DIM,
    FACT,
    Raw,
    aggregate,
    alias,
    answer_to,
    attr,
    broadcast,
    cast,
    coalesce_default,
    column,
    computed,
    exchange,
    fact_with,
    join,
    merged,
    only_candidate,
    project,
    scan,
    shift,
    union,
)

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "date": 32}
RAISES = object()


def ends(type_: str) -> tuple[int, int]:
    return -(2 ** (BITS[type_] - 1)), 2 ** (BITS[type_] - 1) - 1


def key_of(expr: Any, value: int, past_the_end: str) -> Any:
    """What Spark makes of a value, by each of the ways in which it treats an overflow."""
    kind = type(expr).__name__
    if kind == "Attribute":
        return value
    inner = key_of(expr.child, value, past_the_end)
    if kind != "Shifted" or inner is None or inner is RAISES:
        return inner
    made, (least, most) = expr.sign * inner + expr.by, ends(expr.type)
    if least <= made <= most:
        return made
    if past_the_end == "wraps":
        return (made - least) % (most - least + 1) + least
    return None if past_the_end == "is null" else RAISES


@st.composite
def chains(draw: st.DrawFn) -> Expression:
    """A tinyint column under some shifts and widening casts; most amounts are near an end of a type."""
    raw, type_ = attr(1, "k", "tinyint"), "tinyint"
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            type_ = draw(st.sampled_from([each for each in BITS if BITS[each] >= BITS[type_] and each != "date"]))
            raw = cast(type_, raw)
        least, most = ends(type_)
        by = draw(st.integers(-3, 3) | st.integers(most - 130, most) | st.integers(least, least + 130) | st.integers(-130, 130))
        raw = shift(raw, draw(st.sampled_from([1, -1])), by, may_raise=True)
    return parse_expression(raw, "the key")


@given(chains(), st.sampled_from(["wraps", "is null", "raises"]))
def test_a_value_that_is_not_kept_has_the_key_that_the_shift_says(expr: Expression, past_the_end: str) -> None:
    found = source_column(expr)
    assert isinstance(found, KeyColumn)
    moved = found.shift.on("tinyint")
    for value in range(-128, 128):
        if moved.low <= value <= moved.high:
            assert key_of(expr, value, past_the_end) == moved.sign * value + moved.by


@given(chains())
def test_no_value_is_kept_that_could_be_told(expr: Expression) -> None:
    found = source_column(expr)
    assert isinstance(found, KeyColumn)
    moved = found.shift.on("tinyint")
    told = {value for value in range(-128, 128) if key_of(expr, value, "raises") is not RAISES}
    assert told == set(range(moved.low, moved.high + 1))


def placed_shift(root: Raw) -> PlacedShift | None:
    (placeholder,) = answer_to(root).placeholders
    return placeholder.shift


def moved(sign: int = 1, by: int = 1, type: str = "int", **more: Any) -> Raw:
    return shift(attr(1, "f_key", type), sign, by, **{"may_raise": True, **more})


class TestPlaced:
    def test_a_plain_column_has_no_shift(self) -> None:
        assert placed_shift(fact_with(FACT)) is None

    def test_a_column_plus_a_number_keeps_the_values_that_would_overflow(self) -> None:
        assert placed_shift(fact_with(FACT, moved(by=3))) == PlacedShift(1, 3, None, 2**31 - 1 - 3)

    def test_a_number_minus_a_column_is_mirrored(self) -> None:
        assert placed_shift(fact_with(FACT, moved(-1, -5))) == PlacedShift(-1, -5, None, 2**31 - 5)

    def test_a_negated_column_keeps_the_least_value(self) -> None:
        assert placed_shift(fact_with(FACT, moved(-1, 0))) == PlacedShift(-1, 0, -(2**31) + 1, None)

    def test_a_widened_column_that_cannot_overflow_keeps_nothing(self) -> None:
        key = shift(cast("bigint", attr(1, "f_key")), 1, 10, may_raise=True)
        assert placed_shift(fact_with(FACT, key)) == PlacedShift(1, 10, None, None)

    def test_a_way_there_and_back_keeps_what_overflows_on_the_way(self) -> None:
        assert placed_shift(fact_with(FACT, shift(moved(by=1), 1, -1, may_raise=True))) == PlacedShift(1, 0, None, 2**31 - 2)

    def test_days_are_added_to_a_date(self) -> None:
        dated = scan("fact", column(1, "f_day", "date"))
        assert placed_shift(fact_with(dated, moved(by=7, type="date"))) == PlacedShift(1, 7, None, 2**31 - 8)

    def test_a_shift_in_a_projection_below_and_one_on_the_key_are_one(self) -> None:
        root = fact_with(project(FACT, alias(5, moved(by=1))), shift(attr(5), -1, 10, may_raise=True))
        assert placed_shift(root) == PlacedShift(-1, 9, -(2**31) + 10, 2**31 - 2)

    def test_each_arm_of_a_union_has_its_own(self) -> None:
        other = scan("other", column(31, "o_key"))
        arms = union([5], project(FACT, alias(6, moved(by=1))), project(other, alias(7, attr(31))))
        shifts = [each.shift for each in answer_to(fact_with(arms, attr(5))).placeholders]
        assert shifts == [PlacedShift(1, 1, None, 2**31 - 2), None]

    def test_a_column_grouped_by_below_the_shift(self) -> None:
        grouped = project(aggregate(FACT, [attr(1)]), alias(5, moved(by=1)))
        assert placed_shift(fact_with(grouped, attr(5))) == PlacedShift(1, 1, None, 2**31 - 2)

    def test_nulls_of_a_shifted_column_are_kept_for_a_null_safe_key(self) -> None:
        (placeholder,) = answer_to(fact_with(FACT, coalesce_default(moved(by=1)))).placeholders
        assert placeholder.keep_nulls and placeholder.shift == PlacedShift(1, 1, None, 2**31 - 2)

    def test_the_build_side_may_be_shifted_whatever_its_shift_is(self) -> None:
        root = join(FACT, broadcast(DIM), [attr(1)], [shift(attr(11, "d_key"), 1, 1, may_raise=True)])
        assert placed_shift(root) is None

    def test_it_is_written_as_the_protocol_says(self) -> None:
        (placeholder,) = answer_to(fact_with(FACT, moved(by=3))).placeholders
        assert placeholder.to_dict()["shift"] == {"sign": 1, "by": 3, "low": None, "high": 2147483644}


class TestRefused:
    def reason(self, root: Raw) -> str:
        candidate = only_candidate(root)
        assert candidate.placeholder is None
        return candidate.reason

    def test_a_shift_of_something_that_can_fail_itself(self) -> None:
        assert self.reason(fact_with(FACT, shift(computed("f_key / f_amount", may_raise=True), 1, 1))) == "MAY_RAISE"

    def test_a_shift_of_something_computed(self) -> None:
        assert self.reason(fact_with(FACT, shift(computed("abs(f_key)"), 1, 1))) == "NOT_A_PLAIN_COLUMN"

    def test_a_shift_of_a_narrowing_cast(self) -> None:
        assert self.reason(fact_with(FACT, shift(cast("smallint", attr(1)), 1, 1))) == "CAST_NOT_WIDENING"

    def test_a_projection_that_can_fail_in_another_column_too(self) -> None:
        probe = project(FACT, alias(5, moved(by=1)), alias(6, computed("1 / f_amount", may_raise=True), may_raise=True))
        assert self.reason(fact_with(probe, attr(5))) == "MAY_RAISE"

    def test_a_projection_that_shifts_another_column_too(self) -> None:
        other_column = alias(6, shift(attr(2, type="bigint"), 1, 1, may_raise=True))
        assert self.reason(fact_with(project(FACT, alias(5, moved(by=1)), other_column), attr(5))) == "MAY_RAISE"

    def test_a_shift_that_no_value_stays_within(self) -> None:
        key = shift(moved(by=2**31 - 1), 1, 2**31 - 1, may_raise=True)
        key = shift(key, 1, 2, may_raise=True)
        assert self.reason(fact_with(FACT, key)) == "NOT_A_PLAIN_COLUMN"

    def test_one_of_two_keys_when_the_other_can_fail(self) -> None:
        keys = [attr(1), moved(by=1)], [attr(11), attr(12, type="int")]
        candidates = answer_to(join(FACT, broadcast(DIM), *keys)).candidates
        assert [each.reason for each in candidates] == ["MAY_RAISE", "PLANNED"]

    def test_the_way_across_an_equality_of_a_shifted_key(self) -> None:
        """f_key = o_key + 1: a filter of f_key says nothing of o_key, as f_key = o_key would."""
        other = scan("other", column(31, "o_key"))

        def scans(theirs: Raw) -> int:
            answer = answer_to(fact_with(merged(FACT, other, [attr(1)], [theirs])), cost="always")
            return sum(each.join == 0 for each in answer.placeholders)

        assert (scans(attr(31)), scans(shift(attr(31), 1, 1))) == (2, 1)

    def test_a_tuple_with_a_shifted_column(self) -> None:
        wide = scan("fact", column(1, "f_key"), column(2, "f_other"), bytes=100_000_000)
        small = scan("dim", column(11, "d_key"), column(12, "d_other"))
        root = merged(wide, small, [shift(attr(1), 1, 1), attr(2)], [attr(11), attr(12)])
        assert [len(each.keys) for each in answer_to(root).placeholders] == [1, 1]


def test_two_uses_of_an_exchange_get_a_filter_only_if_their_shifts_are_equal() -> None:
    def both(by: int) -> int:
        first = exchange(FACT, same=1)
        second = exchange(scan("fact", column(101, "f_key"), column(102, "f_amount", "bigint")), same=1)
        dims = [broadcast(scan("dim", column(id_, "d_key"), bytes=1_000), same=2) for id_ in (11, 21)]
        left = join(first, dims[0], [shift(attr(1), 1, 1)], [attr(11)])
        right = join(second, dims[1], [shift(attr(101), 1, by)], [attr(21)])
        return len(answer_to(union([201, 202, 203], left, right), cost="always").placeholders)

    assert (both(1), both(2)) == (2, 0)


@pytest.mark.parametrize(
    "raw",
    [
        {"kind": "shift", "type": "int", "sign": 2, "by": 1, "child": attr(1)},
        {"kind": "shift", "type": "bigint", "sign": 1, "by": 1, "child": attr(1)},
        {"kind": "shift", "type": "double", "sign": 1, "by": 1, "child": attr(1, type="double")},
        {"kind": "shift", "type": "int", "sign": 1, "child": attr(1)},
    ],
)
def test_a_shift_that_is_none_is_an_error_of_the_snapshot(raw: Raw) -> None:
    with pytest.raises(SnapshotError):
        parse_expression(raw, "node 0")
