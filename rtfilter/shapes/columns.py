"""Which columns of which scans are in the columns of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.plan.expressions import Alias, Attribute, Expression, OtherExpression, innermost
from planner.plan.nodes import REUSED_EXCHANGE, Aggregate, Exchange, Expand, OtherNode, Project, Scan, Union
from planner.plan.tree import Plan

Raw = Mapping[str, Any]
# A scan's node and the name of its column.
Column = tuple[int, str]
NOTHING: frozenset[Column] = frozenset()


@dataclass(slots=True)
class Origins:
    """By expression id the columns that it is made of: `all`, and `plain` where it is such a column as it stands, or cast."""

    all: dict[int, frozenset[Column]] = field(default_factory=dict)
    plain: dict[int, frozenset[Column]] = field(default_factory=dict)

    def add(self, id_: int, found: frozenset[Column], plain: frozenset[Column]) -> None:
        self.all[id_] = self.all.get(id_, NOTHING) | found
        self.plain[id_] = self.plain.get(id_, NOTHING) | plain

    def of_ids(self, ids: Iterable[int]) -> frozenset[Column]:
        return frozenset(column for id_ in ids for column in self.all.get(id_, NOTHING))

    def of(self, expr: Expression) -> frozenset[Column]:
        return self.of_ids(refs(expr))

    def plain_of(self, expr: Expression) -> frozenset[Column]:
        inner = innermost(expr)
        return self.plain.get(inner.id, NOTHING) if isinstance(inner, Attribute) else NOTHING


def refs(expr: Expression) -> tuple[int, ...]:
    """The ids that an expression reads."""
    inner = innermost(expr)
    if isinstance(inner, Attribute):
        return (inner.id,)
    return inner.refs if isinstance(inner, OtherExpression) else refs(inner.child)


def origins_of(plan: Plan, raw: Sequence[Raw]) -> Origins:
    """Of a plan; `raw`: its nodes as the bridge has sent them. A subtree that runs once for several counts as the first of them."""
    found, first = Origins(), first_of_equals(plan)
    for node in reversed(plan.nodes):
        match node:
            case Scan():
                for column in node.columns:
                    own = frozenset(((first.get(node.id, node.id), column.name),))
                    found.add(column.id, own, own)
            case Project() | Aggregate():
                for expr in node.exprs if isinstance(node, Project) else node.results:
                    if isinstance(expr, Alias):
                        found.add(expr.id, found.of(expr.child), found.plain_of(expr.child))
            # The other use of an exchange has ids of its own, in the same order.
            case Union() | Exchange() if not isinstance(node, Exchange) or node.kind == REUSED_EXCHANGE:
                for child in node.children:
                    for id_, below in zip(node.output, plan.nodes[child].output, strict=False):
                        if id_ != below:
                            found.add(id_, found.all.get(below, NOTHING), found.plain.get(below, NOTHING))
            case Expand():
                for id_, ids in zip(node.output, raw[node.id].get("reads") or (), strict=False):
                    if id_ not in ids:
                        found.add(id_, found.of_ids(ids), NOTHING)
    return found


def first_of_equals(plan: Plan) -> dict[int, int]:
    """By node below an exchange that has its like before it in the plan: the same node there."""
    seen: dict[int, int] = {}
    found: dict[int, int] = {}
    for node in plan.nodes:
        if isinstance(node, Exchange) and node.kind != REUSED_EXCHANGE and node.same is not None:
            first = seen.setdefault(node.same, node.id)
            size = plan.ends[node.id] - node.id
            if first != node.id and plan.ends[first] - first == size:
                found.update({node.id + k: found.get(first + k, first + k) for k in range(size) if node.id + k not in found})
    return found


def scan_below(plan: Plan, node: int) -> Scan | None:
    """The scan right below a node, with nothing but changes of form between them."""
    at = plan.nodes[node]
    while isinstance(at, OtherNode) and len(at.children) == 1:
        at = plan.nodes[at.children[0]]
    return at if isinstance(at, Scan) else None


def aggregates_above(plan: Plan, node: int) -> Iterator[Aggregate]:
    """The aggregates above a node, nearest first."""
    return (above for above in plan.ancestors(node) if isinstance(above, Aggregate))
