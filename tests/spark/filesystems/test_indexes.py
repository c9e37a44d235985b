"""The life of an index on a filesystem that only Spark can open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter import Bloom, Index, IndexStorageError, MinMax
from rtfilter.index import api
from rtfilter.store.index_actions import build
from rtfilter.store.sketches.kinds import Sketch
from tests.index.tables import told_to_two_writers
from tests.spark.cases import fact_table


def append(table: Path, name: str = "more.parquet") -> None:
    pq.write_table(fact_table().slice(0, 1000), table / name, row_group_size=500)


def test_an_index_lives_where_its_table_is(spark: SparkSession, spread: Path) -> None:
    path = f"slow:{spread}"
    index = Index.create(spark, path, [Bloom("r"), MinMax("k")], name="i")
    assert index.place == f"slow:{spread}/_rtfilter/i" and (spread / "_rtfilter" / "i" / "log").is_dir()
    stats = index.stats()
    assert (stats["state"], stats["files"], stats["files_indexed"], stats["packs"]) == ("ACTIVE", 8, 8, 80)
    append(spread)
    assert index.stats()["files_appended"] == 1
    assert Index.load(spark, path, "i").refresh().files == 1
    assert index.optimize("full") == 1
    assert index.stats()["bytes_to_vacuum"] > 0 and index.vacuum() > 0 and index.stats()["bytes_to_vacuum"] == 0
    index.delete()
    index.restore()
    assert [each.name for each in rtfilter.indexes(spark, path)] == ["i"]
    assert index.stats()["packs"] == 82
    index.delete()
    assert index.vacuum() >= 4 and not list((spread / "_rtfilter" / "i" / "data").iterdir())


def test_what_is_built_through_spark_is_what_python_builds(spark: SparkSession, spread: Path) -> None:
    kinds: list[Sketch] = [Bloom("r"), MinMax("d"), MinMax("s")]
    here = Index.create(None, str(spread), kinds, name="here")
    there = Index.create(spark, f"slow:{spread}", kinds, name="there")
    names = [{path.name for path in (spread / "_rtfilter" / each.name / "data").iterdir()} for each in (here, there)]
    # All of them but `files`, in which times may stand differently: content gives the name.
    assert len(names[0] & names[1]) >= 4


def test_a_table_of_the_catalog_and_its_partitions_are_indexed_there(spark: SparkSession, spread: Path, tmp_path: Path) -> None:
    frame = spark.table("spread").selectExpr("r", "v", "k % 3 as part")
    spark.sql("create database if not exists remote")
    try:
        frame.write.partitionBy("part").format("parquet").option("path", f"slow:{tmp_path}/parted").saveAsTable("remote.parted")
        index = Index.create(spark, "spark_catalog.remote.parted", [Bloom("r")], name="i")
        assert index.place == f"slow:{tmp_path}/parted/_rtfilter/i"
        assert index.stats()["files_indexed"] == index.stats()["files"] >= 3
        spark.sql("insert into remote.parted select r, v, 7 from spread where k < 5")
        assert Index.load(spark, "remote.parted", "i").refresh().files >= 1
        by_path = Index.load(spark, f"slow:{tmp_path}/parted", "i").stats()
        assert by_path["files_indexed"] == by_path["files"]
    finally:
        spark.sql("drop database remote cascade")


def test_a_table_of_one_file_is_indexed(spark: SparkSession, spread: Path) -> None:
    index = Index.create(spark, f"slow:{spread}/part-000.parquet", [Bloom("r")], name="one")
    assert index.stats()["files_indexed"] == index.stats()["files"] == 1


def test_a_filesystem_without_create_if_absent_is_refused(spark: SparkSession, spread: Path) -> None:
    with pytest.raises(IndexStorageError, match=r"'plain'.*rtfilter.store.schemes"):
        Index.create(spark, f"plain:{spread}", [Bloom("r")], name="i")
    assert not list((spread / "_rtfilter").rglob("*.*")) if (spread / "_rtfilter").exists() else True
    spark.conf.set("rtfilter.store.schemes", "plain")
    assert Index.create(spark, f"plain:{spread}", [Bloom("r")], name="i").state == "ACTIVE"


def test_conditional_writes_need_no_permission(spark: SparkSession, spread: Path, faults: Any) -> None:
    spark.conf.unset("rtfilter.store.schemes")
    index = Index.create(spark, f"cond:{spread}", [Bloom("r")], name="i")
    assert index.state == "ACTIVE"
    # The write went through, its answer did not: the writer knows its own entry again.
    faults.failAt("answer", 2)
    append(spread)
    assert index.refresh().files == 1
    assert index.stats()["under_way"] is None


def test_without_a_session_the_way_out_is_named(spread: Path) -> None:
    with pytest.raises(IndexStorageError, match=r"rtfilter\.configure"):
        Index.create(None, f"slow:{spread}", [Bloom("r")], name="i")


def test_of_two_writers_at_once_one_wins(spark: SparkSession, spread: Path, faults: Any) -> None:
    index = Index.create(spark, f"slow:{spread}", [MinMax("k")], name="i")
    append(spread)
    faults.delay(20)
    outcomes = told_to_two_writers(index.refresh)
    assert "done" in outcomes
    assert all(each == "done" or "another writer" in each or "REFRESHING" in each or "UNREADABLE" in each for each in outcomes)
    assert index.stats()["files_indexed"] == 9


def test_spark_jobs_build_what_the_driver_builds(spark: SparkSession, spread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[Sketch] = [Bloom("r"), MinMax("d"), MinMax("s")]
    by_driver = Index.create(spark, f"slow:{spread}", kinds, name="by_driver")
    monkeypatch.setattr(api, "SPARK_JOB_FROM_BYTES", 0)
    monkeypatch.setattr(build, "PORTION_BYTES", 30_000)
    by_job = Index.create(spark, f"slow:{spread}", kinds, name="by_job")
    names = [{path.name for path in (spread / "_rtfilter" / each.name / "data").iterdir()} for each in (by_driver, by_job)]
    # To the byte: files, packs and sketches.
    assert names[0] == names[1] and len(names[0]) == 5
    assert by_job.last_build is not None and by_job.last_build.problems == ()


def test_a_file_that_a_job_can_not_read_is_left_out(spark: SparkSession, spread: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "SPARK_JOB_FROM_BYTES", 0)
    # Spark takes the table's columns from the first file.
    (spread / "zz-broken.parquet").write_bytes(b"PAR1 nothing PAR1")
    index = Index.create(spark, f"slow:{spread}", [Bloom("r")], name="i")
    assert index.last_build is not None and index.last_build.files == 8
    assert [path for path, _ in index.last_build.problems] == [f"slow:{spread}/zz-broken.parquet"]


def test_a_path_without_a_scheme_is_on_the_default_filesystem(spark: SparkSession, spread: Path) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    before = conf.get("fs.defaultFS")
    conf.set("fs.defaultFS", "slow:///")
    try:
        assert Index.create(spark, str(spread), [MinMax("k")], name="i").place == f"slow:{spread}/_rtfilter/i"
        assert [each.name for each in rtfilter.indexes(spark, str(spread))] == ["i"]
    finally:
        conf.set("fs.defaultFS", before)
