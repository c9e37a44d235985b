"""What a star-tree on disk answers: sums over the rows of all its segments that a walk selects, by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.star_tree.base_rows import measured
from rtfilter.star_tree.measures import parse_measures
from rtfilter.star_tree.traverse import visit
from rtfilter.star_tree.tree_files import open_segment
from rtfilter.store.index_files.log import read_log
from rtfilter.store.index_files.storage import LocalStorage


def visited_rows(place: str, grouped: Sequence[int]) -> pa.Table:
    """The rows that a query without conditions reads, which groups by these dimensions."""
    storage = LocalStorage(place)
    snapshot = read_log(storage).tree
    assert snapshot is not None
    found = []
    for segment in snapshot.segments:
        opened = open_segment(storage, snapshot.definition, segment)
        rows = pa.concat_tables([pq.read_table(storage.local_file(file.name)) for file in segment.rows])
        numbers = [number for begin, end in visit(opened, {}, grouped).ranges.tolist() for number in range(begin, end)]
        # A column without nulls in a segment is counted as rows are.
        for name in measured(parse_measures(snapshot.definition.measures, snapshot.definition.types)):
            if f"count({name})" not in rows.column_names:
                rows = rows.append_column(f"count({name})", rows.column("count"))
        found.append(rows.take(pa.array(numbers, pa.int64())))
    return pa.concat_tables(found, promote_options="default")


def _without_zones(rows: pa.Table) -> pa.Table:
    """DuckDB needs another package to tell times with a zone."""
    fields = [pa.field(field.name, _plain(field.type)) for field in rows.schema]
    return rows.cast(pa.schema(fields))


def _plain(arrow_type: Any) -> Any:
    return pa.timestamp("us") if pa.types.is_timestamp(arrow_type) else arrow_type


def answered(place: str, grouped: Sequence[int], aggregates: Sequence[str]) -> list[tuple[Any, ...]]:
    """Groups with their aggregates (`sum("sum(x)")` and so on), in order."""
    connection = duckdb.connect()
    connection.register("rows", _without_zones(visited_rows(place, grouped)))
    keys = [f"d{number}" for number in grouped]
    by = f" group by {', '.join(keys)}" if keys else ""
    return sorted(connection.execute(f"select {', '.join([*keys, *aggregates])} from rows{by}").fetchall(), key=str)
