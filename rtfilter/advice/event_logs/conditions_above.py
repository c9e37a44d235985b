"""Columns that a query asks about above their scans: in conditions of joins, and in filters of what joins or aggregates return."""

from __future__ import annotations

from collections.abc import Iterator

from rtfilter.advice.event_logs.attributes import Attributes
from rtfilter.advice.event_logs.plan_tree import PlanNode
from rtfilter.advice.event_logs.queries import Key

# A filter over nothing but these and a scan is the scan's own.
_OF_SCAN = ("Project", "ColumnarToRow", "InputAdapter", "WholeStageCodegen", "Filter")


def asked_above(plan: PlanNode, attributes: Attributes) -> tuple[Key, ...]:
    """The columns of scans in such conditions, sorted."""
    found = {key for text in _conditions(plan) for key in attributes.origins(text)}
    return tuple(sorted(found, key=lambda key: (key.scan or 0, key.column)))


def _conditions(plan: PlanNode) -> Iterator[str]:
    stack = [plan]
    while stack:
        node = stack.pop()
        if node.is_repeated or node.name == "InMemoryTableScan":
            continue
        if node.name == "Filter" and not _is_of_scan(node):
            yield node.text
        elif node.name.endswith("Join"):
            # Behind both lists of keys, where there are any.
            yield node.text.split("]", 2)[-1] if node.is_join else node.text
        stack.extend(node.children)


def _is_of_scan(node: PlanNode) -> bool:
    while node.name.startswith(_OF_SCAN) and len(node.children) == 1:
        node = node.children[0]
    return node.is_scan
