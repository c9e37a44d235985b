"""Which columns of a node's output are equal in every row, because joins below made them so."""

from __future__ import annotations

from collections.abc import Mapping

from planner.plan import columns
from planner.plan.columns import KeyColumn
from planner.plan.expressions import Alias, Attribute
from planner.plan.join_types import join_type_name
from planner.plan.nodes import LEFT, REUSED_EXCHANGE, RIGHT, Exchange, Filter, Generate, Join, PlanNode, Project, Sort, Window
from planner.plan.tree import Plan

# By expression id: the smallest id of the columns that it is equal to, itself among them. Columns without an equal are left out.
Equalities = Mapping[int, int]

# Joins whose result has rows of one side only, or that side's rows unchanged.
_SIDE_KEPT = {"LeftSemi": LEFT, "LeftAnti": LEFT, "ExistenceJoin": LEFT, "LeftOuter": LEFT, "RightOuter": RIGHT}


def equal_columns(plan: Plan, node: int) -> Equalities:
    """The equalities that hold for all rows of a node."""
    known: dict[int, Equalities] = plan.found[__name__]
    # Without recursion: plans are deep. What a node needs is made before it.
    stack = [node]
    while stack:
        at = stack[-1]
        missing = [child for child in _sources(plan.nodes[at]) if child not in known]
        if missing:
            stack.extend(missing)
            continue
        if at not in known:
            known[at] = _made(plan, plan.nodes[at], known)
        stack.pop()
    return known[node]


def are_equal(equalities: Equalities, one: int, other: int) -> bool:
    return one == other or (one in equalities and equalities.get(one) == equalities.get(other))


def _sources(node: PlanNode) -> tuple[int, ...]:
    """The children whose equalities still hold above a node."""
    if isinstance(node, Join):
        name = join_type_name(node.join_type)
        if name in ("Inner", "Cross"):
            return node.children
        side = _SIDE_KEPT.get(name)
        return () if side is None else (node.child_of(side),)
    if isinstance(node, Filter | Sort | Project | Window | Generate) or (
        isinstance(node, Exchange) and node.kind != REUSED_EXCHANGE
    ):
        return node.children
    return ()


def _made(plan: Plan, node: PlanNode, known: Mapping[int, Equalities]) -> Equalities:
    below = [known[child] for child in _sources(node)]
    if isinstance(node, Join):
        return _joined(plan, node, below)
    if isinstance(node, Project):
        return _projected(node, below[0])
    return below[0] if below else {}


def _joined(plan: Plan, join: Join, below: list[Equalities]) -> Equalities:
    if len(below) < 2:
        return below[0] if below else {}
    # An id that both sides have means two columns: nothing can be said of it.
    if not plan.output_ids(join.left).isdisjoint(plan.output_ids(join.right)):
        return {}
    smallest = {**below[0], **below[1]}
    for left, right in zip(join.left_keys, join.right_keys, strict=True):
        one, two = columns.plain_column(left), columns.plain_column(right)
        if isinstance(one, KeyColumn) and isinstance(two, KeyColumn) and not one.keep_nulls and not two.keep_nulls:
            _unite(smallest, one.id, two.id)
    return smallest


def _unite(smallest: dict[int, int], one: int, two: int) -> None:
    merged = {smallest.get(one, one), smallest.get(two, two)}
    members = [id_ for id_, name in smallest.items() if name in merged]
    smallest.update(dict.fromkeys([*members, one, two], min(merged)))


def _projected(node: Project, below: Equalities) -> Equalities:
    """The classes of what is handed on, under the smallest id that each has now."""
    classes: dict[int, list[int]] = {}
    for expr in node.exprs:
        source = expr.child if isinstance(expr, Alias) else expr
        if isinstance(expr, Attribute | Alias) and isinstance(source, Attribute):
            classes.setdefault(below.get(source.id, source.id), []).append(expr.id)
    return {id_: min(ids) for ids in classes.values() if len(ids) > 1 for id_ in ids}
