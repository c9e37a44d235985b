"""Errors that Spark raises are raised with the layer on, and rows that Spark leaves out for an error stay out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Index, ValueSet
from rtfilter.bridge import jvm

PACK_ROWS, PACKS, FILES = 100, 5, 4
ROWS = PACK_ROWS * PACKS * FILES


@pytest.fixture
def coded(spark: SparkSession, tmp_path: Path) -> Path:
    """Codes in the order of rows, ten of each, and at row 500 a value that conditions fail on."""
    table = pa.table(
        {
            "id": pa.array(range(ROWS), pa.int32()),
            "v": pa.array(range(ROWS), pa.int32()),
            "c": [f"c{row // 10}" for row in range(ROWS)],
            "n": [None if row == 500 else f"c{row // 10}" for row in range(ROWS)],
        }
    )
    folder = tmp_path / "coded"
    folder.mkdir()
    for number in range(FILES):
        part = table.slice(number * PACK_ROWS * PACKS, PACK_ROWS * PACKS)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=PACK_ROWS, use_dictionary=False)
    Index.create(None, str(folder), [ValueSet("c", 1000), ValueSet("n", 1000)], name="i")
    spark.read.parquet(str(folder)).createOrReplaceTempView("coded")
    spark.conf.set("spark.sql.parquet.filterPushdown", False)
    spark.conf.set("spark.sql.ansi.enabled", True)
    return folder


def outcome(spark: SparkSession, sql: str, on: bool) -> tuple[Any, bool]:
    """Rows, or the error's condition; and whether a scan was narrowed."""
    spark.conf.set("rtfilter.enabled", on)
    frame = spark.sql(sql)
    try:
        rows = sorted(map(tuple, frame.collect()))
    except PySparkException as error:
        return error.getCondition(), False
    return rows, any(scan["narrowed"] for scan in jvm.scan_metrics(frame))


@pytest.mark.parametrize(
    ("condition", "narrowed"),
    [
        ("100 / (v - 500) <> 3 and c = 'c199'", None),
        ("c = 'c199' and 100 / (v - 500) <> 3", True),
        ("c = 'c199' and (v - 500) <> 3", True),
        ("c in ('c199', 'c198') and 100 / (v - 500) <> 3", None),
        ("n in ('c199', 'c198') and 100 / (v - 500) <> 3", None),
        ("n = 'c199' and 100 / (v - 500) <> 3", True),
        ("(c = 'c199' or 100 / (v - 500) > 1000) and c = 'c199'", None),
        ("cast(c as int) is null and c = 'c199'", None),
    ],
)
@pytest.mark.parametrize("codegen", [True, False])
def test_a_static_filter_hides_no_error(
    spark: SparkSession, coded: Path, condition: str, narrowed: bool | None, codegen: bool
) -> None:
    spark.conf.set("spark.sql.codegen.wholeStage", codegen)
    sql = f"select id from coded where {condition}"
    off, _ = outcome(spark, sql, on=False)
    on, was_narrowed = outcome(spark, sql, on=True)
    assert on == off
    assert off and (narrowed is None or was_narrowed is narrowed)


def test_the_reason_of_a_static_filter_that_would_hide_an_error(spark: SparkSession, coded: Path) -> None:
    rows, narrowed = outcome(spark, "select id from coded where 100 / (v + 500) <> 3 and c = 'c199'", on=True)
    report = rtfilter.last_report(spark)
    assert isinstance(rows, list) and len(rows) == 10 and not narrowed
    assert report is not None and {entry.reason for entry in report.filters} == {"MAY_RAISE"}


@pytest.fixture
def damaged(spark: SparkSession, tmp_path: Path) -> Path:
    """Files of four packs each, the second of which can't be read."""
    folder = tmp_path / "damaged"
    folder.mkdir()
    for number in range(2):
        path = folder / f"part-{number}.parquet"
        ids = pa.array(range(number * 400, number * 400 + 400), pa.int32())
        pq.write_table(pa.table({"k": ids, "c": ids}), path, row_group_size=100, use_dictionary=False, compression="snappy")
    Index.create(None, str(folder), [ValueSet("k", 1000)], name="i")
    for path in sorted(folder.glob("*.parquet")):
        before = path.stat()
        group = pq.ParquetFile(path).metadata.row_group(1)
        content = bytearray(path.read_bytes())
        for place in range(group.num_columns):
            chunk = group.column(place)
            start, size = chunk.data_page_offset, chunk.total_compressed_size
            content[start : start + size] = b"\xff" * size
        path.write_bytes(content)
        # For the index it is the file that it was.
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    spark.read.parquet(str(folder)).createOrReplaceTempView("damaged")
    return folder


JOINED = "select /*+ broadcast(d) */ c from {} f join (values (10), (350), (777)) d(id) on f.k = d.id"


@pytest.mark.parametrize("sql", [JOINED.format("damaged"), "select c from damaged where k in (10, 350, 777)"])
def test_where_corrupt_files_are_skipped_the_same_rows_are(spark: SparkSession, damaged: Path, sql: str) -> None:
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.parquet.filterPushdown", False)
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", True)
    off, _ = outcome(spark, sql, on=False)
    on, narrowed = outcome(spark, sql, on=True)
    assert off == [(10,)] and on == off and not narrowed
    assert "SKIPS_CORRUPT_FILES" in str(rtfilter.last_report(spark))


@pytest.mark.parametrize("sql", [JOINED.format("option"), "select c from option where k in (10, 350, 777)"])
def test_the_option_of_a_reader_counts_as_the_session_s(spark: SparkSession, damaged: Path, sql: str) -> None:
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.parquet.filterPushdown", False)
    spark.read.option("IGNORECORRUPTFILES", "true").parquet(str(damaged)).createOrReplaceTempView("option")
    assert outcome(spark, sql, on=False)[0] == outcome(spark, sql, on=True)[0] == [(10,)]


def test_where_missing_files_are_skipped_filters_work_and_the_same_rows_are_left_out(spark: SparkSession, coded: Path) -> None:
    spark.conf.set("spark.sql.files.ignoreMissingFiles", True)
    spark.conf.set("rtfilter.cost", "always")
    sql = "select /*+ broadcast(d) */ f.id from coded f join (values ('c7'), ('c60'), ('c199')) d(code) on f.c = d.code"
    before, narrowed = outcome(spark, sql, on=True)
    assert narrowed and before == outcome(spark, sql, on=False)[0] and len(before) == 30
    (coded / "part-1.parquet").unlink()
    for each in (sql, "select id from coded where c in ('c7', 'c60', 'c199')"):
        off, _ = outcome(spark, each, on=False)
        on, narrowed = outcome(spark, each, on=True)
        assert on == off and len(off) == 20 and narrowed


def test_a_filter_of_a_broadcast_does_not_leave_out_a_side_that_raises(spark: SparkSession, coded: Path) -> None:
    """Without the layer d and e have rows, so `coded` is read, and a row fails. Keys of one leave no row of the other."""
    spark.conf.set("rtfilter.cost", "always")
    spark.conf.set("spark.sql.ansi.enabled", True)
    for name, ids in (("d", range(400)), ("e", range(5_000, 5_010))):
        folder = coded.parent / name
        folder.mkdir()
        pq.write_table(pa.table({"id": pa.array(ids, pa.int32())}), folder / "part-0.parquet", row_group_size=PACK_ROWS)
        spark.read.parquet(str(folder)).createOrReplaceTempView(name)
    sql = """select /*+ broadcast(d), broadcast(e) */ f.id from coded f join d on f.id = d.id left semi join e on f.id = e.id
             where {} and d.id >= 0"""
    off, _ = outcome(spark, sql.format("100 / (f.v - 500) <> 3"), on=False)
    assert off == "DIVIDE_BY_ZERO"
    assert outcome(spark, sql.format("100 / (f.v - 500) <> 3"), on=True)[0] == off
    # The same query filters e by d where nothing can fail.
    assert outcome(spark, sql.format("f.v <> 3"), on=True)[0] == []
    report = rtfilter.last_report(spark)
    assert report is not None and ("e.id", "applied") in {(entry.probe, entry.decision) for entry in report.filters}
