"""Which trees fit, and what stands in place of each aggregate function then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.star_tree.facts import TreeFacts
from planner.star_tree.fit import Fit, fit
from planner.star_tree.reasons import TreeReason, TreeRefusedError
from tests.planner.star_tree.fragments import (
    FACTS,
    OTHER_TABLE,
    TYPES,
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

ONE = literal(1)


def fitted(*aggregates: dict[str, Any], facts: TreeFacts = FACTS, floats: bool = False, child: Any = None, **more: Any) -> Fit:
    return fit(asked(child or table(), *aggregates, **more), facts, floats=floats)


def form(*args: Any, **more: Any) -> Any:
    (recipe,) = fitted(*args, **more).recipes
    return recipe.form


def refusal(*args: Any, **more: Any) -> TreeReason:
    with pytest.raises(TreeRefusedError) as caught:
        fitted(*args, **more)
    assert caught.value.refusal.detail
    return caught.value.refusal.reason


def test_plain_functions() -> None:
    assert form(function("count", ONE)) == {"kind": "count", "value": {"stored": "count"}}
    assert form(function("count", column("x"))) == {"kind": "count", "value": {"stored": "count(x)"}}
    assert form(function("sum", column("x"))) == {"kind": "sum", "value": {"stored": "sum(x)"}, "type": "bigint"}
    assert form(function("min", column("x"), kind="int")) == {"kind": "min", "value": {"stored": "min(x)"}}
    average = form(function("avg", column("x"), kind="double"))
    assert average["as"] == "double" and average["scale"] == 0 and average["count"] == {"stored": "count(x)"}


def test_averages_of_decimals_go_the_way_that_sparks_do() -> None:
    assert form(function("avg", column("price"), kind="decimal(11,6)"))["scale"] == 2
    wide = form(function("avg", column("wide"), kind="decimal(24,7)"))
    assert (wide["as"], wide["sum_type"]) == ("decimal", "decimal(30,3)")


def test_dimensions_are_read_themselves() -> None:
    found = fitted(function("count", column("store"), distinct=True), function("max", column("day"), kind="int"))
    assert [recipe.form for recipe in found.recipes] == [{"kind": "keep"}] * 2
    assert found.told_apart == ("store", "day")
    counted = fitted(function("count", column("day")))
    assert counted.recipes[0].form["non_null"] == [column("day")["number"]] and counted.told_apart == ("day",)


def test_a_choice_by_dimensions() -> None:
    is_store = call("EqualTo", column("store"), kind="boolean", number=41)
    choice = call("CaseWhen", is_store, column("x"), literal(0))
    found = fitted(function("sum", choice))
    assert found.recipes[0].form["value"] == {"branches": [[41, {"stored": "sum(x)"}]], "otherwise": {"constant": 500}}
    assert found.told_apart == ("store",)
    rows = call("CaseWhen", is_store, literal(1), literal(0), number=42)
    assert form(function("sum", rows))["value"] == {
        "branches": [[41, {"times_count": 500, "count": "count"}]],
        "otherwise": {"constant": 500},
    }
    by_measure = call("CaseWhen", call("EqualTo", column("name"), kind="boolean"), column("x"))
    assert refusal(function("sum", by_measure)) == TreeReason.NO_DIMENSION


def test_casts_that_keep_every_value() -> None:
    wider = call("Cast", column("price"), kind="decimal(12,2)")
    assert form(function("sum", wider, kind="decimal(22,2)"))["value"] == {"stored": "sum(price)"}
    for other in ("decimal(8,1)", "decimal(7,3)", "double", "int"):
        assert refusal(function("sum", call("Cast", column("price"), kind=other))) == TreeReason.NOT_STORED


def test_what_is_summed_of_other_tables_counts_once_for_each_row() -> None:
    found = fitted(function("sum", column("w")), child=joined(table(), OTHER_TABLE, "Inner", condition(None, "day")))
    assert found.recipes[0].form["value"] == {"times_count": column("w")["number"], "count": "count"}
    assert found.stored == ("count",) and found.told_apart == ("day",)
    decimal = {**column("w"), "type": "decimal(7,2)"}
    assert refusal(function("sum", decimal), child=joined(table(), OTHER_TABLE)) == TreeReason.NOT_STORED


def test_products_and_sums_with_what_dimensions_say() -> None:
    less = call(
        "Subtract", literal("1.00", "decimal(3,2)"), {**column("day"), "type": "decimal(5,2)"}, kind="decimal(6,2)", number=43
    )
    product = call("Multiply", column("price"), less, kind="decimal(14,4)")
    found = fitted(function("sum", product, kind="decimal(24,4)"))
    assert found.recipes[0].form["value"] == {"product": [43, {"stored": "sum(price)"}]} and found.told_apart == ("day",)
    moved = call("Subtract", literal("1.00", "decimal(7,2)"), column("price"), kind="decimal(8,2)")
    assert form(function("sum", moved, kind="decimal(18,2)"))["value"] == {
        "minuend": [{"times_count": 500, "count": "count(price)"}, {"stored": "sum(price)"}]
    }
    twice = call("Multiply", column("x"), literal(2), kind="int")
    assert form(function("sum", twice))["value"] == {"product": [500, {"stored": "sum(x)"}]}


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (call("Multiply", column("price"), column("price"), kind="decimal(15,4)"), TreeReason.NOT_STORED),
        (call("Add", column("price"), column("wide"), kind="decimal(22,3)"), TreeReason.NULLS_BETWEEN),
        # Spark rounds it: 4 places would be exact.
        (call("Multiply", column("price"), literal("1.5", "decimal(2,1)"), kind="decimal(10,2)"), TreeReason.MAY_OVERFLOW),
        (call("Multiply", column("x"), literal(2**30), kind="int"), TreeReason.MAY_OVERFLOW),
        (call("Multiply", column("x"), column("day"), kind="int"), TreeReason.MAY_OVERFLOW),
        # Where the day is another one it is a number, whether or not there is an x.
        (
            call("Add", call("CaseWhen", call("EqualTo", column("day"), kind="boolean"), column("x"), literal(0)), literal(1)),
            TreeReason.NULLS_BETWEEN,
        ),
        (
            call(
                "Add",
                call(
                    "CaseWhen", call("EqualTo", column("day"), kind="boolean"), column("big"), literal(0, "bigint"), kind="bigint"
                ),
                literal(1, "bigint"),
                kind="bigint",
            ),
            TreeReason.NULLS_BETWEEN,
        ),
        (call("Divide", column("price"), literal("2", "decimal(7,2)"), kind="decimal(10,2)"), TreeReason.NOT_STORED),
    ],
)
def test_arithmetic_that_no_stored_sum_gives(term: dict[str, Any], reason: TreeReason) -> None:
    assert refusal(function("sum", term)) == reason


FULL = replace(FACTS, without_nulls=frozenset({"x", "big", "price", "wide"}))
X, BIG, DAY = column("x"), call("Cast", column("x"), kind="bigint"), column("day")


def plus(left: dict[str, Any], right: dict[str, Any], kind: str = "int", op: str = "Add") -> dict[str, Any]:
    return call(op, left, right, kind=kind)


def test_sums_of_measures_without_nulls() -> None:
    both = plus(column("x"), column("big"), "bigint", "Subtract")
    assert form(function("sum", both), facts=FULL)["value"] == {"minuend": [{"stored": "sum(x)"}, {"stored": "sum(big)"}]}
    scaled = plus(plus(literal(2, "bigint"), BIG, "bigint", "Multiply"), column("big"), "bigint")
    augend = [{"product": [500, {"stored": "sum(x)"}]}, {"stored": "sum(big)"}]
    assert form(function("sum", scaled), facts=FULL)["value"] == {"augend": augend}
    decimal = plus(column("price"), column("wide"), "decimal(21,3)")
    augend = [{"stored": "sum(price)"}, {"stored": "sum(wide)"}]
    assert form(function("sum", decimal, kind="decimal(31,3)"), facts=FULL)["value"] == {"augend": augend}


def test_rows_are_counted_where_no_measure_has_a_null() -> None:
    three = plus(plus(BIG, column("big"), "bigint"), literal(3, "bigint"), "bigint")
    found = form(function("sum", three), facts=FULL)["value"]
    assert found["augend"][1] == {"times_count": 500, "count": "count(big)"}
    choice = call("CaseWhen", call("EqualTo", DAY, kind="boolean"), column("big"), literal(0, "bigint"), kind="bigint")
    more = form(function("sum", plus(choice, literal(1, "bigint"), "bigint")), facts=FULL)["value"]
    assert more["augend"][1] == {"times_count": 500, "count": "count(big)"}


def test_sums_of_one_measure_with_itself_need_no_other() -> None:
    twice = plus(plus(X, literal(2), op="Multiply"), X)
    assert form(function("sum", twice))["value"] == {"augend": [{"product": [500, {"stored": "sum(x)"}]}, {"stored": "sum(x)"}]}


@pytest.mark.parametrize("full", [set(), {"x"}, {"big"}])
def test_a_null_on_one_side_takes_the_others_value_away(full: set[str]) -> None:
    both = function("sum", plus(BIG, column("big"), "bigint"))
    assert refusal(both, facts=replace(FACTS, without_nulls=frozenset(full))) == TreeReason.NULLS_BETWEEN


def test_a_dimension_that_is_summed_up_may_have_nulls() -> None:
    facts = replace(FULL, stored=FULL.stored | {"sum(day)", "count(day)"}, largest={**FULL.largest, "day": 9})
    choice = call("If", call("EqualTo", column("store"), kind="boolean"), DAY, X)
    both = function("sum", plus(choice, X))
    assert refusal(both, facts=facts) == TreeReason.NULLS_BETWEEN
    assert form(both, facts=replace(facts, without_nulls=FULL.without_nulls | {"day"}))["value"]["augend"][1] == {
        "stored": "sum(x)"
    }


def test_sums_of_measures_that_may_overflow() -> None:
    both, wide = function("sum", plus(X, X)), function("sum", plus(BIG, column("big"), "bigint"))
    assert form(wide, facts=FULL)["kind"] == "sum"
    assert refusal(wide, facts=FULL, ansi=True) == TreeReason.MAY_OVERFLOW
    near = replace(FULL, largest={**FULL.largest, "x": 2**30})
    assert refusal(both, facts=near) == TreeReason.MAY_OVERFLOW
    assert form(both, facts=replace(FULL, largest={"x": 2**30 - 1}), ansi=True)["exact"]
    # One sum stays in a bigint in any order, twice the sum does not.
    many = plus(literal(2, "bigint"), column("big"), "bigint", "Multiply")
    of_few = replace(FULL, rows=3, largest={"big": 2**61})
    assert form(function("sum", column("big")), facts=of_few, ansi=True)["exact"]
    assert refusal(function("sum", many), facts=of_few, ansi=True) == TreeReason.MAY_OVERFLOW
    assert form(function("sum", many), facts=replace(of_few, rows=1), ansi=True)["exact"]


def test_sums_of_measures_that_spark_rounds() -> None:
    rounded = plus(column("price"), column("wide"), "decimal(20,2)")
    assert refusal(function("sum", rounded, kind="decimal(30,2)"), facts=FULL) == TreeReason.MAY_OVERFLOW


def test_an_expression_of_several_steps_is_not_used_again() -> None:
    below = projected(table(), alias(50, call("EqualTo", column("day"), kind="boolean")), column("x"))
    choice = call("CaseWhen", reference(50, "boolean"), column("x"))
    assert refusal(function("sum", choice), child=below) == TreeReason.FUNCTION_NOT_SERVED


@pytest.mark.parametrize(
    ("aggregate", "reason"),
    [
        (function("sum", column("x"), distinct=True), TreeReason.DISTINCT_MEASURE),
        (function("count", column("name"), distinct=True), TreeReason.DISTINCT_MEASURE),
        (function("stddev", column("x")), TreeReason.FUNCTION_NOT_SERVED),
        (function("first", column("store")), TreeReason.FUNCTION_NOT_SERVED),
        (function("try_sum", column("x")), TreeReason.FUNCTION_NOT_SERVED),
        (function("max", column("x"), kind="int"), TreeReason.NOT_STORED),
        (function("count", column("name")), TreeReason.NOT_STORED),
        (function("sum", call("Multiply", column("x"), column("x"))), TreeReason.NOT_STORED),
        (function("count", column("x"), column("name")), TreeReason.FUNCTION_NOT_SERVED),
        (function("sum", column("amount"), kind="double"), TreeReason.FLOATS_OFF),
        (function("avg", column("amount"), kind="double"), TreeReason.FLOATS_OFF),
        (function("avg", column("big"), kind="double"), TreeReason.MAY_OVERFLOW),
    ],
)
def test_functions_that_no_tree_gives(aggregate: dict[str, Any], reason: TreeReason) -> None:
    assert refusal(aggregate) == reason


SKETCHES = replace(FACTS, stored=FACTS.stored | {"theta_sketch_agg(name, 8)", "bitmap_construct_agg(x)"})


def test_sketches_that_merge_exactly() -> None:
    theta = function("theta_sketch_agg", column("name"), literal(8), kind="binary")
    found = fitted(theta, facts=SKETCHES)
    assert found.recipes[0].form == {"kind": "sketch", "value": {"stored": "theta_sketch_agg(name, 8)"}}
    assert found.stored == ("theta_sketch_agg(name, 8)",)
    bitmap = function("bitmap_construct_agg", BIG, kind="binary")
    assert form(bitmap, facts=SKETCHES)["value"] == {"stored": "bitmap_construct_agg(x)"}
    assert form(function("theta_sketch_agg", column("store"), literal(12), kind="binary")) == {"kind": "keep"}


@pytest.mark.parametrize(
    ("aggregate", "reason", "measure"),
    [
        (function("theta_sketch_agg", column("name"), literal(12)), TreeReason.NOT_STORED, "theta_sketch_agg(name, 12)"),
        (function("theta_sketch_agg", column("x"), literal(8)), TreeReason.NOT_STORED, "theta_sketch_agg(x, 8)"),
        (function("theta_sketch_agg", BIG, literal(8)), TreeReason.NOT_STORED, ""),
        (function("theta_sketch_agg", column("price"), literal(8)), TreeReason.NOT_STORED, ""),
        (function("theta_sketch_agg", column("name"), column("day")), TreeReason.NOT_STORED, ""),
        (function("bitmap_construct_agg", call("BitmapBitPosition", BIG)), TreeReason.NOT_STORED, ""),
        (function("hll_sketch_agg", column("name"), literal(12)), TreeReason.FUNCTION_NOT_SERVED, ""),
        (function("hll_sketch_agg", column("store"), literal(12)), TreeReason.FUNCTION_NOT_SERVED, ""),
        (function("approx_count_distinct", column("name")), TreeReason.FUNCTION_NOT_SERVED, ""),
    ],
)
def test_sketches_of_other_sizes_and_kinds(aggregate: dict[str, Any], reason: TreeReason, measure: str) -> None:
    with pytest.raises(TreeRefusedError) as caught:
        fitted(aggregate, facts=SKETCHES)
    assert (caught.value.refusal.reason, caught.value.refusal.measure) == (reason, measure)


def test_floats_where_they_are_wanted() -> None:
    assert form(function("sum", column("amount"), kind="double"), floats=True)["kind"] == "sum"


def test_sums_that_may_overflow() -> None:
    assert form(function("sum", column("big")))["kind"] == "sum"
    assert refusal(function("sum", column("big")), ansi=True) == TreeReason.MAY_OVERFLOW
    assert form(function("sum", column("x")), ansi=True)["exact"]
    few = replace(FACTS, rows=1)
    assert form(function("sum", column("big")), ansi=True, facts=few)["exact"]
    beside = replace(FACTS, raw=True, largest={**FACTS.largest, "big": 1})
    assert form(function("avg", column("x"), kind="double"), facts=beside)["as"] == "double"
    assert form(function("avg", column("price"), kind="decimal(11,6)"), facts=beside)["as"] == "double"
    assert refusal(function("avg", column("big"), kind="double"), facts=beside) == TreeReason.MAY_OVERFLOW
    assert form(function("avg", column("big"), kind="double"), facts=replace(beside, raw=False))["as"] == "double"


def test_columns_that_are_no_dimension_or_of_another_type() -> None:
    for more in (
        {"grouping": (column("name"),)},
        {"child": filtered(table(), condition(None, "name"))},
        {"child": joined(table(), OTHER_TABLE, "Inner", condition(None, "name"))},
    ):
        assert refusal(function("count", ONE), **more) == TreeReason.NO_DIMENSION
    other = replace(FACTS, types={**TYPES, "day": "bigint"})
    assert refusal(function("count", ONE), grouping=(column("day"),), facts=other) == TreeReason.OTHER_TYPE
    other = replace(FACTS, types={**TYPES, "x": "bigint"})
    assert refusal(function("sum", column("x")), facts=other) == TreeReason.OTHER_TYPE
