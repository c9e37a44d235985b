"""What a query's closing ORDER BY … LIMIT says: how many rows, and by which output columns they are chosen."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rtfilter.bench.suites.duckdb_generators import import_duckdb

CLOSING_LIMIT = re.compile(r"\bLIMIT\s+(\d+)\s*;?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class TopRows:
    """The query keeps its first `limit` rows by these output columns (0 is the first). Sort keys that are no output column are
    left out, so rows that count as tied here may not be; the other way round never."""

    limit: int
    columns: tuple[int, ...]


def without_limit(sql: str) -> str:
    """The same query with all its rows, in the same order."""
    return CLOSING_LIMIT.sub("", sql).rstrip()


def top_rows(sql: str, output: Sequence[str]) -> TopRows | None:
    """The closing ORDER BY … LIMIT of a query in DuckDB's dialect whose columns are named `output`; None without one, or when
    DuckDB cannot parse the text."""
    limit = CLOSING_LIMIT.search(sql)
    if limit is None:
        return None
    row = import_duckdb().execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    parsed = json.loads(row[0])
    if parsed["error"]:
        return None
    node = parsed["statements"][0]["node"]
    orders = [order for modifier in node["modifiers"] for order in modifier.get("orders", ())]
    selected = [_shape(item) for item in node.get("select_list", ())]
    found = {_output_column(order["expression"], output, selected) for order in orders}
    return TopRows(int(limit.group(1)), tuple(sorted(column for column in found if column is not None)))


def _output_column(expression: Mapping[str, Any], output: Sequence[str], selected: Sequence[object]) -> int | None:
    """Where an ORDER BY term stands among the output: named, numbered, or written out once more."""
    if expression["class"] == "CONSTANT" and isinstance(position := expression["value"].get("value"), int):
        return position - 1
    if expression["class"] == "COLUMN_REF":
        name = expression["column_names"][-1].lower()
        named = [place for place, column in enumerate(output) if column.lower() == name]
        if len(named) == 1:
            return named[0]
    # With a `*` among them the items do not stand where their columns do.
    if len(selected) == len(output) and (shape := _shape(expression)) in selected:
        return selected.index(shape)
    return None


def _shape(node: Any) -> object:
    """An expression without its place in the text and its alias."""
    if isinstance(node, dict):
        return {key: _shape(value) for key, value in node.items() if key not in ("query_location", "alias")}
    return [_shape(item) for item in node] if isinstance(node, list) else node
