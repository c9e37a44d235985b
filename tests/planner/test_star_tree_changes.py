"""The smallest change that would let a star-tree answer, and what it says."""

from __future__ import annotations

import pytest

from planner.star_tree.change import Change, change_text, rows_factor, smallest_change
from planner.star_tree.facts import TreeFacts
from planner.star_tree.fragment import AskedAggregate, Column, Relation, Term
from planner.star_tree.question import Question

COLUMNS = {"store": "string", "day": "int", "item": "int", "x": "int", "y": "bigint", "weight": "double", "name": "string"}
RELATION = Relation(0, "sales", "", tuple(Column(number, name, type_) for number, (name, type_) in enumerate(COLUMNS.items())))
FACTS = TreeFacts("cube", COLUMNS, ("store", "day"), frozenset({"count", "sum(x)", "count(x)"}), 1_000, {"x": 100})


def column(name: str) -> Term:
    number = list(COLUMNS).index(name)
    return Term("column", COLUMNS[name], 50 + number, id=number, name=name, refs=frozenset({number}))


def asked(function: str, *args: Term, distinct: bool = False) -> AskedAggregate:
    type_ = "bigint" if function == "count" else args[0].type if function in ("min", "max") else "bigint"
    if function == "avg" or (args and args[0].type == "double"):
        type_ = "double"
    return AskedAggregate(7, function, type_, args, distinct, None, f"{function}({', '.join(each.name for each in args)})")


def question(*aggregates: AskedAggregate, by: tuple[str, ...] = ()) -> Question:
    return Question(RELATION, (), frozenset(by), aggregates, ansi=True)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (question(asked("sum", column("x")), by=("item",)), "one dimension more: item"),
        (question(asked("sum", column("x")), by=("item", "name")), "2 dimensions more: item, name"),
        (question(asked("sum", column("y"))), "one measure more: sum(y)"),
        (question(asked("avg", column("y"))), "one measure more: sum(y)"),
        (question(asked("count", column("y"))), "one measure more: count(y)"),
        (question(asked("max", column("name")), by=("item",)), "one dimension more: item, and one measure more: max(name)"),
        (question(asked("count", column("name"), distinct=True)), "one dimension more: name"),
        (question(asked("sum", column("weight"))), "one measure more: sum(weight), and rtfilter.startree.floats=true"),
    ],
)
def test_what_would_help(query: Question, text: str) -> None:
    change = smallest_change(query, FACTS, floats=False)
    assert change is not None and change_text(change, None) == text


@pytest.mark.parametrize("function", ["stddev_samp", "percentile_approx", "collect_list"])
def test_nothing_helps_a_function_that_is_not_served(function: str) -> None:
    assert smallest_change(question(asked(function, column("x")), by=("item",)), FACTS, floats=True) is None


def test_an_expression_is_answered_where_its_columns_are_dimensions() -> None:
    length = Term("Length", "int", 9, (column("name"),), refs=column("name").refs)
    assert smallest_change(question(asked("sum", length)), FACTS, floats=False) == Change(("name",))
    ratio = Term("Divide", "double", 9, (column("x"), column("y")), refs=column("x").refs | column("y").refs)
    assert smallest_change(question(asked("sum", ratio)), FACTS, floats=True) is None


def test_what_answers_needs_no_change() -> None:
    assert smallest_change(question(asked("sum", column("x")), by=("day",)), FACTS, floats=False) == Change()


def test_rows_grow_by_the_values_that_a_group_can_have() -> None:
    assert rows_factor(1_000, 1_000, 50) == pytest.approx(1.0)
    assert rows_factor(1_000_000, 10, 50) == pytest.approx(50.0)
    assert 1.9 < rows_factor(2_000, 1_000, 1_000_000) <= 2.0
    assert rows_factor(2_000, 1_000, 1.0) == 1.0
    assert change_text(Change(("item",)), 1.42) == "one dimension more: item (about 1.4x the rows)"
    assert change_text(Change(("item",)), 140.2) == "one dimension more: item (about 140x the rows)"
