"""Faults that roll-ups of other engines have had, each to be switched on: in the planner host, or in the bridge's source.

Faults of the host are entered inside its process, before each answer. Those of the bridge are compiled in, and one is on where the
system property `FAULT` of Spark's driver names it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from planner.star_tree import recipes
from planner.star_tree.recipes import Recipe
from rtfilter.host import star_trees, tree_facts
from rtfilter.star_tree import traverse

NOTHING = "nothing"
FAULT = "rtfilter.test.fault"
TREE_PLAN = "common/star_tree/TreePlan.scala"


@dataclass(frozen=True)
class InBridge:
    """An expression of the bridge's source, what stands right before it, and what stands in its place."""

    text: str
    instead: str
    before: str = ""


_visit = traverse.visit
_children = traverse._children
_count = recipes._RECIPES["count"]
_facts_of = tree_facts.facts_of


def _star_under_a_predicate(nodes: Any, parents: Any, passes: Any, is_grouped: bool) -> Any:
    return _children(nodes, parents, passes if is_grouped else None, is_grouped)


def _without_null_nodes(opened: Any, conditions: Any, apart: Any) -> Any:
    skipped = dict(conditions)
    for number in apart:
        dimension = opened.dimensions[number]
        if dimension.has_null:
            passes = np.array(skipped.get(number, np.ones(dimension.size, bool)))
            passes[-1] = False
            skipped[number] = passes
    return _visit(opened, skipped, apart)


def _rows_of_the_tree(case: Any) -> Recipe:
    return _count(case) if case.asked else Recipe({"kind": "keep"})


def _no_nulls(definition: Any, segments: Any, *, raw: bool) -> Any:
    found = _facts_of(definition, segments, raw=raw)
    object.__setattr__(found, "without_nulls", frozenset(found.types))
    return found


def _patched(where: Any, name: str, what: Any) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: mock.patch.object(where, name, what)


IN_HOST: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "the star is used under a condition": _patched(traverse, "_children", _star_under_a_predicate),
    "the node of nulls is skipped": _patched(star_trees, "visit", _without_null_nodes),
    "rows of the tree are counted": lambda: mock.patch.dict(recipes._RECIPES, count=_rows_of_the_tree),
    "values are counted as rows are": _patched(star_trees, "_counts", lambda *_: False),
    "the size of a sketch is not looked at": _patched(
        recipes, "stored_name", lambda function, column, _: f"{function}({column}, 5)"
    ),
    "a sum of two measures forgets nulls": _patched(star_trees, "facts_of", _no_nulls),
}

_OF_SUM = "Sum(form(value, LongType)).toAggregateExpression(false, (e.filter.toSeq ++ present).reduceOption(And(_, _)))"
_PART = "part.transform { case a: Attribute => renamed.getOrElse(a.exprId, a) }"
IN_BRIDGE = {
    "a count of nothing is null": InBridge(f"Coalesce(Seq({_OF_SUM}, Literal(0L)))", _OF_SUM),
    "a condition that is left over is forgotten": InBridge("tested ++ always", "always"),
    "a star has to pass the condition itself": InBridge(
        f"Or(Not(EqualTo(BitwiseAnd(stars, Literal(bits)), Literal(0))), {_PART})", _PART
    ),
    "times the number of rows is forgotten": InBridge(
        "if (to == LongType) Multiply(e, count, EvalMode.LEGACY) else Multiply(e, Cast(count, DecimalType(20, 0), None))", "e"
    ),
    "greatest values are added up": InBridge(
        "own.copy(child = form(value, e.dataType)).toAggregateExpression(false, e.filter)",
        "sum(form(value, e.dataType))",
        before="""case ("max", own: Max) => """,
    ),
    "a filter of an aggregate is forgotten": InBridge(
        "Sum(of).toAggregateExpression(false, e.filter)",
        "Sum(of).toAggregateExpression(false, None)",
        before="def sum(of: Expression): Expression = ",
    ),
}


def faulty_source(text: str) -> str:
    """TreePlan.scala with all faults of the bridge in it, each behind a switch."""
    for name, fault in IN_BRIDGE.items():
        right = fault.before + fault.text
        assert text.count(right) == 1, f"{name}: {right} is there {text.count(right)} times"
        switched = f'(if (System.getProperty("{FAULT}") == "{name}") {fault.instead} else {fault.text})'
        text = text.replace(right, fault.before + switched)
    return text
