"""A query with the layer, without it, and in DuckDB: the same rows."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.star_tree_answers.aggregates import Aggregate

Rows = list[tuple[Any, ...]]


def spark_rows(spark: SparkSession, sql: str, *, layer: bool) -> Rows | str:
    """Its rows in order, or the condition of the error that it fails with."""
    spark.conf.set("rtfilter.enabled", layer)
    try:
        return ordered([tuple(map(plain, row)) for row in spark.sql(sql).collect()])
    except PySparkException as error:
        return str(error.getCondition())


def decided(spark: SparkSession) -> list[dict[str, Any]]:
    """What the latest query's report has of star-trees; nothing where the query ended before it was planned."""
    record = jvm.last_record(spark) or {}
    if record.get("idle") == "LAYER_OFF":
        return []
    return [entry for decision in record.get("decisions") or () for entry in decision.get("star_trees") or ()]


def plain(cell: Any) -> Any:
    """A value that equals itself: NaN is a text, -0.0 is 0.0."""
    if isinstance(cell, float):
        return "NaN" if math.isnan(cell) else cell + 0.0
    if isinstance(cell, datetime.datetime):
        return cell.replace(tzinfo=None)
    return cell


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=repr)


def duckdb_rows(sql: str, tables: dict[str, str | Path]) -> Rows:
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    for name, path in tables.items():
        moments = " replace (moment::timestamp as moment)" if name == "fact" else ""
        connection.execute(f"create view {name} as select *{moments} from read_parquet('{path}')")
    sql = sql.replace("left semi join", "semi join").replace("left anti join", "anti join")
    return ordered([tuple(map(plain, row)) for row in connection.execute(sql).fetchall()])


def same_as_duckdb(found: Rows, other: Rows, query: Aggregate) -> bool:
    """Spark and DuckDB differ in the types of averages, and in what becomes of a sum that leaves a bigint."""
    if len(found) != len(other):
        return False
    mine, its = (sorted((_rounded(row, query) for row in rows), key=repr) for rows in (found, other))
    return all(_close(a, b) for one, two in zip(mine, its, strict=True) for a, b in zip(one, two, strict=True))


def _rounded(row: tuple[Any, ...], query: Aggregate) -> tuple[Any, ...]:
    cells = list(row)
    for place in query.sums:
        cells[place] = None if cells[place] is None else int(cells[place]) % 2**64
    for place in query.open:
        cells[place] = None
    for place in query.near:
        cells[place] = None if cells[place] is None else float(f"{float(cells[place]):.8g}")
    return tuple(float(cell) if isinstance(cell, Decimal) else cell for cell in cells)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return bool(one == other)
