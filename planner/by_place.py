"""Operators that go by the place or the order of their rows: what a narrowed scan, whose tasks have other rows, must not feed.

A sample with a seed is the same as long as each task has the rows that it had, and the parts of `randomSplit`, which are queries of
their own, are disjoint. Spark promises it for a table that stays as it is, so it has to hold with filters too.
"""

from __future__ import annotations

from planner.expressions import Expression, OtherExpression, innermost
from planner.nodes import Exchange, Filter, OtherNode, Plan, PlanNode, Project
from planner.reasons import NOT_DETERMINISTIC, Refusal

# By name, of operators that have no kind of their own.
_TAKES_BY_PLACE = ("Sample",)
_TAKES_BY_ORDER = ("Limit", "TakeOrdered")
# input_file_block_start() and input_file_block_length(): Spark reads a narrowed file in parts of its own.
_FILE_PARTS = "input_file_block_"
_LONGEST_TEXT = 200


def refuse_by_place(plan: Plan, scan: int) -> Refusal | None:
    """Why the tasks of a scan must keep the rows that they have without a filter."""
    if scan not in plan.places:
        plan.places[scan] = _refusal(plan, scan)
    return plan.places[scan]


def _refusal(plan: Plan, scan: int) -> Refusal | None:
    for node in plan.ancestors(scan):
        if _takes_by_place(node):
            return Refusal(NOT_DETERMINISTIC, f"{node.op} above takes rows by their place, which a filter would change.")
        if _asks_for_file_parts(node):
            return Refusal(NOT_DETERMINISTIC, f"{node.op} above asks for the part of its file that a row is in.")
        unsteady = chance_in(plan, node.id) if isinstance(node, Exchange) and node.same is not None else None
        if unsteady is not None:
            what = f"{unsteady.op} is computed once for several uses"
            return Refusal(NOT_DETERMINISTIC, f"{what}, which would each get other rows of it if their filters came to differ.")
    return None


def chance_in(plan: Plan, source: int) -> PlanNode | None:
    """A node of a subtree that may do otherwise with the same rows when it runs a second time."""
    return next((node for node in plan.subtree(source) if _goes_by_chance(node)), None)


def _takes_by_place(node: PlanNode) -> bool:
    if isinstance(node, OtherNode):
        return any(name in node.op for name in _TAKES_BY_PLACE)
    return isinstance(node, Filter) and not node.condition.deterministic


def _goes_by_chance(node: PlanNode) -> bool:
    if isinstance(node, OtherNode):
        return not node.deterministic or any(name in node.op for name in (*_TAKES_BY_PLACE, *_TAKES_BY_ORDER))
    return any(not expression.deterministic for expression in node.expressions())


def _asks_for_file_parts(node: PlanNode) -> bool:
    return isinstance(node, Project) and any(not each.deterministic and _may_name_file_parts(each) for each in node.exprs)


def _may_name_file_parts(expression: Expression) -> bool:
    inner = innermost(expression)
    # A long text is cut off.
    return isinstance(inner, OtherExpression) and (_FILE_PARTS in inner.text or len(inner.text) >= _LONGEST_TEXT)
