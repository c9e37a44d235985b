"""What a query groups by and what it computes of groups, from the aggregates of its plan.

An aggregation runs in steps. Those that begin it name their functions `partial_sum(...)`, those that end it `sum(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rtfilter.advice.event_logs.attributes import Attributes
from rtfilter.advice.event_logs.plan_texts import Detail, bracketed, entries, is_cut
from rtfilter.advice.event_logs.plan_tree import PlanNode
from rtfilter.advice.event_logs.queries import Key

_FUNCTION = re.compile(r"(partial_|merge_|finalmerge_)?(\w+)\((distinct )?(.*)\)(?: FILTER .*)?", re.DOTALL)
_ATTRIBUTE_ID = re.compile(r"#\d+")
_PASSED = ("Exchange", "Sort", "AQEShuffleRead", "ShuffleQueryStage", "WholeStageCodegen", "InputAdapter", "Project")


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`functions`: as (name, columns of one scan), sorted. `plain`: whether rows come out that no aggregate has made, or distinct
    values are asked for. `is_cut`: whether more may stand in it than the log shows."""

    keys: tuple[Key, ...]
    functions: tuple[tuple[str, tuple[str, ...]], ...]
    plain: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Step:
    node: PlanNode
    keys: tuple[str, ...]
    functions: tuple[tuple[str, str, bool, str], ...]
    is_cut: bool

    @property
    def begins(self) -> bool:
        return any(mode == "partial_" for mode, *_ in self.functions)

    @property
    def ends(self) -> bool:
        return all(mode == "" for mode, *_ in self.functions)

    @property
    def is_distinct(self) -> bool:
        return any(distinct for _, _, distinct, _ in self.functions)


def aggregation_of(plan: PlanNode, details: list[Detail], attributes: Attributes) -> Aggregation:
    """What all aggregates of a plan together ask; those of cached frames are left out."""
    steps = [(_step(node, details), above) for node, above in _aggregates(plan)]
    keys: dict[Key, None] = {}
    functions: set[tuple[str, tuple[str, ...]]] = set()
    for step, above in steps:
        if step.ends and not (not step.functions and above is not None and _step(above, details).is_distinct):
            keys |= dict.fromkeys(origin for key in step.keys for origin in attributes.origins(key))
        if step.begins or (step.ends and step.functions and not _is_step_of_another(step.node)):
            for _, name, _, argument in step.functions:
                functions |= {(name, columns) for columns in _columns_by_scan(argument, attributes)}
    return Aggregation(
        keys=tuple(keys),
        functions=tuple(sorted(functions)),
        plain=any(step.is_distinct for step, _ in steps) or _has_plain_scan(plan),
        is_cut=any(step.is_cut for step, _ in steps),
    )


def _columns_by_scan(argument: str, attributes: Attributes) -> list[tuple[str, ...]]:
    """The columns of an argument, those of each scan by themselves; one empty tuple for one that names none, as of count(1).

    What is computed of another aggregate's results has no columns of a scan, and gives nothing.
    """
    by_scan: dict[int | None, set[str]] = {}
    for origin in attributes.origins(argument):
        by_scan.setdefault(origin.scan, set()).add(origin.column)
    found = [tuple(sorted(columns)) for columns in by_scan.values()]
    return found if found or _ATTRIBUTE_ID.search(argument) else [()]


def _aggregates(plan: PlanNode) -> Iterator[tuple[PlanNode, PlanNode | None]]:
    """Each aggregate, and the one right above it."""
    stack: list[tuple[PlanNode, PlanNode | None]] = [(plan, None)]
    while stack:
        node, above = stack.pop()
        if node.is_repeated or node.name == "InMemoryTableScan":
            continue
        if node.is_aggregate:
            yield node, above
            above = node
        elif not node.name.startswith(_PASSED):
            above = None
        stack.extend((child, above) for child in reversed(node.children))


def _is_step_of_another(node: PlanNode) -> bool:
    """Whether another aggregate stands right below: this one ends what that one begins."""
    below = node
    while len(below.children) == 1:
        below = below.children[0]
        if below.is_aggregate:
            return True
        if not below.name.startswith(_PASSED):
            return False
    return False


def _has_plain_scan(plan: PlanNode) -> bool:
    """Whether rows of a scan come out as they are, of no aggregate."""
    stack = [plan]
    while stack:
        node = stack.pop()
        if node.is_scan and node.metadata:
            return True
        if not node.is_aggregate and not node.is_repeated:
            stack.extend(node.children)
    return False


def _step(node: PlanNode, details: list[Detail]) -> _Step:
    keys, functions, cut = _lists(node, details)
    read = [match for text in functions if (match := _FUNCTION.fullmatch(text.strip())) is not None]
    return _Step(node, keys, tuple((each[1] or "", each[2], bool(each[3]), each[4]) for each in read), cut)


def _lists(node: PlanNode, details: list[Detail]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Keys and functions; out of the text of the plan where the node's own is cut."""
    lists = [entries(text) for text in bracketed(node.text)[:2]]
    keys, functions = (lists[0], lists[1]) if len(lists) == 2 else ((), ())
    if len(lists) == 2 and not is_cut(node.text):
        return keys, functions, False
    for detail in details:
        if detail.operator == node.name and _begins(detail, keys, functions):
            return detail.list_of("Keys") or (), detail.list_of("Functions") or (), False
    return _whole(keys), _whole(functions), True


def _begins(detail: Detail, keys: tuple[str, ...], functions: tuple[str, ...]) -> bool:
    whole = (detail.list_of("Keys") or (), detail.list_of("Functions") or ())
    return bool(whole[0] or whole[1]) and all(
        found[: len(_whole(shown))] == _whole(shown) for found, shown in zip(whole, (keys, functions), strict=True)
    )


def _whole(listed: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in listed if not is_cut(each))
