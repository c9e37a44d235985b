"""The `shape` of a line of the query log: what the query asked of each Parquet scan, and a digest that equal queries share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rtfilter.masking import without_secrets
from rtfilter.report import STATIC, FilterReport
from rtfilter.report_digest import digest_of
from rtfilter.shapes.conditions import without_literals
from rtfilter.shapes.scans import ScanShape, scan_shapes

# What changes from run to run, and is no part of the shape.
_CHANGING = ("literals", "packs_total", "packs_kept")


def query_shape(plans: Sequence[Sequence[Mapping[str, Any]]], filters: Sequence[FilterReport], literals: bool) -> dict[str, Any]:
    """The shape of a query with these plans; without literals where they are not wanted. Never raises: what can't be read is
    `partial`."""
    found: list[ScanShape] = []
    partial = False
    for nodes in plans:
        try:
            found += scan_shapes(nodes, literals)
        except Exception:  # a plan that nobody has met yet must cost no line of the log
            partial = True
    scans = [_told(each, filters, [other.table for other in found].count(each.table) == 1) for each in found]
    limit = next((node["limit"] for nodes in plans for node in nodes if type(node.get("limit")) is int), None)
    partial = partial or any(scan["partial"] for scan in scans)
    stable = [without_changing(scan) for scan in scans]
    return {"digest": _digest([stable, limit, partial]), "partial": partial, "limit": limit, "scans": scans}


def _told(scan: ScanShape, filters: Sequence[FilterReport], is_only_one: bool) -> dict[str, Any]:
    """`is_only_one`: no other scan has its name, by which reports tell conditions of the query itself."""
    own = [each for each in filters if each.strategy == STATIC and is_only_one and _is_of(each.probe, scan.table)]
    return {
        "table": scan.table,
        "path": None if scan.path is None else without_secrets(scan.path),
        "predicate": scan.condition,
        "partitions": scan.partitions,
        "joins": [_told_join(scan.table, *join, filters) for join in scan.joins],
        "group_keys": list(scan.group_keys),
        "aggregates": [
            {"function": function, "columns": list(columns), "distinct": distinct}
            for function, columns, distinct in scan.aggregates
        ],
        "rows": scan.rows,
        "columns": list(scan.columns),
        "partial": scan.partial,
        "literals": None if not scan.literals else digest_of(scan.literals),
        **_packs(own),
    }


def _is_of(probe: str, table: str) -> bool:
    return all(part == table or part.startswith(f"{table}.") for part in probe.split(", "))


def _told_join(table: str, column: str, other: str | None, kind: str, filters: Sequence[FilterReport]) -> dict[str, Any]:
    of_column = [each for each in filters if each.strategy != STATIC and each.probe == f"{table}.{column}"]
    own = [each for each in of_column if other in (None, each.build)]
    return {"column": column, "with": other, "type": kind, **_packs(own)}


def _packs(filters: Sequence[FilterReport]) -> dict[str, int]:
    """What the first of the filters left of its packs, as far as that is known."""
    for each in filters:
        if each.packs_total and each.packs_kept is not None and each.ran is not False:
            return {"packs_total": each.packs_total, "packs_kept": each.packs_kept}
    return {}


def without_changing(scan: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in scan.items() if key not in _CHANGING}
    kept["joins"] = [{key: value for key, value in join.items() if key not in _CHANGING} for join in scan["joins"]]
    return {key: without_literals(value) for key, value in kept.items()}


def _digest(stable: Any) -> str:
    return hashlib.blake2b(json.dumps(stable, sort_keys=True).encode(), digest_size=8).hexdigest()
