"""Which part of a plan runs when: what materialises a build side, what runs in which stage, and who waits for whom."""

from __future__ import annotations

from typing import TypeAlias

from planner.plan.expressions import Alias, Attribute
from planner.plan.nodes import BROADCAST, BROADCAST_EXCHANGE, REUSED_EXCHANGE, Exchange, Join, PlanNode, Project, QueryStage, Sort
from planner.plan.tree import Plan

# A stage to be: the number of its exchange, or the name that equal exchanges share. The result has no exchange.
Unit: TypeAlias = int | tuple[str, int]
RESULT: Unit = -1

# By name: what may give other rows when a lost part of a shuffle is computed again, for its rows come in another order then. Users'
# functions of more than one row are among them: AggregateInPandas, ArrowAggregatePython, FlatMapGroupsInArrow and so on.
UNSTEADY_OPERATORS = (
    *("Limit", "Sample", "TakeOrdered", "Window"),
    *("InPandas", "InArrow", "AggregatePython", "MapPartitions", "MapGroups", "CoGroup", "ScriptTransformation"),
)


def source_of(plan: Plan, join: Join, side: str) -> int | None:
    """The node that materialises the `side` child of a join, None when the join reads it row by row.

    Only sorts and projections that rename columns may lie between.
    """
    at = join.child_of(side)
    while True:
        node = plan.nodes[at]
        if isinstance(node, Exchange | QueryStage):
            return at if _is_broadcast(plan, node) == (join.kind == BROADCAST) else None
        if not isinstance(node, Sort) and not (isinstance(node, Project) and is_plain(node)):
            return None
        at = node.children[0]


def is_plain(node: Project) -> bool:
    """Whether a projection only chooses and renames columns."""
    return all(
        isinstance(expr, Attribute) or (isinstance(expr, Alias) and isinstance(expr.child, Attribute)) for expr in node.exprs
    )


def _is_broadcast(plan: Plan, node: Exchange | QueryStage) -> bool | None:
    """Whether rows come as a broadcast; None for a stage that is neither broadcast nor shuffle."""
    if isinstance(node, QueryStage):
        return node.broadcast if node.broadcast != node.shuffle else None
    if node.kind == REUSED_EXCHANGE:
        original = plan.nodes[node.children[0]]
        return _is_broadcast(plan, original) if isinstance(original, Exchange | QueryStage) else None
    return node.kind == BROADCAST_EXCHANGE


def may_change_when_recomputed(plan: Plan, source: int) -> PlanNode | None:
    """A node of a shuffled build side that may give other rows when a lost part of the shuffle is computed again.

    A broadcast is collected once and kept, so nothing of it is ever computed again.
    """
    node = plan.nodes[source]
    if isinstance(node, Exchange | QueryStage) and _is_broadcast(plan, node):
        return None
    return next(
        (
            each
            for each in plan.subtree(source)
            if not plan.is_deterministic(each.id) or any(name in each.op for name in UNSTEADY_OPERATORS)
        ),
        None,
    )


def started_nodes(plan: Plan) -> frozenset[int]:
    """The nodes that are, or are part of, a stage that has started, or only repeat another exchange."""
    found: list[int] = []
    at = 0
    while at < len(plan.nodes):
        node = plan.nodes[at]
        if _is_settled(node):
            found += range(at, plan.ends[at])
            at = plan.ends[at]
        else:
            at += 1
    return frozenset(found)


def _is_settled(node: PlanNode) -> bool:
    return isinstance(node, QueryStage) or (isinstance(node, Exchange) and node.kind == REUSED_EXCHANGE)


def open_numbers(plan: Plan) -> tuple[int, ...]:
    """By node: how many of the nodes before it a stage that has started, or a repeated exchange, does not hide.

    In subtrees that produce the same data equal nodes are equally far from the top by these numbers. By their own they need not be:
    the stage of one may run what that of the other only repeats, which is one node more.
    """
    numbers: list[int] = []
    open_nodes, hidden_until = 0, 0
    for at, node in enumerate(plan.nodes):
        numbers.append(open_nodes)
        if at < hidden_until:
            continue
        open_nodes += 1
        if _is_settled(node):
            hidden_until = plan.ends[at]
    return tuple(numbers)


def unit_named(node: Exchange | QueryStage) -> Unit:
    return node.id if node.same is None else ("same", node.same)
