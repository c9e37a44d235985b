"""Batches of kept packs in which no row has a partner go no further than the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
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


TWO = "name in ('n3', 'n1700')"
JOINS = {
    "semi": f"select v from fact where k in (select id from dim where {TWO})",
    "shifted": f"select v, name from fact join dim on k + 1 = id where {TWO}",
    "negated": f"select v, name from fact join dim on -k = -id where {TWO}",
    "three keys": f"select v from fact join dim on s = concat('text ', (v % 13)) and d = day and kl = idl and k = id where {TWO}",
}


@pytest.mark.parametrize("form", JOINS)
def test_in_other_joins(check: OnOffDuckDB, form: str) -> None:
    assert skipped_of(check(JOINS[form], rejects=True)) > PACK_ROWS


def test_rows_that_nulls_join_stay(check: OnOffDuckDB, spark: SparkSession) -> None:
    """Nulls equal nulls there, and every pack of kn has some."""
    query = f"select v, name from fact join dim on kn {{}} id where {TWO}"
    checked = check(query.format("<=>"), rejects=False, duck_sql=query.format("is not distinct from"))
    assert not [scan for scan in checked.scans if scan["narrowed"] and scan["rows_skipped"]]


def test_a_range_is_looked_for_where_keys_are_too_many(check: OnOffDuckDB, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.set.maxKeys", "1")
    checked = check("select v, name from fact join dim on k = id where name in ('n3', 'n6')", rejects=True)
    assert skipped_of(checked) > PACK_ROWS // 2


def test_row_indexes_are_those_of_the_file(check: OnOffDuckDB, spark: SparkSession, data: Path) -> None:
    """Rows of skipped batches count. A file has 5,000 rows, and v is the number of a row in all files."""
    spark.read.parquet(str(data / "fact")).select("v", "k", "_metadata.row_index").createOrReplaceTempView("numbered")
    query = f"select v, {{}} from {{}} join dim on k = id where {TWO}"
    checked = check(query.format("row_index", "numbered"), rejects=True, duck_sql=query.format("v % 5000", "fact"))
    assert skipped_of(checked) > PACK_ROWS


def test_a_limit_may_end_in_the_middle(check: OnOffDuckDB) -> None:
    every = f"select k from fact join dim on k = id where {TWO} and name = 'n3'"
    assert len(check(f"{every} limit 4", rejects=True).rows) == 4


def test_files_that_lack_the_column_have_no_partner(check: OnOffDuckDB, spark: SparkSession, tmp_path: Path) -> None:
    both = pa.table({"k": pa.array(range(1000), pa.int32()), "v": pa.array(range(1000), pa.int64())})
    write_files(both, tmp_path / "grown" / "new", 1)
    write_files(both.drop_columns("k"), tmp_path / "grown" / "old", 1)
    folders = [str(tmp_path / "grown" / each) for each in ("new", "old")]
    spark.read.schema("k int, v bigint").parquet(*folders).createOrReplaceTempView("grown")
    check.duck.execute(f"create view grown as select * from read_parquet('{tmp_path}/grown/*/*.parquet', union_by_name=true)")
    checked = check(f"select /*+ broadcast(dim) */ v, name from grown join dim on k = id where {TWO}", rejects=True)
    assert len(checked.rows) == 1 and fact_scan(checked)["numOutputRows"] == BATCH_ROWS


def test_batches_are_left_out_where_rows_are_tested_one_by_one_too(check: OnOffDuckDB, spark: SparkSession) -> None:
    spark.conf.set("rtfilter.cost", "always")
    checked = check("select v, name from fact join dim on k = id where name in ('n3', 'n1700')", rejects=True)
    assert skipped_of(checked) == 2 * (PACK_ROWS - BATCH_ROWS)


def _companion(package: Any, name: str) -> Any:
    return getattr(getattr(package, f"{name}$"), "MODULE$")


class Looking:
    """A task's test for the one key 5, on batches of zeros made by hand."""

    ROWS = 4096

    def __init__(self, session: SparkSession, bits: int = 0, rows_tested: bool = False) -> None:
        """`bits`: in a bitmap of so many; `rows_tested`: before a row test."""
        gateway = session.sparkContext._gateway
        assert gateway is not None
        self._gateway, self._jvm = gateway, gateway.jvm
        spark = self._jvm.org.apache.spark
        self.skipped = spark.sql.execution.metric.SQLMetrics.createMetric(session.sparkContext._jsc.sc(), "skipped")
        bridge, words = spark.sql.execution.rtfilter, gateway.new_array(self._jvm.long, max(bits // 64, 1))
        words[0] = 1
        tests = gateway.new_array(bridge.ColumnTest, 1)
        tests[0] = bridge.ColumnTest(0, spark.sql.types.DataTypes.LongType, bridge.KeyBitmap(5, words), 5, 5)
        self._test = bridge.BatchTest(tests, rows_tested, self.skipped)

    def reader(self, path: Path) -> Any:
        """The reader of one file with this test, batch by batch."""
        sql = self._jvm.org.apache.spark.sql
        none = _companion(self._jvm.scala, "None")
        mode = sql.internal.LegacyBehaviorPolicy.withName("CORRECTED")
        spec = getattr(sql.catalyst.util, "RebaseDateTime$RebaseSpec")(mode, none)
        reader = sql.execution.rtfilter.PackReader(none, spec, spec, False, BATCH_ROWS, self._jvm.scala.Some(self._test))
        reader.initialize(str(path), None)
        reader.initBatch(sql.types.StructType(), None)
        return reader

    @contextmanager
    def killed_task(self) -> Iterator[None]:
        """As if this thread were that of a task that somebody has killed."""
        tasks = _companion(self._jvm.org.apache.spark, "TaskContext")
        task = tasks.empty()
        task.markInterrupted("for a test")
        tasks.setTaskContext(task)
        try:
            yield
        finally:
            tasks.unset()

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


def test_a_killed_task_reads_no_further(session: SparkSession, tmp_path: Path) -> None:
    """Spark looks for a kill between two batches that it is handed, and a split without any partner hands out none."""
    looking, path = Looking(session), tmp_path / "zeros.parquet"
    pq.write_table(pa.table({"k": pa.array([0] * 5 * BATCH_ROWS, pa.int64())}), path)
    assert not looking.reader(path).nextBatch() and looking.skipped.value() == 5 * BATCH_ROWS
    with looking.killed_task():
        reader = looking.reader(path)
        with pytest.raises(Py4JJavaError, match="TaskKilledException"):
            reader.nextBatch()
    assert looking.skipped.value() == 6 * BATCH_ROWS


@pytest.mark.parametrize(
    "where", [{"bits": 1 << 24}, {"rows_tested": True}], ids=["keys too many for the cache", "a row test next"]
)
def test_it_gives_up_sooner_where_looking_saves_less(session: SparkSession, where: dict[str, Any]) -> None:
    looking = Looking(session, **where)
    assert [looking.keeps(at) for at in (4095, 4095, 4095, None) * 5].count(False) < 5
