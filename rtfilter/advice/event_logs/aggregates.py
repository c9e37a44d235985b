"""What a query groups by and what it computes of groups, from the aggregates of its plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rtfilter.advice.event_logs.plan_texts import Detail, attributes_in, bracketed, entries, is_cut
from rtfilter.advice.event_logs.plan_tree import PlanNode
from rtfilter.advice.event_logs.queries import Key

_FUNCTION = re.compile(r"(?:partial_|merge_|finalmerge_)?(\w+)\((distinct )?(.*)\)", re.DOTALL)
FUNCTIONS = ("count", "sum", "min", "max", "avg")
# Between the steps of one aggregation.
_BETWEEN = ("Exchange", "Sort", "AQEShuffleRead", "ShuffleQueryStage", "WholeStageCodegen", "InputAdapter", "ResultQueryStage")


@dataclass(frozen=True, slots=True)
class Grouping:
    """One aggregation. `aggregates`: function and columns. `plain`: whether it computes something else too. `is_cut`: whether more
    may stand in it than the log shows."""

    keys: tuple[Key, ...]
    aggregates: tuple[tuple[str, tuple[str, ...]], ...]
    plain: bool
    is_cut: bool


def groupings_of(plan: PlanNode, details: list[Detail], key: Callable[[str], Key]) -> list[Grouping]:
    """The aggregations of a plan, the uppermost first; those below subqueries and cached frames are left out."""
    return [_grouping(node, details, key) for node in _uppermost(plan)]


def _uppermost(plan: PlanNode) -> Iterator[PlanNode]:
    """Of each chain of aggregates, which are the steps of one aggregation, the last step."""
    stack = [(plan, False)]
    while stack:
        node, is_inside = stack.pop()
        if node.is_subquery or node.name == "InMemoryTableScan":
            continue
        if node.is_aggregate and not is_inside:
            yield node
        goes_on = node.is_aggregate or (is_inside and node.name.startswith(_BETWEEN))
        stack.extend((child, goes_on) for child in reversed(node.children))


def _grouping(node: PlanNode, details: list[Detail], key: Callable[[str], Key]) -> Grouping:
    keys, functions, cut = _lists(node, details)
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    plain = False
    for text in functions:
        match = _FUNCTION.fullmatch(text.strip())
        if match is None or match[1] not in FUNCTIONS or match[2]:
            plain = True
            continue
        columns = tuple(dict.fromkeys(key(f"{each.name}#{each.id}").column for each in attributes_in(match[3])))
        found[match[1], columns] = None
    return Grouping(tuple(map(key, keys)), tuple(found), plain, cut)


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
