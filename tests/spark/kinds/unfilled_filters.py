"""Filters that were planned and never filled, although their join and their scan are in the plan that ran."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtfilter.report import FilterReport

_NODE = re.compile(r"^((?:[: ]  )*(?:[:+]- )?)(?:\*\(\d+\) )?(.*)$")


def lost_filter(filters: Sequence[FilterReport], plan: str, first: str) -> str:
    """A sentence about one of them; empty if there is none.

    `plan` is the tree of the plan that ran, as Spark prints it, `first` that of the plan before any stage had run. Only where a
    table is scanned once in both can a report be told to be of that scan.
    """
    for each in filters:
        build, probe = each.build.partition(".")[0], each.probe.partition(".")[0]
        once = all(sum(_scans(_node(line)[1], name) for line in first.splitlines()) == 1 for name in (build, probe))
        if each.reason == "NOT_FILLED" and once and _has_place(plan, build, probe):
            return f"lost filter: {each.id} {each.build} -> {each.probe}"
    return ""


def _has_place(plan: str, build: str, probe: str) -> bool:
    """Whether a join of the two tables is there, with no broadcast between it and the probe's scan.

    A probe side that adaptive execution came to broadcast is a build side, and has run by then.
    """
    nodes = [_node(line) for line in plan.splitlines()]
    scans = {name: [number for number, (_, text) in enumerate(nodes) if _scans(text, name)] for name in (build, probe)}
    if build == probe or len(scans[build]) != 1 or len(scans[probe]) != 1:
        return False
    above = {name: _ancestors(nodes, numbers[0]) for name, numbers in scans.items()}
    for number in above[probe]:
        if number in above[build]:
            return "Join" in nodes[number][1]
        if nodes[number][1].startswith(("BroadcastQueryStage", "BroadcastExchange")):
            return False
    return False


def _node(line: str) -> tuple[int, str]:
    """Depth and text of a line of a plan's tree."""
    found = _NODE.match(line)
    return (len(found.group(1)), found.group(2)) if found else (0, line)


def _scans(text: str, table: str) -> bool:
    return text.startswith("FileScan") and re.search(rf"/{re.escape(table)}\]", text) is not None


def _ancestors(nodes: Sequence[tuple[int, str]], number: int) -> list[int]:
    """The nodes above one, the nearest first."""
    found, depth = [], nodes[number][0]
    for above in range(number - 1, -1, -1):
        if nodes[above][0] < depth:
            found.append(above)
            depth = nodes[above][0]
    return found
