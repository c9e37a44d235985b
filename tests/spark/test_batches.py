"""Batches of kept packs in which no row has a partner go no further than the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.cases import PACK_ROWS, Checked, OnOffDuckDB, day, write_files

BATCH_ROWS = 20


@pytest.fixture(autouse=True)
def small_batches(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.parquet.columnarReaderBatchSize", str(BATCH_ROWS))


def fact_scan(checked: Checked) -> dict[str, Any]:
    (scan,) = [scan for scan in checked.scans if scan["narrowed"]]
    return scan


def skipped_of(checked: Checked) -> int:
    """Rows of skipped batches; they and the others together are those of the packs that were read."""
    scan = fact_scan(checked)
    assert scan["numOutputRows"] + scan["rows_skipped"] == scan["packs_read"] * PACK_ROWS
    return int(scan["rows_skipped"])


@pytest.mark.parametrize("probe, build", [("k", "id"), ("kl", "idl"), ("ks", "id"), ("d", "day"), ("kn", "id")])
def test_only_batches_with_a_partner_go_on(check: OnOffDuckDB, probe: str, build: str) -> None:
    """Each key has ten rows, each date forty: a batch, two or three of each of two packs."""
    checked = check(f"select v, name from fact join dim on {probe} = {build} where name in ('n3', 'n1700')", rejects=True)
    assert fact_scan(checked)["packs_read"] == 2
    assert skipped_of(checked) >= 2 * (PACK_ROWS - 3 * BATCH_ROWS)


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("conf", ["spark.sql.codegen.wholeStage", "spark.sql.columnVector.offheap.enabled"])
def test_under_settings_of_the_reader(check: OnOffDuckDB, spark: SparkSession, conf: str, value: str) -> None:
    spark.conf.set(conf, value)
    checked = check("select v, s, name from fact join dim on k = id where name in ('n3', 'n1700')", rejects=True)
    assert len(checked.rows) == 20 and skipped_of(checked) == 2 * (PACK_ROWS - BATCH_ROWS)


def test_a_row_needs_every_key_of_a_join(check: OnOffDuckDB, spark: SparkSession, tmp_path: Path) -> None:
    """Keys 3 and 40 are in one pack and in two batches, and only the second of them has dates that are asked for."""
    pairs = pa.table({"a": pa.array([3, 40], pa.int32()), "b": pa.array([day(10)] * 2, pa.date32())})
    write_files(pairs, tmp_path / "pairs", 1)
    spark.read.parquet(str(tmp_path / "pairs")).createOrReplaceTempView("pairs")
    check.add("pairs", tmp_path / "pairs")
    checked = check("select v, a from fact join pairs on k = a and d = b", rejects=True)
    assert len(checked.rows) == 10 and fact_scan(checked)["numOutputRows"] == BATCH_ROWS


def test_rows_that_are_tested_one_by_one_are_not_tested_in_batches(check: OnOffDuckDB, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.cost", "always")
    checked = check("select v, name from fact join dim on k = id where name in ('n3', 'n1700')", rejects=True)
    assert skipped_of(checked) == 0


class Looking:
    """A task's test for the one key 5, on batches of zeros made by hand."""

    ROWS = 4096

    def __init__(self, session: SparkSession) -> None:
        gateway = session.sparkContext._gateway
        assert gateway is not None
        self._gateway, self._jvm = gateway, gateway.jvm
        spark = self._jvm.org.apache.spark
        self.skipped = spark.sql.execution.metric.SQLMetrics.createMetric(session.sparkContext._jsc.sc(), "skipped")
        bridge, keys = spark.sql.execution.rtfilter, gateway.new_array(self._jvm.long, 1)
        keys[0] = 5
        tests = gateway.new_array(bridge.ColumnTest, 1)
        tests[0] = bridge.ColumnTest(0, spark.sql.types.DataTypes.LongType, bridge.KeyTable(keys), 5, 5)
        self._test = bridge.BatchTest(tests, self.skipped)

    def keeps(self, key_at: int | None) -> bool:
        """A batch with the key in that row, or without it."""
        sql = self._jvm.org.apache.spark.sql
        column = sql.execution.vectorized.OnHeapColumnVector(self.ROWS, sql.types.DataTypes.LongType)
        column.putLongs(0, self.ROWS, 0)
        if key_at is not None:
            column.putLong(key_at, 5)
        vectors = self._gateway.new_array(sql.vectorized.ColumnVector, 1)
        vectors[0] = column
        return bool(self._test.mightMatch(sql.vectorized.ColumnarBatch(vectors, self.ROWS)))


def test_batches_without_a_key_are_left_out_and_counted(session: SparkSession) -> None:
    looking = Looking(session)
    assert [looking.keeps(at) for at in (None, 0, 4095, None)] == [False, True, True, False]
    assert looking.skipped.value() == 2 * Looking.ROWS


def test_a_task_stops_looking_where_each_batch_has_a_row_late(session: SparkSession) -> None:
    looking = Looking(session)
    assert all(looking.keeps(4095) for _ in range(8))
    assert looking.keeps(None) and looking.skipped.value() == 0


def test_it_goes_on_where_each_batch_has_one_early(session: SparkSession) -> None:
    looking = Looking(session)
    assert all(looking.keeps(5) for _ in range(40))
    assert not looking.keeps(None)


def test_it_goes_on_where_enough_is_left_out(session: SparkSession) -> None:
    looking = Looking(session)
    assert [looking.keeps(at) for at in (4095, 4095, 4095, None) * 5].count(False) == 5
