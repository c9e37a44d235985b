"""Indexes over tables that Spark has written, built by Spark jobs: verdicts against what Spark itself finds in every pack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import rtfilter
from rtfilter import Bloom, CMap, Histogram, Index, IndexDefinitionError, MinMax, ValueSet
from rtfilter.index import api
from rtfilter.store.index_actions import build
from rtfilter.store.index_actions.listing import identities, list_directory
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import open_index
from rtfilter.store.parquet.key_values import sortable_doubles
from rtfilter.store.sketches.column_tests import ValueTest, byte_keys, long_keys
from rtfilter.store.sketches.kinds import Sketch

ROWS = 4000
COLUMNS = {
    "i": "cast(id % 997 as int)",
    "l": "id * 7919",
    "d": "cast(id * 1.5 as double)",
    "m": "cast(id as decimal(9,2))",
    "w": "cast(id as decimal(30,4))",
    "day": "date_add(date'1999-01-01', cast(id % 800 as int))",
    "at": "timestamp_micros(id * 1000003)",
    "s": "concat('item-', lpad(cast(id as string), 6, '0'))",
    "b": "id % 2 = 0",
}
# How the key of each column follows from the id of its row.
KEYS: dict[str, Any] = {
    "i": lambda id_: id_ % 997,
    "l": lambda id_: id_ * 7919,
    "d": lambda id_: int(sortable_doubles(np.array([id_ * 1.5]))[0]),
    "m": lambda id_: id_ * 100,
    "w": lambda id_: (id_ * 10**4 + 2**127).to_bytes(16, "big"),
    "day": lambda id_: 10592 + id_ % 800,
    "at": lambda id_: id_ * 1000003,
    "s": lambda id_: f"item-{id_:06d}".encode(),
}


@pytest.fixture(autouse=True)
def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every build is a Spark job here, of portions smaller than a file."""
    monkeypatch.setattr(api, "SPARK_JOB_FROM_BYTES", 0)
    monkeypatch.setattr(build, "PORTION_BYTES", 20_000)


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables") / "t"
    frame = spark.range(0, ROWS, 1, 3).select("id", *(F.expr(text).alias(name) for name, text in COLUMNS.items()))
    options = {"parquet.block.size": "20000", "parquet.page.size": "2000", "parquet.block.size.row.check.min": "100"}
    frame.write.options(**options, **{"parquet.page.size.row.check.min": "100"}).parquet(str(folder))
    return folder


def packs_with(index: Index, table: Path, column: str, test: ValueTest) -> tuple[int, int]:
    """Packs that are kept, and all."""
    opened = open_index(LocalStorage(index.place))
    assert opened is not None
    located = opened.catalog().locate(identities(list_directory(str(table)).files))
    assert located.files_unknown == 0
    keep = ~opened.judge(column, test, located.numbers).reject
    assert not opened.problems
    return int(np.count_nonzero(keep)), len(keep)


def test_a_spark_job_builds_what_threads_build(spark: SparkSession, table: Path) -> None:
    sketches: list[Sketch] = [MinMax("l"), Bloom("s"), CMap("s"), ValueSet("b"), Histogram("day")]
    told: list[build.Progress] = []
    by_job = Index.create(spark, str(table), sketches, name="by_job", tell=told.append)
    by_threads = Index.create(None, str(table), sketches, name="by_threads")
    assert told[-1].portions_done == told[-1].portions_total > 3
    for index in (by_job, by_threads):
        assert index.last_build is not None and index.last_build.problems == ()
    data = [sorted(path.name for path in (Path(index.place) / "data").iterdir()) for index in (by_job, by_threads)]
    # Sketches and packs are equal to the byte, and so are their names.
    assert len(set(data[0]) & set(data[1])) >= 6
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_keys_of_columns_that_spark_wrote_are_found_in_their_packs(spark: SparkSession, table: Path) -> None:
    kinds: list[Sketch] = [kind for column in KEYS for kind in (MinMax(column), Bloom(column, 0.001))]
    index = Index.create(spark, str(table), [*kinds, CMap("s"), ValueSet("i")], name="all")
    for column, key_of in KEYS.items():
        make = byte_keys if isinstance(key_of(0), bytes) else long_keys
        kept = 0
        for id_ in (0, 1, 1500, ROWS - 1):
            found, total = packs_with(index, table, column, ValueTest(make([key_of(id_)])))
            assert found >= 1, column
            kept += found
        nothing, total = packs_with(index, table, column, ValueTest(make([key_of(10**7 + 1)])))
        assert total >= 6 and kept < 4 * total, column
        if column not in ("i", "day"):
            assert nothing <= 1, column


def test_a_table_of_the_catalog_is_indexed_by_its_name(spark: SparkSession, table: Path) -> None:
    spark.read.parquet(str(table)).write.partitionBy("b").format("parquet").saveAsTable("parted")
    index = Index.create(spark, "parted", [Bloom("l"), MinMax("s")], name="i")
    stats = index.stats()
    assert stats["files_indexed"] == stats["files"] > 1
    assert [each.name for each in rtfilter.indexes(spark)] == ["i"]
    spark.sql("insert into parted select * from parted where id < 5")
    assert index.stats()["files_appended"] >= 1
    assert Index.load(spark, "parted", "i").refresh().files == index.stats()["files"] - stats["files"]
    with pytest.raises(IndexDefinitionError, match="Spark skips its files by itself"):
        Index.create(spark, "parted", [MinMax("b")], name="j")
    assert spark.table("parted").count() == ROWS + 5
    spark.sql("drop table parted")


def test_names_that_are_no_parquet_tables_are_refused(spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("a_view")
    with pytest.raises(IndexDefinitionError, match="made of Parquet tables"):
        Index.create(spark, "a_view", [MinMax("id")], name="i")
    with pytest.raises(IndexDefinitionError, match="can't be found"):
        Index.create(spark, "no_such_table", [MinMax("id")], name="i")


def test_files_of_the_old_calendar_leave_packs_open(spark: SparkSession, tmp_path: Path) -> None:
    modes = ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite")
    rows = spark.range(50).selectExpr("timestamp_micros(id) as at", "date'2000-01-01' as day").coalesce(1)
    try:
        for number, calendar in enumerate(("LEGACY", "CORRECTED")):
            for mode in modes:
                spark.conf.set(mode, calendar)
            rows.write.parquet(str(tmp_path / "t"), mode="append")
            if number == 0:
                with pytest.raises(IndexDefinitionError, match="could not hold a value of any file"):
                    Index.create(spark, str(tmp_path / "t"), [MinMax("at"), MinMax("day")], name="old")
    finally:
        for mode in modes:
            spark.conf.unset(mode)
    index = Index.create(spark, str(tmp_path / "t"), [MinMax("at"), MinMax("day")], name="i")
    for column in ("at", "day"):
        assert packs_with(index, tmp_path / "t", column, ValueTest(long_keys([10**9]))) == (1, 2), "the old file's pack is open"


def test_spark_reads_the_table_as_before_with_an_index_inside_it(spark: SparkSession, table: Path) -> None:
    Index.create(spark, str(table), [MinMax("l")], name="inside")
    assert spark.read.parquet(str(table)).count() == ROWS
