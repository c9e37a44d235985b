"""The plan of a query as an event holds it (sparkPlanInfo)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rtfilter.advice.event_files.events import whole_number

ROWS, SCAN_TIME = "number of output rows", "scan time"
_SUBQUERIES = ("Subquery", "ReusedSubquery")


@dataclass(slots=True)
class PlanNode:
    """One operator. `metrics`: accumulators by the metric's name. `text` may be cut, `metadata` never is."""

    name: str
    text: str
    metadata: dict[str, str]
    metrics: dict[str, int]
    children: list[PlanNode] = field(default_factory=list)

    @property
    def is_subquery(self) -> bool:
        return self.name.startswith(_SUBQUERIES)

    @property
    def is_repeated(self) -> bool:
        """Whether what is below stands elsewhere in the plan as well: it is there for dynamic partition pruning, or taken again."""
        return self.name.startswith(("SubqueryBroadcast", "SubqueryAdaptiveBroadcast", "ReusedSubquery"))

    @property
    def is_scan(self) -> bool:
        return not self.is_subquery and (self.name.startswith(("Scan ", "BatchScan ")) and bool(self.name))

    @property
    def is_join(self) -> bool:
        return self.name in ("BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin")

    @property
    def is_aggregate(self) -> bool:
        return self.name.endswith("Aggregate")

    def below(self) -> Iterator[PlanNode]:
        """This node and all below it, in preorder."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


def plan_of(content: Any) -> PlanNode | None:
    """A plan out of an event; None where the event has none."""
    if not isinstance(content, dict):
        return None
    top = _node(content)
    stack = [(content, top)]
    while stack:
        given, node = stack.pop()
        children = given.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, dict):
                made = _node(child)
                node.children.append(made)
                stack.append((child, made))
    return top


def _node(content: dict[str, Any]) -> PlanNode:
    metadata = content.get("metadata")
    metrics: dict[str, int] = {}
    listed = content.get("metrics")
    for each in listed if isinstance(listed, list) else ():
        number = whole_number(each.get("accumulatorId")) if isinstance(each, dict) else None
        if number is not None and isinstance(each.get("name"), str):
            metrics[each["name"]] = number
    return PlanNode(
        name=str(content.get("nodeName", "")),
        text=str(content.get("simpleString", "")),
        metadata={key: value for key, value in metadata.items() if isinstance(value, str)} if isinstance(metadata, dict) else {},
        metrics=metrics,
    )
