"""The conditions of a query on a scan: which of them could reject a pack by columns that are known, and hide no error by it.

A condition is a JSON tree of docs/protocol.md ("Static predicates").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.plan.nodes import StaticCondition

Tree = Mapping[str, Any]


def columns_of(tree: Tree) -> frozenset[str]:
    """The columns that a condition speaks of."""
    own = {tree["column"]} if isinstance(tree.get("column"), str) else set()
    return frozenset(own.union(*(columns_of(part) for part in _parts(tree))))


def mentioned_in(tree: Tree) -> frozenset[str]:
    """The columns that a condition speaks of, in whatever form."""
    named = tree.get("columns")
    own = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set[str]()
    return columns_of(tree).union(own, *(mentioned_in(part) for part in _parts(tree)))


def could_reject(tree: Tree, covered: frozenset[str]) -> bool:
    """Whether knowing these columns is enough to find that a condition holds for no row."""
    op = tree.get("op")
    if op == "and":
        return any(could_reject(part, covered) for part in _parts(tree))
    if op == "or":
        return bool(_parts(tree)) and all(could_reject(part, covered) for part in _parts(tree))
    if op == "not":
        return _is_known(tree, covered)
    return tree.get("column") in covered


def _is_known(tree: Tree, covered: frozenset[str]) -> bool:
    parts = _parts(tree)
    return all(_is_known(part, covered) for part in parts) if parts else tree.get("column") in covered


def without_needless(conditions: Sequence[StaticCondition]) -> list[StaticCondition]:
    """Without IS NOT NULL, which Spark adds to every comparison, where something else is asked of the column."""
    compared = frozenset[str]().union(*(mentioned_in(each.test) for each in conditions if each.test.get("op") != "is_not_null"))
    return [each for each in conditions if each.test.get("op") != "is_not_null" or each.test.get("column") not in compared]


def needed(judged: Sequence[StaticCondition]) -> list[StaticCondition]:
    """The same of what is judged: there a column that a condition only mentions is not asked about."""
    compared = frozenset[str]().union(*(columns_of(each.test) for each in judged if each.test.get("op") != "is_not_null"))
    return [each for each in judged if each.test.get("op") != "is_not_null" or each.test.get("column") not in compared]


def that_hide_no_error(conditions: Sequence[StaticCondition]) -> list[StaticCondition]:
    """Those that a row fails before it reaches a condition that may raise: without the row there is no error less.

    Conditions are evaluated in their order, up to the first that is false. After one that is null Spark stops where it generates
    code for the whole filter, else it goes on: so the columns must have been found not to be null. Code for IS NOT NULL stands just
    before the column's next use, or last of all.
    """
    first = next((number for number, condition in enumerate(conditions) if condition.may_raise), None)
    if first is None:
        return list(conditions)
    before = conditions[:first]
    there = frozenset(str(each.test.get("column")) for each in before if each.test.get("op") == "is_not_null")
    return [each for each in before if each.test.get("op") != "is_not_null" and _is_never_null(each.test, there)]


def _is_never_null(tree: Tree, there: frozenset[str]) -> bool:
    """Whether a condition is true or false in rows in which the columns `there` are not null."""
    if tree.get("op") in ("is_null", "is_not_null", "same"):
        return True
    parts = _parts(tree)
    return all(_is_never_null(part, there) for part in parts) if parts else tree.get("column") in there


def _parts(tree: Tree) -> list[Tree]:
    parts = tree.get("args")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def asks_for_nulls_only(conditions: Sequence[StaticCondition]) -> bool:
    """Whether all that is asked is IS NOT NULL, which Spark adds to what it joins and compares by."""
    return all(condition.test.get("op") == "is_not_null" for condition in conditions)
