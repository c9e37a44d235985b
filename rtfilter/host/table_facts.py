"""A plan with what the footers of its tables said in earlier queries, where the catalog says nothing."""

from __future__ import annotations

from dataclasses import replace

from planner.plan.nodes import Scan, ScanColumn
from planner.plan.tree import Plan
from rtfilter.store.tables.remembered_counts import SeenTables, TableFacts


def with_table_facts(plan: Plan, seen: SeenTables) -> Plan:
    """The plan whose scans know rows and distinct values; the plan itself when nothing is to be added."""
    known = {scan.id: facts for scan in plan.scans() if (facts := _facts(scan, seen)) is not None}
    if not known:
        return plan
    nodes = [_with_facts(node, known[node.id]) if isinstance(node, Scan) and node.id in known else node for node in plan.nodes]
    return replace(plan, nodes=tuple(nodes))


def _facts(scan: Scan, seen: SeenTables) -> TableFacts | None:
    return None if scan.bytes is None else seen.facts(scan.roots, scan.bytes)


def _with_facts(scan: Scan, facts: TableFacts) -> Scan:
    columns = tuple(_with_distinct(column, facts) for column in scan.columns)
    return replace(scan, rows=facts.rows if scan.rows is None else scan.rows, columns=columns)


def _with_distinct(column: ScanColumn, facts: TableFacts) -> ScanColumn:
    known = facts.distinct.get(column.name.lower())
    return column if known is None or column.distinct is not None else replace(column, distinct=known)
