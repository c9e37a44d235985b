"""A table with more packs than fit into the memory for footers: files beyond it are judged by their own bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.cases import OnOffDuckDB

FILES = 120
MEMORY_BYTES = 60_000


@pytest.fixture
def many(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> Iterator[None]:
    """Files of ten packs with the numbers from 100 i to 100 i + 99, without 100 i + 40 to 59; every seventh is null."""
    (tmp_path / "many").mkdir()
    for i in range(FILES):
        numbers = np.array([100 * i + (n if n < 40 or n >= 60 else 0) for n in range(100)], dtype=np.int64)
        keys = pa.array(numbers, pa.int64(), mask=numbers % 7 == 3)
        pq.write_table(pa.table({"k": keys, "v": numbers}), tmp_path / "many" / f"{i:03}.parquet", row_group_size=10)
    wanted = [205, 4_204, 11_999, 350, 8_888_888]
    (tmp_path / "wanted").mkdir()
    pq.write_table(pa.table({"id": wanted, "name": ["a", "a", "a", "gap", "none"]}), tmp_path / "wanted" / "0.parquet")
    for name in ("many", "wanted"):
        check.add(name, tmp_path / name)
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    spark.conf.set("rtfilter.footers.cacheBytes", MEMORY_BYTES)
    spark.conf.set("rtfilter.store.cacheBytes", 0)
    spark.conf.set("rtfilter.cost", "always")
    yield
    # The bound is the host's; the next list that it is told of brings another one.
    spark.conf.unset("rtfilter.footers.cacheBytes")


@pytest.mark.parametrize("wanted", ["'a'", "'a', 'gap'"])
@pytest.mark.parametrize("join", ["join", "left semi join"])
def test_rows_are_right_and_files_are_left_out(check: OnOffDuckDB, many: None, wanted: str, join: str) -> None:
    dim = f"(select * from wanted where name in ({wanted}))"
    checked = check(
        f"select count(*), sum(v) from many {join} {dim} w on k = id",
        rejects=True,
        duck_sql=f"select count(*), sum(v) from many where k in (select id from {dim})",
    )
    (scan,) = [each for each in checked.scans if each["table"] == "many"]
    # Files of ten packs that are known as a whole count as one.
    assert scan["packs_total"] < 10 * FILES and checked.rows == [(3, 205 + 4_204 + 11_999)]


def test_so_are_scans_that_keep_their_splits(spark: SparkSession, check: OnOffDuckDB, many: None) -> None:
    named = spark.table("many").inputFiles()[0].rpartition("/")[0]
    spark.read.parquet(named).selectExpr("k", "v", "_metadata.file_name like '%.parquet' as ok").createOrReplaceTempView("named")
    sql = "select v, {} from {} join wanted on k = id where name <> 'none'"
    checked = check(sql.format("ok", "named"), rejects=True, duck_sql=sql.format("true", "many"))
    assert len(checked.rows) == 3


def test_footers_are_read_once_and_files_dropped(spark: SparkSession, many: None) -> None:
    spark.conf.set("rtfilter.enabled", True)
    read = set()
    for _ in range(3):
        frame = spark.sql("select sum(v) from many join wanted on k = id where name = 'a'")
        assert frame.collect()[0][0] == 205 + 4_204 + 11_999
        record = jvm.last_record(spark)
        assert record is not None
        read.add(record["fills"][-1]["footers"]["read"])
        (scan,) = [each for each in jvm.scan_metrics(frame) if each["table"] == "many"]
        # At most all of three files, where these are known as a whole only.
        assert scan["narrowed"] and scan["numOutputRows"] <= 300, scan
    assert len(read) == 1
