"""Which operations can fail on some row: by class, mode, types and literals."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.errors import SnapshotError
from planner.plan.raising import Step, in_any_order, may_raise
from planner.plan.snapshot import parse_snapshot
from tests.planner.plans import FACT, Raw, alias, attr, computed, fact_with, nodes_of, placed, project, reasons, scan, shift, where

LONG_PATTERN = "string=" + "a" * 100


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step("RLike", "", "boolean", ("string", "string=a+")), False),
        (Step("RLike", "", "boolean", ("string", "string")), True),
        (Step("GetJsonObject", "", "string", ("string", "string")), False),
        (Step("NobodyKnows", "", "int", ()), True),
        (Step("PythonUDF", "", "int", ("int",)), True),
        (Step("Divide", "TRY", "double", ("double", "double")), False),
        (Step("Divide", "ANSI", "double", ("double", "double")), True),
        (Step("Divide", "ANSI", "double", ("double", "double=2.0")), False),
        (Step("Divide", "ANSI", "double", ("double", "double=0.0")), True),
        (Step("Divide", "ANSI", "double", ("double", "double=null")), True),
        (Step("IntegralDivide", "ANSI", "bigint", ("int", "int=-1")), True),
        (Step("IntegralDivide", "ANSI", "bigint", ("int", "int=3")), False),
        (Step("Add", "ANSI", "int", ("int", "int")), True),
        (Step("Add", "ANSI", "decimal(11,2)", ("decimal(10,2)", "decimal(10,2)")), False),
        (Step("Multiply", "ANSI", "decimal(38,4)", ("decimal(20,2)", "decimal(20,2)")), True),
        (Step("Cast", "ANSI", "int", ("string",)), True),
        (Step("Cast", "TRY", "int", ("string",)), False),
        (Step("Cast", "ANSI", "double", ("int",)), False),
        (Step("Cast", "ANSI", "double", ("bigint",)), False),
        (Step("Cast", "ANSI", "int", ("bigint",)), True),
        (Step("Cast", "ANSI", "decimal(5,0)", ("int",)), True),
        (Step("Cast", "ANSI", "array", ("string",)), True),
        (Step("Ceil", "ANSI", "bigint", ("double",)), True),
        (Step("Ceil", "ANSI", "decimal(9,0)", ("decimal(10,2)",)), False),
        (Step("Sum", "ANSI", "bigint", ("int",)), False),
        (Step("Sum", "ANSI", "bigint", ("bigint",)), True),
        (Step("Sum", "ANSI", "bigint", ("unscaled decimal(8,2)",)), False),
        (Step("StringRepeat", "", "string", ("string", "int")), True),
        (Step("StringRepeat", "", "string", ("string", "int=3")), False),
        (Step("RegExpReplace", "", "string", ("string", "string=a", "string=$1", "int=1")), True),
        (Step("RegExpReplace", "", "string", ("string", "string=a", "string=b", "int=1")), False),
    ],
)
def test_whether_a_step_may_raise(step: Step, expected: bool) -> None:
    assert may_raise(step) is expected


@pytest.mark.parametrize(
    ("pattern", "group", "expected"),
    [
        ("string=(a)(b)", "int=2", False),
        ("string=(a)(b)", "int=3", True),
        ("string=(a)(b)", "int=-1", True),
        ("string=(a)(b)", "int", True),
        ("string", "int=0", True),
        ("string=ab", "int=0", False),
        ("string=(?:a)", "int=1", True),
        ("string=(?<x>a)", "int=1", False),
        ("string=(?<=a)b", "int=1", True),
        (r"string=\(a", "int=1", True),
        ("string=[(]a", "int=1", True),
        ("string=[[(]]a", "int=1", True),
        (r"string=\Q(\E", "int=1", True),
        (LONG_PATTERN, "int=0", True),
    ],
)
def test_a_group_that_a_pattern_lacks_may_raise(pattern: str, group: str, expected: bool) -> None:
    assert may_raise(Step("RegExpExtract", "", "string", ("string", pattern, group))) is expected


def test_sums_are_the_same_in_any_order_where_nothing_is_rounded_or_too_large() -> None:
    assert in_any_order(Step("Sum", "ANSI", "bigint", ("bigint",))) and not in_any_order(Step("Sum", "TRY", "bigint", ("bigint",)))
    assert in_any_order(Step("Max", "", "int", ("int",))) and not in_any_order(Step("First", "", "int", ("int", "boolean=false")))
    assert not in_any_order(Step("Sum", "", "double", ("double",)))
    assert in_any_order(Step("Average", "ANSI", "double", ("unscaled decimal(7,2)",)))
    assert not in_any_order(Step("Average", "ANSI", "double", ("unscaled decimal(8,2)",)))


ADD = ["Add", "ANSI", "int", ["int", "int=1"]]


def moved(id: int = 1, by: int = 1) -> Raw:
    return shift(attr(id), 1, by, steps=[ADD])


def asks(*parts: Raw, **more: Any) -> Raw:
    return computed("", "boolean", [1], moved=list(parts), **more)


class TestConditionsThatFailOnKeptRows:
    """The key is `f_key + 1`; a filter keeps the rows on which that overflows."""

    def subselect(self, condition: Raw) -> list[str]:
        return placed(fact_with(project(where(FACT, condition), alias(31, moved())), attr(31, "k1")))

    def test_the_same_shift_in_a_condition_below_is_passed(self) -> None:
        assert self.subselect(asks(moved(), steps=[["IsNotNull", "", "boolean", ["int"]]]))

    def test_a_smaller_one_too_and_a_larger_one_not(self) -> None:
        assert self.subselect(asks(moved(by=0)))
        assert not self.subselect(asks(moved(by=2)))
        assert not self.subselect(asks(moved(by=-1)))

    def test_that_of_another_column_is_not(self) -> None:
        assert not self.subselect(asks(moved(id=2)))

    def test_one_beside_something_else_that_fails_is_not(self) -> None:
        assert not self.subselect(asks(moved(), steps=[["Divide", "ANSI", "double", ["double", "double"]]]))

    def test_below_a_key_that_is_not_moved_none_is(self) -> None:
        assert set(reasons(fact_with(where(FACT, asks(moved())))).values()) == {"MAY_RAISE"}


@pytest.mark.parametrize("steps", [5, [5], [["Add"]], [["Add", "", "int", "int"]], [["Add", 1, "int", []]]])
def test_steps_that_are_none_are_an_error(steps: Any) -> None:
    with pytest.raises(SnapshotError):
        parse_snapshot(nodes_of(where(scan("t"), computed("", "boolean", steps=steps))))
