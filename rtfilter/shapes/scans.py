"""The shape of each scan of a plan: conditions, join keys, group keys, aggregates, columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.plan.nodes import Aggregate, Filter, Join, Scan
from planner.plan.snapshot import parse_snapshot
from planner.plan.tree import Plan
from rtfilter.shapes.columns import Column, Origins, aggregates_above, first_of_equals, origins_of, scan_below
from rtfilter.shapes.conditions import all_told, told

Raw = Mapping[str, Any]
PARQUET = "ParquetFileFormat"
# Aggregates run in steps; these begin and these end them.
_BEGINS = frozenset(("Partial", "Complete"))
_ENDS = frozenset(("Final", "Complete"))


@dataclass(slots=True)
class ScanShape:
    """What a query asks of one scan. `joins`: as (column, other side, type); `rows`: whether its rows come out as they are, of no
    aggregate; `partial`: more is asked of its rows than stands here."""

    table: str
    path: str | None
    condition: dict[str, Any] | None
    partitions: dict[str, Any] | None
    columns: tuple[str, ...]
    literals: str | None
    joins: dict[tuple[str, str | None, str], None] = field(default_factory=dict)
    group_keys: dict[str, None] = field(default_factory=dict)
    aggregates: dict[tuple[str, tuple[str, ...], bool], None] = field(default_factory=dict)
    rows: bool = False
    partial: bool = False


def scan_shapes(raw: Sequence[Raw], literals: bool) -> list[ScanShape]:
    """The shapes of a plan's Parquet scans, in its order; one that runs once for several stands once.

    Raises:
        SnapshotError: the nodes are not as docs/protocol.md has them.
    """
    plan = parse_snapshot(raw)
    origins, again = origins_of(plan, raw), first_of_equals(plan)
    scans = {each.id: each for each in plan.scans() if each.format == PARQUET and each.id not in again}
    joins = {node: dict.fromkeys(_joins(plan, origins, node)) for node in scans}
    above = frozenset(_asked_above(plan, origins))
    never_null = {node: frozenset([key[0] for key in joins[node]] + [name for at, name in above if at == node]) for node in scans}
    found = {node: _begun(scan, raw[node], never_null[node], literals) for node, scan in scans.items()}
    for node, shape in found.items():
        shape.joins = joins[node]
        shape.rows = next(aggregates_above(plan, node), None) is None
    for aggregate in (node for node in plan.nodes if isinstance(node, Aggregate)):
        _add_aggregate(plan, origins, aggregate, raw, found)
    for node, _ in above:
        if node in found:
            found[node].partial = True
    return list(found.values())


def _begun(scan: Scan, raw: Raw, never_null: frozenset[str], literals: bool) -> ScanShape:
    asked, of_partitions = raw.get("asked") or (), raw.get("of_partitions") or ()
    conditions = [told(test, literals) for test in asked]
    on_partitions = [told(test, literals) for test in of_partitions]
    return ScanShape(
        table=scan.table,
        path=_common_root(scan.roots),
        condition=all_told((each for each in conditions if each is not None), never_null),
        partitions=all_told((each for each in on_partitions if each is not None), frozenset()),
        columns=tuple(sorted({column.name for column in scan.columns if not column.partition})),
        literals=scan.literals,
        partial="asked" not in raw or None in conditions or any(test.get("subquery") for test in (*asked, *of_partitions)),
    )


def _common_root(roots: Sequence[str]) -> str | None:
    """The folder of all roots, as Hadoop's text."""
    if len(roots) < 2:
        return roots[0] if roots else None
    shared: list[str] = []
    for parts in zip(*(root.split("/") for root in roots), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) or None


def _joins(plan: Plan, origins: Origins, scan: int) -> Iterator[tuple[str, str | None, str]]:
    """The scan's columns that are keys of joins, each with the column on the other side, if it is one, and the type of join."""
    for join in (node for node in plan.nodes if isinstance(node, Join)):
        for pair in zip(join.left_keys, join.right_keys, strict=True):
            for own, other in (pair, reversed(pair)):
                sides = origins.plain_of(other)
                named = {f"{plan.scan(node).table}.{name}" for node, name in sides}
                for node, name in sorted(origins.plain_of(own)):
                    if node == scan:
                        yield name, named.pop() if len(named) == 1 else None, join.join_type


def _add_aggregate(plan: Plan, origins: Origins, node: Aggregate, raw: Sequence[Raw], found: Mapping[int, ScanShape]) -> None:
    functions = raw[node.id].get("aggregates") or ()
    modes = {each["mode"] for each in functions}
    if modes <= _ENDS and not (not functions and _is_for_distinct(plan, node, raw)):
        for scan, name in sorted(column for key in node.grouping for column in origins.of(key)):
            if scan in found:
                found[scan].group_keys[name] = None
    for each in functions:
        if each["mode"] not in _BEGINS:
            continue
        columns = origins.of_ids(each["refs"])
        for scan, shape in found.items():
            own = tuple(sorted(name for at, name in columns if at == scan))
            nearest = next(aggregates_above(plan, scan), None)
            if own or (not each["refs"] and nearest is node):
                shape.aggregates[each["function"], own, bool(each["distinct"])] = None


def _is_for_distinct(plan: Plan, node: Aggregate, raw: Sequence[Raw]) -> bool:
    """Whether an aggregate without functions only takes doubles out, for an aggregate of distinct values right above it."""
    for above in plan.ancestors(node.id):
        if len(above.children) > 1 or isinstance(above, Filter):
            return False
        functions = raw[above.id].get("aggregates") or ()
        if any(each["distinct"] for each in functions):
            return True
    return False


def _asked_above(plan: Plan, origins: Origins) -> Iterator[Column]:
    """The columns of scans about which a condition asks that is not the scan's own: of a join, or of a filter further above."""
    for node in plan.nodes:
        condition = node.condition if isinstance(node, Join | Filter) else None
        if condition is not None and not (isinstance(node, Filter) and scan_below(plan, node.children[0]) is not None):
            yield from origins.of(condition)
