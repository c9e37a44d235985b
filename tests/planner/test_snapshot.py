"""Reading a plan snapshot, and refusing what is none."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.errors import SnapshotError
from planner.plan.expressions import Alias, Attribute, Cast, OtherExpression
from planner.plan.nodes import Aggregate, Exchange, Expand, Generate, Join, QueryStage, Scan, Union, Window
from planner.plan.snapshot import parse_snapshot
from tests.planner.plans import (
    FACT,
    Raw,
    aggregate,
    alias,
    attr,
    broadcast,
    cast,
    coalesce_default,
    computed,
    exchange,
    expand,
    fact_with,
    generate,
    join,
    nodes_of,
    normalize,
    plan_of,
    project,
    scan,
    stage,
    union,
    where,
    window,
)


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


def test_every_kind_of_node_is_read() -> None:
    plan = plan_of(
        union(
            [1],
            aggregate(window(FACT, [attr(1)], [50]), [attr(1)], [attr(1), alias(9, computed("count(1)", "bigint"))]),
            expand(generate(FACT, [60]), _5=attr(1), _6=None),
            join(
                FACT,
                broadcast(FACT, same=3),
                [],
                [],
                kind="nested_loop_join",
                build_side=None,
                condition=computed("a < b", "boolean"),
            ),
        )
    )
    kinds = [type(node) for node in plan.nodes]
    assert kinds == [Union, Aggregate, Window, Scan, Expand, Generate, Scan, Join, Scan, Exchange, Scan]
    assert plan.parents == (-1, 0, 1, 2, 0, 4, 5, 0, 7, 7, 9) and plan.ends == (11, 4, 4, 4, 7, 7, 7, 11, 9, 11, 11)
    expanded, loop, exchanged = plan.nodes[4], plan.nodes[7], plan.nodes[9]
    assert isinstance(expanded, Expand) and expanded.sources == ((5, Attribute(1, "c", "int")), (6, None))
    assert isinstance(loop, Join) and loop.condition is not None and loop.left_keys == ()
    assert isinstance(exchanged, Exchange) and exchanged.same == 3


def test_estimates_may_lack_what_they_are_made_of() -> None:
    nodes = nodes_of(where(FACT))
    for field in ("columns_total", "filters", "bytes"):
        del nodes[1][field]
    del nodes[0]["conjuncts"]
    bare = parse_snapshot(nodes).nodes[1]
    assert isinstance(bare, Scan) and (bare.columns_total, bare.filters, bare.bytes) == (None, (), None)


def test_what_may_raise_or_change_inside_makes_the_whole_so() -> None:
    inner = computed("(1 / b)", may_raise=True, deterministic=False)
    key = plan_of(fact_with(FACT, cast("bigint", normalize(coalesce_default(inner))))).nodes[0].expressions()[0]
    assert key.may_raise and not key.deterministic


def test_a_cast_that_keeps_values_does_not_raise_but_what_it_casts_may() -> None:
    safe, unsafe, inside = (
        plan_of(fact_with(FACT, key)).nodes[0].expressions()[0].may_raise
        for key in (
            cast("bigint", attr(1), may_raise=True),
            cast("smallint", attr(1), may_raise=True),
            cast("bigint", attr(1, may_raise=True)),
        )
    )
    assert (safe, unsafe, inside) == (False, True, True)


def test_a_query_stage_shows_what_it_runs() -> None:
    plan = plan_of(stage(broadcast(FACT), rows=7))
    top = plan.nodes[0]
    assert isinstance(top, QueryStage) and top.broadcast and top.materialized and top.rows == 7 and top.children == (1,)


def test_a_stage_that_has_not_finished_has_no_figures() -> None:
    top = plan_of(stage(broadcast(FACT))).nodes[0]
    assert isinstance(top, QueryStage) and not top.materialized and top.rows is None and top.bytes is None


@pytest.mark.parametrize(("said", "read"), [({}, ""), ({"literals": None}, None), ({"literals": "x"}, "x")])
def test_a_node_without_literals_asks_nothing_and_null_cannot_be_told(said: Raw, read: str | None) -> None:
    assert plan_of(FACT | said).nodes[0].literals == read


def _changed(number: int, **fields: Any) -> list[dict[str, Any]]:
    nodes = nodes_of(fact_with(FACT))
    nodes[number] = nodes[number] | fields
    return nodes


def _without(number: int, field: str) -> list[dict[str, Any]]:
    nodes = nodes_of(fact_with(FACT))
    del nodes[number][field]
    return nodes


def _swapped() -> list[dict[str, Any]]:
    """The scans of a union in the wrong order: every child comes after its parent, but not in preorder."""
    nodes = nodes_of(union([1, 2], FACT, FACT))
    nodes[0]["children"] = [2, 1]
    return nodes


def _top(root: Raw, **fields: Any) -> list[dict[str, Any]]:
    nodes = nodes_of(root)
    nodes[0] |= fields
    return nodes


RUBBISH: list[tuple[str, Any, str]] = [
    ("not a list", {"id": 0}, "must be a list"),
    ("no node at all", [], "at least one node"),
    ("a node that is no object", ["scan"], "not an object"),
    ("ids that do not count", _changed(1, id=7), "must count from 0"),
    ("literals that are no text", _changed(1, literals=["v < 5"]), "it must be of type str"),
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
    ("a scan's conjuncts that are no texts", _changed(1, filters=[5]), "among its filters, they must be texts"),
    ("a filter's conjuncts that are no list", _changed(3, conjuncts="eq"), "must be a list"),
    ("an exchange that does not say what is the same", _without(2, "same"), "no same; null must be written out"),
    ("an exchange that is the same as a text", _changed(2, same="x"), "whole number or null"),
    ("a join that does not say its condition", _without(0, "condition"), "no condition; null must be written out"),
    ("children that are not in preorder", _swapped(), "where preorder asks for"),
    ("an aggregate without its grouping", _top(aggregate(FACT, [attr(1)]), grouping=None), "grouping = None"),
    ("an expand without a source", _top(expand(FACT, _5=None), columns=[{"id": 5}]), "no source"),
    ("a stage that does not say what it is", _top(stage(exchange(FACT)), shuffle=None), "shuffle = None"),
    ("a window with two children", _top(window(FACT, []), children=[1, 2]), "2 children instead of 1"),
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
