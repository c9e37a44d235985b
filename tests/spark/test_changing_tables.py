"""Tables that grow, change, are many files, are cached, are written; several sessions and threads at once."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.cases import OnOffDuckDB, collected, fact_table, write_files

SQL = "select count(*), sum(v) from growing join dim on k = id where name in ('n5', 'n2000')"


@pytest.fixture
def growing(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> Path:
    folder = tmp_path / "growing"
    write_files(fact_table(), folder, 4)
    spark.read.parquet(str(folder)).createOrReplaceTempView("growing")
    check.add("growing", folder)
    return folder


def reread(spark: SparkSession, folder: Path) -> None:
    spark.read.parquet(str(folder)).createOrReplaceTempView("growing")


def test_files_added_after_the_first_query(spark: SparkSession, check: OnOffDuckDB, growing: Path) -> None:
    first = check(SQL, rejects=True)
    pq.write_table(fact_table().slice(0, 1000), growing / "later.parquet", row_group_size=100)
    reread(spark, growing)
    second = check(SQL, rejects=True)
    assert second.rows[0][0] == first.rows[0][0] + 10


def test_a_file_replaced(spark: SparkSession, check: OnOffDuckDB, growing: Path) -> None:
    check(SQL, rejects=True)
    table = fact_table()
    shifted = table.set_column(0, "k", pa.array([5] * 10_000 + [9999] * 30_000, pa.int32()))
    pq.write_table(shifted.slice(0, 20_000), growing / "part-003.parquet", row_group_size=500)
    reread(spark, growing)
    assert check(SQL, rejects=True).rows[0][0] == 10_020


def test_a_file_replaced_after_it_was_listed_is_read_whole(spark: SparkSession, growing: Path) -> None:
    """Spark keeps its listing for a frame; what the layer knows of the file must not be taken for the new one."""
    path = growing / "part-000.parquet"
    before = path.stat()
    pq.write_table(pq.read_table(path).set_column(0, "k", pa.array([2000] * 10_000, pa.int32())), path, row_group_size=500)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 5_000_000_000))
    spark.conf.set("rtfilter.enabled", True)
    (row,) = spark.sql(SQL).collect()
    assert row[0] == 10_010


def test_a_file_replaced_after_its_packs_were_chosen_is_not_lost_where_files_keep_their_length(
    spark: SparkSession, growing: Path
) -> None:
    """A query for `_metadata`: the first split of the file has no kept pack, and the one that has finds another file."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "32768")
    spark.conf.set("spark.sql.files.openCostInBytes", "1024")
    spark.conf.set("rtfilter.enabled", True)
    spark.read.parquet(str(growing)).select("v", "k", "_metadata.file_name").createOrReplaceTempView("named")
    frame = spark.sql("select v, file_name from named join dim on k = id where name = 'n3900'")
    assert sorted(row.v for row in frame.collect()) == list(range(39_000, 39_010))
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
    path = growing / "part-003.parquet"
    before, table = path.stat(), pq.read_table(path)
    assert scan["packs_read"] == 1 and before.st_size > 4 * 32_768
    pq.write_table(table.set_column(6, "v", pc.subtract(table["v"], 30_000)), path, row_group_size=500)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 5_000_000_000))
    # The same frame runs the same plan again.
    assert sorted(row.v for row in frame.collect()) == list(range(9_000, 9_010))


def test_ten_thousand_small_files(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    table = fact_table().select(["k", "v"])
    schema = table.schema
    for number in range(10_000):
        with pq.ParquetWriter(folder / f"{number:05}.parquet", schema, compression="none", use_dictionary=False) as writer:
            writer.write_table(table.slice(number * 4, 4))
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "20000")
    spark.read.schema("k int, v bigint").parquet(str(folder)).createOrReplaceTempView("growing")
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    assert [tuple(row) for row in frame.collect()] == [(20, 10 * sum(range(50, 60)) // 10 + sum(range(20000, 20010)))]
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
    assert scan["packs_total"] == 10_000
    assert scan["files_dropped"] >= 9_990


def test_cached_frames(spark: SparkSession, check: OnOffDuckDB, growing: Path) -> None:
    spark.table("growing").cache()
    try:
        check(SQL, rejects=False)
        spark.conf.set("rtfilter.enabled", True)
        joined = spark.sql("select v from fact join dim on k = id where name = 'n5'").cache()
        assert joined.count() == 10
        spark.conf.set("rtfilter.enabled", False)
        assert sorted(row.v for row in joined.collect()) == list(range(50, 60))
        joined.unpersist()
    finally:
        spark.table("growing").unpersist()


def test_writes(spark: SparkSession) -> None:
    for table in ("written", "inserted"):
        spark.sql(f"drop table if exists {table}")
    try:
        spark.conf.set("rtfilter.enabled", True)
        joined = spark.sql("select k, v from fact join dim on k = id where name in ('n5', 'n6')")
        joined.write.saveAsTable("written")
        report = rtfilter.last_report(spark)
        assert report is not None and [entry.decision for entry in report.filters] == ["applied"]
        spark.sql("create table inserted (k int, v bigint) using parquet")
        spark.sql("insert into inserted select k, v from fact join dim on k = id where name in ('n5', 'n6')")
        spark.sql("insert into inserted select w.k, w.v from written w join dim on w.k = id where name = 'n5'")
        assert spark.table("written").count() == 20
        assert spark.table("inserted").count() == 30
    finally:
        for table in ("written", "inserted"):
            spark.sql(f"drop table if exists {table}")


def test_two_sessions_at_once(session: SparkSession, spark: SparkSession, data: Path) -> None:
    other = session.newSession()
    for name in ("fact", "dim"):
        other.read.parquet(str(data / name)).createOrReplaceTempView(name)
    spark.conf.set("rtfilter.enabled", True)
    on, off = (s.sql("select v from fact join dim on k = id where name = 'n5'") for s in (spark, other))
    assert collected(on) == collected(off)
    assert any(scan["narrowed"] for scan in jvm.scan_metrics(on))
    assert not any(scan["narrowed"] for scan in jvm.scan_metrics(off))
    assert rtfilter.last_report(spark) is not None
    of_other = rtfilter.last_report(other)
    assert of_other is not None
    assert (of_other.filters, of_other.reason) == ((), "LAYER_OFF")


def test_eight_threads_at_once(spark: SparkSession) -> None:
    spark.conf.set("rtfilter.enabled", True)
    begin = threading.Barrier(8)

    def one(thread: int) -> None:
        begin.wait()
        for turn in range(5):
            wanted = 97 * thread + turn
            frame = spark.sql(f"select v from fact join dim on k = id where name = 'n{wanted}'")
            assert sorted(row.v for row in frame.collect()) == list(range(wanted * 10, wanted * 10 + 10))
            (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["table"] == "fact"]
            assert scan["packs_read"] == 1

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(one, thread) for thread in range(8)]:
            future.result(timeout=120)


def test_exchange_reuse_survives(spark: SparkSession) -> None:
    """Two copies of one aggregated join: Spark runs it once, with the layer on as well."""
    sql = (
        "with t as (select k, sum(v) as total from fact join dim on k = id where name in ('n5', 'n6') group by k) "
        "select a.k, a.total + b.total from t a join t b on a.k = b.k"
    )
    jobs = {}
    for on in (False, True):
        spark.conf.set("rtfilter.enabled", on)
        group = f"reuse {on} {time.monotonic()}"
        spark.sparkContext.setJobGroup(group, group)
        frame = spark.sql(sql)
        rows = collected(frame)
        jobs[on] = (rows, len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)))
    spark.sparkContext.setJobGroup("none", "none")
    assert any(scan["narrowed"] for scan in jvm.scan_metrics(frame))
    assert jobs[True] == jobs[False]
    assert "ReusedExchange" in frame._jdf.queryExecution().executedPlan().toString()
