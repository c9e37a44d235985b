"""Columns whose names can be taken for another's: with a dot beside a group's field, or with the same letters in another case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index, MinMax
from rtfilter.bridge import jvm
from tests.spark.cases import collected

FILES, PACKS, PACK_ROWS = 4, 4, 25

Wrapped = Callable[[int], dict[str, Any]]
# The column's name, and a group with its type and its value: one of the group's leaves has the column's name for its dotted path.
ALIKE: dict[str, tuple[str, str, pa.DataType, Wrapped]] = {
    "field of a struct": ("a.b", "a", pa.struct([("b", pa.int64())]), lambda x: {"b": x}),
    "two groups deep": ("a.b.c", "a", pa.struct([("b", pa.struct([("c", pa.int64())]))]), lambda x: {"b": {"c": x}}),
    "dot in the field": ("a.b.c", "a", pa.struct([("b.c", pa.int64())]), lambda x: {"b.c": x}),
    "dot in the group": ("a.b.c", "a.b", pa.struct([("c", pa.int64())]), lambda x: {"c": x}),
}


def write_pair(folder: Path, column: str, group: str, group_type: pa.DataType, wrapped: Wrapped, column_first: bool) -> None:
    """A pack's 25 rows have its number in the column, and something that is no key at all in the group's field."""
    folder.mkdir()
    for file in range(FILES):
        numbers = [file * PACKS + row // PACK_ROWS for row in range(PACKS * PACK_ROWS)]
        columns = {column: pa.array(numbers, pa.int64()), group: pa.array([wrapped(1_000_000) for _ in numbers], group_type)}
        names = [column, group] if column_first else [group, column]
        table = pa.table({**{name: columns[name] for name in names}, "v": pa.array(numbers)})
        pq.write_table(table, folder / f"{file}.parquet", row_group_size=PACK_ROWS)


@pytest.mark.parametrize("column_first", [True, False], ids=["column first", "group first"])
@pytest.mark.parametrize("alike", ALIKE.values(), ids=list(ALIKE))
def test_a_join_asks_no_other_leafs_dictionary(
    spark: SparkSession, tmp_path: Path, alike: tuple[str, str, pa.DataType, Wrapped], column_first: bool
) -> None:
    write_pair(tmp_path / "t", *alike, column_first)
    spark.conf.set("rtfilter.cost", "always")
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("alike")
    on_equals_off(spark, f"select v, id from alike join dim on `{alike[0]}` = id where name in ('n5', 'n13')", packs_kept=2)


def test_an_index_holds_the_column_and_not_the_field(spark: SparkSession, tmp_path: Path) -> None:
    write_pair(tmp_path / "t", *ALIKE["field of a struct"], True)
    Index.create(spark, str(tmp_path / "t"), [MinMax("a.b"), Bloom("a.b")], name="dotted")
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("alike")
    on_equals_off(spark, "select v, `a.b` from alike where `a.b` in (5, 13)", packs_kept=2)
    # The struct's field has no index, and the column's is not taken for it.
    spark.conf.set("rtfilter.enabled", True)
    assert spark.sql("select v from alike where a.b = 1000000").count() == FILES * PACKS * PACK_ROWS


def on_equals_off(spark: SparkSession, sql: str, packs_kept: int) -> None:
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(sql)
    assert collected(frame) == off
    assert len(off) == packs_kept * PACK_ROWS
    scans = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
    assert [scan["packs_read"] for scan in scans] == [packs_kept], scans
