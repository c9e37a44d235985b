"""What the store takes for granted of Spark: the statistics that it writes, and how it reads a column as another type."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter.store.bounds.filters import EmptyFilter
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter
from tests.store.tables_at_hand import listing

WRITTEN = {
    "tinyint": "id",
    "smallint": "id",
    "int": "id",
    "bigint": "id",
    "boolean": "id % 2 = 0",
    "date": "date_add(date'2020-01-01', id::int)",
    "timestamp": "timestamp_micros(id)",
    "timestamp_ntz": "timestamp_micros(id)",
    "decimal(7,2)": "id",
    "decimal(18,3)": "id",
    "decimal(38,4)": "id - 5",
    "float": "id",
    "double": "id",
    "string": "id::string",
    "binary": "id::string",
}


def kept_columns(folder: Path, types: dict[str, str]) -> dict[str, bool]:
    """By column whether an empty filter keeps the folder's only pack: it does where the store knows nothing of it."""
    store = FooterStore()
    store.add_list("t", *listing(sorted(folder.glob("*.parquet"))))
    store.prefetch("t", types)
    verdict = store.verdict("t", [ColumnFilter(name, type, EmptyFilter()) for name, type in types.items()], wait_s=20.0)
    store.close()
    assert verdict is not None and verdict.packs_total == 1
    return {name: bool(keep[0]) for name, keep in zip(types, verdict.keep, strict=True)}


def test_the_store_knows_every_key_type_that_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    columns = [f"cast({value} as {type}) as c{number}" for number, (type, value) in enumerate(WRITTEN.items())]
    spark.range(1, 10, 1, 1).selectExpr(*columns).write.parquet(str(tmp_path / "t"))
    types = {f"c{number}": type for number, type in enumerate(WRITTEN)}
    assert kept_columns(tmp_path / "t", types) == dict.fromkeys(types, False)


def test_timestamps_as_spark_writes_them_by_default_are_not_known(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1, 10, 1, 1).selectExpr("timestamp_micros(id) as a").write.parquet(str(tmp_path / "t"))
    assert kept_columns(tmp_path / "t", {"a": "timestamp"}) == {"a": True}


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize(
    ("values", "type", "seen"),
    [
        (pa.array([1_000_001], pa.timestamp("us")), "timestamp", "unix_micros(a) = 1000001"),
        (pa.array([1001], pa.timestamp("ms")), "timestamp", "unix_micros(a) = 1001000"),
        (pa.array([1_000_001], pa.timestamp("us", "UTC")), "timestamp_ntz", "a = timestamp_ntz'1970-01-01 00:00:01.000001'"),
        (pa.array([1001], pa.timestamp("ms", "UTC")), "timestamp_ntz", "a = timestamp_ntz'1970-01-01 00:00:01.001'"),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), "decimal(9,3)", "a = 1.5"),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), "decimal(38,3)", "a = 1.5"),
        (pa.array([Decimal("-1.5")], pa.decimal128(22, 2)), "decimal(30,4)", "a = -1.5"),
        (pa.array([0.1], pa.float32()), "double", f"a = {float(np.float32(0.1))!r}D"),
        (pa.array([7], pa.int32()), "bigint", "a = 7"),
        (pa.array([2**32 - 1], pa.uint32()), "bigint", "a = 4294967295"),
        (pa.array([b"ab"], pa.binary(2)), "binary", "a = X'6162'"),
        (pa.array([datetime.date(2020, 1, 1)]), "date", "a = date'2020-01-01'"),
    ],
    ids=str,
)
def test_spark_sees_the_values_that_the_bounds_are_made_for(
    spark: SparkSession, tmp_path: Path, values: pa.Array, type: str, seen: str, vectorized: str
) -> None:
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    pq.write_table(pa.table({"a": values}), tmp_path / "t.parquet")
    # Computed on the value, not pushed down: pushed filters would be another reader's opinion.
    rows = spark.read.schema(f"a {type}").parquet(str(tmp_path)).selectExpr(seen).collect()
    assert [row[0] for row in rows] == [True]
    assert kept_columns(tmp_path, {"a": type}) == {"a": False}
