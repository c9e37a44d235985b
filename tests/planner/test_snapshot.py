"""Reading a plan snapshot, and refusing what is none."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import SnapshotError
from planner.expressions import Alias, Attribute, Cast, OtherExpression
from planner.nodes import Exchange, Join, QueryStage, Scan
from planner.snapshot import parse_snapshot
from tests.planner.plans import FACT, alias, attr, broadcast, cast, computed, fact_with, nodes_of, plan_of, project, scan, stage


def test_a_join_with_its_children_is_read_in_preorder() -> None:
    plan = plan_of(fact_with(FACT))
    join, fact, exchange = plan.nodes[0], plan.nodes[1], plan.nodes[2]
    assert isinstance(join, Join) and isinstance(fact, Scan) and isinstance(exchange, Exchange)
    assert (join.left, join.right, join.streamed_side) == (1, 2, "left")
    assert join.left_keys == (Attribute(1, "f_key", "int", True),)
    assert fact.table == "fact" and [column.name for column in fact.columns] == ["f_key", "f_amount"]


def test_expressions_keep_their_nesting_and_their_determinism() -> None:
    plan = plan_of(project(FACT, alias(5, cast("bigint", attr(1))), alias(6, computed("rand()", "double", deterministic=False))))
    first, second = plan.nodes[0].exprs  # type: ignore[union-attr]
    assert isinstance(first, Alias) and isinstance(first.child, Cast) and first.child.child == Attribute(1, "c", "int", True)
    assert isinstance(second, Alias) and isinstance(second.child, OtherExpression) and not second.child.deterministic


def test_a_query_stage_shows_what_it_runs() -> None:
    plan = plan_of(stage(broadcast(FACT), rows=7))
    top = plan.nodes[0]
    assert isinstance(top, QueryStage) and top.broadcast and top.materialized and top.rows == 7 and top.children == (1,)


def test_a_stage_that_has_not_finished_has_no_figures() -> None:
    top = plan_of(stage(broadcast(FACT))).nodes[0]
    assert isinstance(top, QueryStage) and not top.materialized and top.rows is None and top.bytes is None


def _changed(number: int, **fields: Any) -> list[dict[str, Any]]:
    nodes = nodes_of(fact_with(FACT))
    nodes[number] = nodes[number] | fields
    return nodes


RUBBISH: list[tuple[str, Any, str]] = [
    ("not a list", {"id": 0}, "must be a list"),
    ("no node at all", [], "at least one node"),
    ("a node that is no object", ["scan"], "not an object"),
    ("ids that do not count", _changed(1, id=7), "must count from 0"),
    ("an unknown kind", _changed(0, kind="magic"), "unknown kind 'magic'"),
    ("no operator name", _changed(1, op=None), "it must be of type str"),
    ("a child before its parent", _changed(2, children=[1]), "not a node after it"),
    ("a child that is not there", _changed(2, children=[99]), "not a node after it"),
    ("a child of two", _changed(2, children=[3, 4]), "instead of 1"),
    ("nobody's child", _changed(3, children=[]), "instead of 1"),
    ("a bool for a number", _changed(1, output=[True]), "whole numbers"),
    ("a join without its build side", _changed(0, build_side=None), "without a build side"),
    ("a join with a third side", _changed(0, build_side="middle"), "left, right or null"),
    ("a join with one child", _changed(0, children=[1]), "1 children instead of 2"),
    ("keys without partners", _changed(0, right_keys=[]), "1 left keys and 0 right keys"),
    ("a scan with children", _changed(1, children=[2]), "1 children instead of 0"),
    ("a scan without columns", _changed(1, columns=None), "must be a list"),
    ("a column without a type", _changed(1, columns=[{"id": 1, "name": "a", "partition": False}]), "type = None"),
    ("a figure that is a text", _changed(1, bytes="many"), "whole number or null"),
    ("an expression that is none", _changed(0, left_keys=["f_key"]), "where an expression should be"),
    ("an unknown expression", _changed(0, left_keys=[{"kind": "lambda", "type": "int"}]), "unknown kind 'lambda'"),
    ("a filter without a condition", _changed(3, condition=None), "where an expression should be"),
]


@pytest.mark.parametrize(("nodes", "words"), [case[1:] for case in RUBBISH], ids=[case[0] for case in RUBBISH])
def test_rubbish_is_refused_with_words(nodes: object, words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        parse_snapshot(nodes)


def test_a_tree_with_a_loose_node_is_refused() -> None:
    nodes = [*nodes_of(FACT), nodes_of(scan("lost"))[0] | {"id": 1}]
    with pytest.raises(SnapshotError, match="nobody's child"):
        parse_snapshot(nodes)


def test_an_expression_nested_beyond_reason_is_refused() -> None:
    deep = attr(1)
    for _ in range(100):
        deep = cast("bigint", deep)
    with pytest.raises(SnapshotError, match="nested deeper"):
        plan_of(fact_with(FACT, deep))


def test_the_error_is_a_value_error() -> None:
    assert issubclass(SnapshotError, ValueError)
