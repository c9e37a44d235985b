"""Joins over tables and indexes that only Spark can open; packs that were rejected are counted by Spark's own metrics."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Bloom, Index, RtFilterError
from rtfilter.bridge import jvm
from rtfilter.private_folders import own_name
from tests.spark.cases import fact_table, write_files

# r is random: every pack's bounds span all keys.
SPREAD = "select count(*), sum(v) from spread join dim on r = id where name = 'n1234'"
CLUSTERED = "select count(*), sum(v) from spread join dim on k = id where name in ('n5', 'n2000')"
CONDITION = "select count(*), sum(v) from spread where r = 1234"
COPIED_WITHIN_S = 60.0


def run(spark: SparkSession, sql: str) -> tuple[list[Any], dict[str, Any]]:
    """Rows, and the metrics of the fact's scan."""
    frame = spark.sql(sql)
    rows = [tuple(row) for row in frame.collect()]
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["table"] == "spread"]
    return rows, scan


def expected(spark: SparkSession, sql: str) -> list[Any]:
    spark.conf.set("rtfilter.enabled", False)
    rows = [tuple(row) for row in spark.sql(sql).collect()]
    spark.conf.set("rtfilter.enabled", True)
    assert rows[0][0] > 0
    return rows


def packs_read_in_the_end(spark: SparkSession, sql: str, below: int) -> int:
    """Repeats a query until it reads fewer packs than `below`; every run must be right."""
    right, until = expected(spark, sql), time.monotonic() + COPIED_WITHIN_S
    while True:
        rows, scan = run(spark, sql)
        assert rows == right
        read = int(scan["packs_read"]) if scan["narrowed"] else 80
        if read < below or time.monotonic() > until:
            return read
        time.sleep(0.3)


def packs_kept(spark: SparkSession) -> int:
    """What the verdict on the latest query's filter has left; Parquet's own dictionaries reject further ones while Spark reads."""
    report = rtfilter.last_report(spark)
    assert report is not None
    (applied,) = [each for each in report.filters if each.decision == "applied"]
    assert applied.packs_kept is not None
    return applied.packs_kept


def reread(spark: SparkSession, table: Path) -> None:
    spark.read.parquet(f"slow:{table}").createOrReplaceTempView("spread")


def test_an_index_rejects_packs_one_query_later(spark: SparkSession, spread: Path, tmp_path: Path) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    reread(spark, spread)
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40
    copies = sorted(path.name for path in (tmp_path / "cache" / own_name()).iterdir())
    assert len(copies) == 3 and all(name.endswith(".parquet") for name in copies)


def test_an_index_in_a_store_of_its_own_is_used(spark: SparkSession, spread: Path, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.store.location", f"slow:{tmp_path}/store")
    index = Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    assert index.place == f"slow:{tmp_path}/store/i"
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


def test_an_index_here_serves_a_table_there(spark: SparkSession, spread: Path, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


def test_an_index_there_serves_a_table_here(spark: SparkSession, spread: Path, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.store.location", f"slow:{tmp_path}/store")
    assert Index.create(spark, str(spread), [Bloom("r")], name="i").place == f"slow:{tmp_path}/store/i"
    spark.read.parquet(str(spread)).createOrReplaceTempView("spread")
    assert packs_read_in_the_end(spark, CONDITION, 40) < 40
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


def test_a_refresh_reaches_later_queries_and_new_files_are_read_before(spark: SparkSession, spread: Path) -> None:
    index = Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40
    pq.write_table(fact_table().slice(0, 5000), spread / "more.parquet", row_group_size=500)
    reread(spark, spread)
    right = expected(spark, SPREAD)
    assert run(spark, SPREAD)[0] == right
    stale = packs_kept(spark)
    assert stale >= 10
    index.refresh()
    until = time.monotonic() + COPIED_WITHIN_S
    while packs_kept(spark) > stale - 5 and time.monotonic() < until:
        time.sleep(0.3)
        assert run(spark, SPREAD)[0] == right
    assert packs_kept(spark) <= stale - 5
    index.delete()
    assert index.vacuum() > 0
    # What is here stays true of the files that it knows, until the deletion is seen; then everything is read again.
    assert run(spark, SPREAD)[0] == right


def test_a_replaced_file_is_read_though_the_index_knew_its_name(spark: SparkSession, spread: Path) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40
    path = spread / "part-003.parquet"
    path.unlink()
    table = fact_table().slice(0, 5000)
    pq.write_table(
        table.set_column(table.schema.get_field_index("r"), "r", pa.array([1234] * 5000, pa.int32())), path, row_group_size=500
    )
    reread(spark, spread)
    right = expected(spark, SPREAD)
    assert right[0][0] > 5000 and run(spark, SPREAD)[0] == right


@pytest.mark.parametrize(("step", "n"), [("open", 1), ("open", 3), ("read", 1), ("read", 4), ("list", 1), ("list", 2)])
def test_a_step_that_fails_while_the_index_comes_changes_no_result(
    spark: SparkSession, spread: Path, faults: Any, step: str, n: int
) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    right = expected(spark, SPREAD)
    frame = spark.sql(SPREAD)
    # Spark has listed the table; from here on the layer's own steps and Spark's reads fail alike.
    faults.failAt(step, n)
    try:
        rows = [tuple(row) for row in frame.collect()]
    except Exception as error:
        # Spark itself met the failure: not ours to hide.
        assert "on purpose" in str(error)
    else:
        assert rows == right
    faults.clear()
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


@pytest.mark.parametrize("step", ["open", "read", "create", "rename", "list", "status", "delete"])
def test_an_action_that_fails_leaves_the_next_query_right(spark: SparkSession, spread: Path, faults: Any, step: str) -> None:
    index = Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    pq.write_table(fact_table().slice(0, 1000), spread / "more.parquet", row_group_size=500)
    failed = 0
    for n in (1, 2, 4):
        for act in (index.refresh, lambda: index.optimize("full"), index.vacuum):
            faults.failAt(step, n)
            try:
                act()
            except RtFilterError:
                failed += 1
            faults.clear()
            if index.stats()["under_way"] is not None:
                index.cancel()
            assert index.state == "ACTIVE"
    assert failed > 0
    index.refresh()
    index.optimize("full")
    reread(spark, spread)
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


def test_footers_are_read_in_the_driver_while_they_are_few_and_by_a_job_when_they_are_many(
    spark: SparkSession, spread: Path
) -> None:
    right = expected(spark, CLUSTERED)
    tracker = spark.sparkContext.statusTracker()
    rows, scan = run(spark, CLUSTERED)
    assert rows == right and (scan["packs_total"], scan["packs_read"]) == (80, 2)
    assert not tracker.getJobIdsForGroup("rtfilter footers")
    spark.conf.set("rtfilter.footers.jobFromFiles", 3)
    for path in spread.iterdir():
        path.rename(path.with_name(f"renamed-{path.name}"))
    reread(spark, spread)
    rows, scan = run(spark, CLUSTERED)
    assert rows == right and (scan["packs_total"], scan["packs_read"]) == (80, 2)
    assert len(tracker.getJobIdsForGroup("rtfilter footers")) == 1


@pytest.mark.parametrize("from_files", ["1000", "3"], ids=["driver", "job"])
def test_a_footer_takes_one_request(spark: SparkSession, spread: Path, faults: Any, from_files: str) -> None:
    spark.conf.set("rtfilter.footers.jobFromFiles", from_files)
    files = len(list(spread.glob("*.parquet")))
    frame = spark.sql(CLUSTERED)
    faults.clear()
    rtfilter.explain(frame)
    until = time.monotonic() + 30
    while faults.count("open") < files and time.monotonic() < until:
        time.sleep(0.05)
    assert (faults.count("open"), faults.count("read")) == (files, files)


@pytest.mark.parametrize(("files", "own_clients"), [(40, 1), (8, 0)], ids=["many", "few"])
def test_many_footers_of_an_object_store_have_a_client_of_their_own(
    spark: SparkSession, tmp_path: Path, faults: Any, files: int, own_clients: int
) -> None:
    write_files(fact_table(), tmp_path / "spread", files)
    spark.read.parquet(f"s3a:{tmp_path}/spread").createOrReplaceTempView("spread")
    right = expected(spark, CLUSTERED)
    faults.clear()
    rows, scan = run(spark, CLUSTERED)
    assert rows == right and 0 < scan["packs_read"] < scan["packs_total"]
    until = time.monotonic() + 30
    while faults.count("closed") < own_clients and time.monotonic() < until:
        time.sleep(0.05)
    # The query's own client stays open.
    assert (faults.count("client classic"), faults.count("closed")) == (own_clients, own_clients)
    assert run(spark, CLUSTERED)[0] == right


def test_a_footer_that_can_not_be_read_leaves_its_file_to_spark(spark: SparkSession, spread: Path, faults: Any) -> None:
    right = expected(spark, CLUSTERED)
    frame = spark.sql(CLUSTERED)
    faults.failAt("open", 2)
    assert [tuple(row) for row in frame.collect()] == right
    (scan,) = [scan for scan in jvm.scan_metrics(frame) if scan["table"] == "spread"]
    # Whoever met the failure: a file that the layer could not look into is among those that were read.
    assert scan["narrowed"] and scan["packs_read"] >= 1


def test_a_slow_filesystem_makes_no_query_wait_for_its_index(spark: SparkSession, spread: Path, faults: Any) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    right = expected(spark, SPREAD)
    frame = spark.sql(SPREAD)
    faults.delay(250)
    assert [tuple(row) for row in frame.collect()] == right
    faults.clear()
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40


def test_a_condition_of_the_query_itself_uses_an_index_there(spark: SparkSession, spread: Path) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    reread(spark, spread)
    assert packs_read_in_the_end(spark, CONDITION, 40) < 40


def told(spark: SparkSession, sql: str) -> set[tuple[str, ...]]:
    """What the report of a query says of indexes, with its join and with its own conditions."""
    spark.conf.set("rtfilter.enabled", True)
    spark.sql(sql).collect()
    report = rtfilter.last_report(spark)
    assert report is not None
    return {entry.index_reasons for entry in report.filters}


def told_in_the_end(spark: SparkSession, sql: str, code: str) -> bool:
    until = time.monotonic() + COPIED_WITHIN_S
    while told(spark, sql) != {(code,)}:
        if time.monotonic() > until:
            return False
        time.sleep(0.3)
    return True


def test_an_index_out_of_reach_is_told_with_joins_and_conditions_until_it_is_within(
    spark: SparkSession, spread: Path, faults: Any
) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    reread(spark, spread)
    faults.forbid("_rtfilter")
    # So that the query is planned before somebody has looked there.
    faults.hold("_rtfilter")
    assert told(spark, CONDITION) == {("INDEX_COMING",)}
    faults.release()
    for sql in (CONDITION, SPREAD):
        assert told_in_the_end(spark, sql, "INDEX_UNREACHABLE")
        for key in rtfilter.why_not(spark.sql(sql)).keys:
            assert key.index_reasons == ("INDEX_UNREACHABLE",)
            assert f"slow:{spread}/_rtfilter" in key.detail and "forbidden on purpose" in key.detail
    faults.clear()
    for sql in (SPREAD, CONDITION):
        assert packs_read_in_the_end(spark, sql, 40) < 40
        assert told(spark, sql) == {()} == {key.index_reasons for key in rtfilter.why_not(spark.sql(sql)).keys}


def test_an_index_larger_than_the_cache_is_told_and_fetched_once_it_fits(spark: SparkSession, spread: Path) -> None:
    Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    reread(spark, spread)
    spark.conf.set("rtfilter.store.cacheBytes", 1000)
    assert told_in_the_end(spark, SPREAD, "INDEX_TOO_LARGE")
    spark.conf.unset("rtfilter.store.cacheBytes")
    assert packs_read_in_the_end(spark, SPREAD, 40) < 40 and told(spark, SPREAD) == {()}
