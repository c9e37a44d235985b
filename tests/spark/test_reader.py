"""A narrowed scan reads as Spark's own reader does in every other respect."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.cases import collected, write_files

ROWS = 4_000
PACK_ROWS = 100

Settings = dict[str, str]
READER_SETTINGS: list[Settings] = [
    {},
    {"spark.sql.parquet.enableVectorizedReader": "false"},
    {"spark.sql.parquet.enableVectorizedReader": "false", "spark.sql.parquet.recordLevelFilter.enabled": "true"},
    {"spark.sql.parquet.columnarReaderBatchSize": "7"},
    {"spark.sql.columnVector.offheap.enabled": "true"},
    {"spark.sql.codegen.wholeStage": "false"},
    {"spark.sql.parquet.filterPushdown": "false"},
    {"spark.sql.parquet.int96TimestampConversion": "true", "spark.sql.session.timeZone": "Asia/Tokyo"},
    {"spark.sql.files.maxPartitionBytes": "20000", "spark.sql.files.openCostInBytes": "0"},
    {"spark.sql.caseSensitive": "true"},
]


def on_equals_off(spark: SparkSession, sql: str, *, narrowed: bool = True) -> list[tuple[Any, ...]]:
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(sql)
    on = collected(frame)
    spark.conf.set("rtfilter.enabled", False)
    assert on == off
    scans = jvm.scan_metrics(frame)
    assert any(scan["narrowed"] and scan["packs_read"] < scan["packs_total"] for scan in scans) == narrowed, scans
    return on


@pytest.fixture(scope="module")
def everything(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partitioned table with nested columns and every timestamp form, written by Spark with small packs and a page index."""
    folder = tmp_path_factory.mktemp("reader") / "everything"
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    frame = session.range(0, ROWS, 1, 4).selectExpr(
        "cast(id div 4 as int) as k",
        "id as v",
        "timestamp_seconds(id * 3601) as t96",
        "cast(timestamp_seconds(id * 3601) as timestamp_ntz) as ntz",
        "date_add(date'1970-01-01', cast(id as int)) as d",
        "cast(id as decimal(12, 3)) / 7 as dec",
        "named_struct('x', id, 'y', array(id, id + 1), 'z', map('a', id)) as nested",
        "if(id % 5 = 0, null, concat('text ', id)) as s",
        "cast(id % 3 as int) as p",
    )
    frame.write.partitionBy("p").option("parquet.block.size", 4096).option("parquet.page.size", 512).option(
        "parquet.block.row.count.limit", PACK_ROWS
    ).parquet(str(folder))
    session.conf.unset("spark.sql.parquet.outputTimestampType")
    return folder


def settings_id(settings: Settings) -> str:
    return ",".join(f"{key.rsplit('.', 1)[1]}={value}" for key, value in settings.items()) or "defaults"


@pytest.mark.parametrize("settings", READER_SETTINGS, ids=settings_id)
@pytest.mark.parametrize(
    "columns",
    [
        "k, v, t96, ntz, d, dec, s, p",
        "k, nested, p",
        "k, nested.x, get(nested.y, 0), p",
        "p, v",
        "v, everything._metadata.row_index",
        "v, everything._metadata.file_name, everything._metadata.file_size, everything._metadata.row_index",
    ],
)
def test_every_column_form_under_every_reader_setting(
    spark: SparkSession, everything: Path, settings: Settings, columns: str
) -> None:
    for key, value in settings.items():
        spark.conf.set(key, value)
    joined = f"from parquet.`{everything}` as everything join dim on k = id"
    rows = on_equals_off(spark, f"select {columns} {joined} where name in ('n3', 'n500', 'n501') and v > 13")
    assert len(rows) == 10


def test_bucketed_tables_keep_their_buckets(spark: SparkSession) -> None:
    spark.sql("drop table if exists bucketed")
    spark.range(0, ROWS, 1, 1).selectExpr("cast(id as int) as k", "id as v").write.bucketBy(4, "k").sortBy("k").option(
        "parquet.block.row.count.limit", PACK_ROWS
    ).saveAsTable("bucketed")
    try:
        sql = "select b.k, count(*), sum(v) from bucketed b join dim on b.k = id where name in ('n3', 'n500') group by b.k"
        assert len(on_equals_off(spark, sql)) == 2
    finally:
        spark.sql("drop table bucketed")


def test_files_with_other_schemas(spark: SparkSession, tmp_path: Path) -> None:
    """k is int in one file and bigint in the next, is missing in the third, is spelled in capitals in the fourth."""
    keys = np.arange(ROWS)
    for number, table in enumerate(
        [
            pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(keys)}),
            pa.table({"v": pa.array(keys), "k": pa.array(keys, pa.int64())}),
            pa.table({"v": pa.array(keys)}),
            pa.table({"K": pa.array(keys, pa.int64()), "v": pa.array(keys), "extra": pa.array(keys)}),
        ]
    ):
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=PACK_ROWS)
    spark.read.schema("k bigint, v bigint").parquet(str(tmp_path)).createOrReplaceTempView("evolved")
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        rows = on_equals_off(spark, "select k, v from evolved join dim on k = idl div 1000000007 where name in ('n3', 'n999')")
        assert rows == [(3, 3)] * 3 + [(999, 999)] * 3


def test_column_defaults_of_files_that_lack_the_column(spark: SparkSession) -> None:
    spark.sql("drop table if exists late")
    spark.sql("create table late (v bigint) using parquet")
    try:
        spark.sql("insert into late select id from range(1000)")
        spark.sql("alter table late add column k int default 7")
        spark.sql("insert into late select id, cast(id as int) from range(1000, 3000, 1, 2)")
        sql = "select /*+ BROADCAST(dim) */ count(*), min(k) from late join dim on k = id where name in ('n7', 'n2999')"
        rows = on_equals_off(spark, sql)
        assert rows == [(1001, 7)]
    finally:
        spark.sql("drop table late")


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_dates_before_the_gregorian_calendar(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
    old = spark.range(0, 2000, 1, 1).selectExpr("date_add(date'1500-01-01', cast(id * 100 as int)) as d", "id as v")
    old.write.option("parquet.block.row.count.limit", PACK_ROWS).parquet(str(tmp_path / "old"))
    spark.read.parquet(str(tmp_path / "old")).createOrReplaceTempView("old")
    spark.sql(
        "select date_add(date'1500-01-01', id * 100) as day, name from dim where id in (0, 1, 250, 301, 1700) and name like 'n%'"
    ).createOrReplaceTempView("days")
    rows = on_equals_off(spark, "select /*+ BROADCAST(days) */ v from old join days on d = day")
    assert rows == [(0,), (1,), (1700,), (250,), (301,)]


def test_date_keys_are_compared_as_days(spark: SparkSession) -> None:
    rows = on_equals_off(spark, "select distinct fact.d from fact join dim on fact.d = dim.day where name = 'n40'")
    assert rows == [(date(2020, 1, 11),)]


def test_numbers_wider_than_the_column_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark cuts bits off: 300 in the file is 44 in a tinyint column, so a key 44 must not prune by what is stored."""
    stored = pa.table({"k": pa.array(np.arange(20_000) // 50, pa.int32()), "v": pa.array(np.arange(20_000))})
    pq.write_table(stored, tmp_path / "wide.parquet", row_group_size=PACK_ROWS)
    spark.read.schema("k tinyint, v bigint").parquet(str(tmp_path)).createOrReplaceTempView("cut")
    spark.conf.set("rtfilter.cost", "always")
    sql = "select count(*), sum(v) from cut join (select cast(id as tinyint) as id from dim where name = 'n44') d on cut.k = d.id"
    spark.conf.set("rtfilter.enabled", False)
    off = collected(spark.sql(sql))
    spark.conf.set("rtfilter.enabled", True)
    assert collected(spark.sql(sql)) == off == [(100, 862_450)]


def test_unsigned_and_annotated_columns(spark: SparkSession, tmp_path: Path) -> None:
    values = np.arange(ROWS)
    for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.int8(), pa.int16()):
        bound = 100 if kind in (pa.int8(), pa.uint8()) else ROWS
        high = 2**32 - 1 - values if kind == pa.uint32() else np.sort(values % bound)
        table = pa.table({"k": pa.array(high, kind), "v": pa.array(values)})
        pq.write_table(table, tmp_path / f"{kind}.parquet", row_group_size=PACK_ROWS)
        spark.read.parquet(str(tmp_path / f"{kind}.parquet")).createOrReplaceTempView("typed")
        wanted = "4294967295 - id" if kind == pa.uint32() else "id"
        sql = (
            f"select /*+ BROADCAST(x) */ v from typed join (select {wanted} as w, name from dim) x on k = w "
            "where name in ('n7', 'n8')"
        )
        assert on_equals_off(spark, sql)


def test_pages_inside_a_kept_pack_are_pruned(spark: SparkSession, tmp_path: Path) -> None:
    """One pack, many pages with a column index: fewer rows leave the scan than the pack has."""
    keys = np.arange(100_000)
    table = pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(keys)})
    for name in ("a", "b"):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=50_000, data_page_size=1024, write_page_index=True, use_dictionary=False)
    spark.read.parquet(str(tmp_path)).createOrReplaceTempView("paged")
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql("select v from paged join dim on k = id where name = 'n77'")
    assert [row.v for row in frame.collect()] == [77, 77]
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
    assert scan["packs_read"] == 2
    assert 0 < scan["numOutputRows"] < 10_000


def test_a_timestamp_column_beside_the_key_keeps_its_zone(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    times = [datetime(2021, 3, 14, hour % 24) for hour in range(ROWS)]
    table = pa.table({"k": pa.array(np.arange(ROWS), pa.int32()), "t": pa.array(times, pa.timestamp("us", tz="UTC"))})
    write_files(table, tmp_path / "zoned", 2, PACK_ROWS)
    spark.read.parquet(str(tmp_path / "zoned")).createOrReplaceTempView("zoned")
    assert len(on_equals_off(spark, "select k, t from zoned join dim on k = id where name in ('n1', 'n3999')")) == 2
