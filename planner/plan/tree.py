"""A whole plan, and what can be looked up in it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.plan.expressions import Alias, Attribute
from planner.plan.nodes import WRAPPERS, Aggregate, Exchange, Join, OtherNode, PlanNode, Project, QueryStage, Scan


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole plan in preorder: `nodes[i].id == i`, the root is 0, and a subtree is a run of numbers.

    Many keys are followed through the same nodes, so what a node produces is looked up in tables made at the first look.
    """

    nodes: tuple[PlanNode, ...]
    # ends[i]: the number after the last node below i; parents[0] is -1.
    ends: tuple[int, ...]
    parents: tuple[int, ...]
    # What others have found in the plan, so that it is looked up once: by the name of their file (`__name__`), a table of its own.
    found: dict[str, dict[Any, Any]] = field(default_factory=lambda: defaultdict(dict), compare=False, repr=False)
    _types: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    _outputs: dict[int, frozenset[int]] = field(default_factory=dict, compare=False, repr=False)
    _named: dict[int, Mapping[int, Attribute | Alias]] = field(default_factory=dict, compare=False, repr=False)
    _steady: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    _raising: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    _raising_ids: list[tuple[int, ...]] = field(default_factory=list, compare=False, repr=False)

    def scan(self, number: int) -> Scan:
        """The node of this number, which is a scan."""
        node = self.nodes[number]
        assert isinstance(node, Scan), f"node {number} is a scan"
        return node

    def join(self, number: int) -> Join:
        """The node of this number, which is a join."""
        node = self.nodes[number]
        assert isinstance(node, Join), f"node {number} is a join"
        return node

    def source(self, number: int) -> Exchange | QueryStage:
        """The node of this number, which materialises a build side."""
        node = self.nodes[number]
        assert isinstance(node, Exchange | QueryStage), f"node {number} is an exchange or a stage"
        return node

    def scans(self) -> Iterator[Scan]:
        """All scans, in preorder."""
        return (node for node in self.nodes if isinstance(node, Scan))

    def column_types(self) -> Mapping[int, str]:
        """The types of all columns that scans put out, by expression id; copies of a scan that share ids share types."""
        if not self._types:
            self._types.update({column.id: column.type for node in self.nodes if isinstance(node, Scan) for column in node.columns})
        return self._types

    def output_ids(self, node: int) -> frozenset[int]:
        """The ids of the columns that a node hands on."""
        output = self._outputs.get(node)
        if output is None:
            output = self._outputs[node] = frozenset(self.nodes[node].output)
        return output

    def has_output(self, node: int, id: int) -> bool:
        """Whether a node hands on a column of this id."""
        return id in self.output_ids(node)

    def named(self, node: Project | Aggregate) -> Mapping[int, Attribute | Alias]:
        """What a projection or an aggregate puts out, by id."""
        found = self._named.get(node.id)
        if found is None:
            exprs = node.exprs if isinstance(node, Project) else node.results
            found = {expr.id: expr for expr in reversed(exprs) if isinstance(expr, Attribute | Alias)}
            self._named[node.id] = found
        return found

    def is_deterministic(self, node: int) -> bool:
        """Whether a node does the same with the same row every time."""
        known = self._steady.get(node)
        if known is None:
            at = self.nodes[node]
            known = self._steady[node] = (
                at.deterministic and at.by_place is None and all(expr.deterministic for expr in at.expressions())
            )
        return known

    def may_raise(self, node: int) -> bool:
        """Whether a row can make a node fail."""
        known = self._raising.get(node)
        if known is None:
            at = self.nodes[node]
            known = self._raising[node] = at.may_raise or any(expr.may_raise for expr in (*at.moved, *at.expressions()))
        return known

    def raising_below(self, node: int) -> Iterator[PlanNode]:
        """The nodes of a subtree that a row can make fail and that have not run."""
        if not self._raising_ids:
            run = [
                range(stage.id, self.ends[stage.id]) for stage in self.nodes if isinstance(stage, QueryStage) and stage.materialized
            ]
            over = {id_ for each in run for id_ in each}
            self._raising_ids.append(tuple(each.id for each in self.nodes if each.id not in over and self.may_raise(each.id)))
        ids = self._raising_ids[0]
        return (self.nodes[each] for each in ids[bisect_left(ids, node) : bisect_left(ids, self.ends[node])])

    def subtree(self, node: int) -> Iterator[PlanNode]:
        """A node and all below it, in preorder."""
        return iter(self.nodes[node : self.ends[node]])

    def is_below(self, node: int, above: int) -> bool:
        """Whether `node` is `above` or below it."""
        return above <= node < self.ends[above]

    def below_wrappers(self, node: int) -> PlanNode:
        """A node, or the first one below it that says something of rows."""
        at = self.nodes[node]
        while isinstance(at, OtherNode) and at.op.startswith(WRAPPERS) and len(at.children) == 1:
            at = self.nodes[at.children[0]]
        return at

    def ancestors(self, node: int) -> Iterator[PlanNode]:
        """The nodes above a node, nearest first."""
        at = self.parents[node]
        while at >= 0:
            yield self.nodes[at]
            at = self.parents[at]
