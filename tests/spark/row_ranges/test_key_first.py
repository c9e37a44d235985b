"""Keys decoded first: what is read then, by Spark's own metrics, when it stops, and files that it can't narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.row_ranges import offset_indexes

ROWS, PACK, PAGE = 40_000, 2_000, 200
SQL = "select /*+ broadcast(b) */ k, v, w, s from t join b on k = id"


def table(seed: int = 1) -> pa.Table:
    """Keys all over the place: each pack has keys from everywhere, so that footers reject none."""
    r = np.random.default_rng(seed)
    keys = r.permutation(ROWS)
    return pa.table({"k": keys, "v": r.integers(0, 10**9, ROWS), "w": r.random(ROWS), "s": [f"some text {key}" for key in keys]})


def write(path: Path, **how: Any) -> None:
    as_usual: dict[str, Any] = {
        "write_page_index": True,
        "max_rows_per_page": PAGE,
        "row_group_size": PACK,
        "use_dictionary": False,
    }
    pq.write_table(table(), path, **{**as_usual, **how})


def run(spark: SparkSession, path: Path, keys: list[int], mode: str = "auto") -> tuple[list[Any], dict[str, Any]]:
    """The rows with the layer on, which are those without it; and the metrics of the narrowed scan, empty where none was."""
    pq.write_table(pa.table({"id": keys}), path.parent / "b.parquet")
    spark.read.parquet(str(path)).createOrReplaceTempView("t")
    spark.read.parquet(str(path.parent / "b.parquet")).createOrReplaceTempView("b")
    spark.conf.set("rtfilter.keyFirst", mode)
    spark.conf.set("rtfilter.enabled", False)
    off = sorted(map(tuple, spark.sql(SQL).collect()))
    spark.conf.set("rtfilter.enabled", True)
    frame = spark.sql(SQL)
    on = sorted(map(tuple, frame.collect()))
    spark.conf.set("rtfilter.enabled", False)
    assert on == off and len(on) == len(keys)
    return on, next((scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]), {})


def test_only_pages_with_a_partner_are_read(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet")
    _, scan = run(spark, tmp_path / "t.parquet", [7, 20_000, 39_000])
    assert (scan["packs_total"], scan["packs_kept"], scan["packs_read"]) == (20, 20, 20 - scan["packs_by_keys"])
    assert scan["packs_read"] <= 3 and scan["rows_wanted"] == 3
    # A page of each of the four columns for each row, of ten a column.
    assert scan["pages_kept"] <= 12 and scan["pages_total"] == 40 * scan["packs_read"]
    assert scan["numOutputRows"] == 3
    report = rtfilter.last_report(spark)
    assert report is not None and [entry.reason for entry in report.filters] == ["KEY_FIRST"]
    assert "3 rows wanted" in report.scans[0].sentence()


def test_it_stops_where_every_page_holds_a_partner(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet")
    spark.conf.set("spark.sql.files.maxPartitionBytes", 1 << 30)
    keys = list(range(0, ROWS, 20))
    _, scan = run(spark, tmp_path / "t.parquet", keys)
    assert scan["key_first_stops"] == 1 and scan["packs_read"] == 20
    # Not more than three packs were tried by each of the tasks that ran at the same time.
    assert 0 < scan["rows_wanted"] <= len(keys) / 20 * 3 * 2.0
    report = rtfilter.last_report(spark)
    assert report is not None and "stopped" in report.scans[0].sentence()
    _, scan = run(spark, tmp_path / "t.parquet", keys, "always")
    assert scan["key_first_stops"] == 0 and scan["rows_wanted"] == len(keys)


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_it_does_not_begin_where_most_rows_are_wanted(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    write(tmp_path / "t.parquet")
    _, scan = run(spark, tmp_path / "t.parquet", list(range(0, ROWS, 2 if mode == "auto" else 10_000)), mode)
    assert not scan.get("rows_wanted")


def test_a_file_without_an_index_of_pages_is_read_by_packs(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", write_page_index=False)
    _, scan = run(spark, tmp_path / "t.parquet", [7, 20_000, 39_000])
    assert scan["packs_by_keys"] >= 17 and scan["pages_total"] == 0
    assert scan["numOutputRows"] == PACK * scan["packs_read"]


@pytest.mark.parametrize(
    "change", [offset_indexes.out_of_order, offset_indexes.overlapping, offset_indexes.past_the_end, offset_indexes.beginning_late]
)
def test_an_index_of_pages_that_cant_be_right_is_not_believed(
    spark: SparkSession, tmp_path: Path, change: Callable[[list[Any]], list[Any]]
) -> None:
    write(tmp_path / "t.parquet", compression="none")
    assert offset_indexes.rewrite(tmp_path / "t.parquet", lambda pages: list(pages)) == 80
    assert run(spark, tmp_path / "t.parquet", [7, 20_000, 39_000])[1]["pages_total"] > 0
    assert offset_indexes.rewrite(tmp_path / "t.parquet", change) >= 20
    _, scan = run(spark, tmp_path / "t.parquet", [7, 20_000, 39_000])
    assert scan["packs_by_keys"] >= 17 and scan["pages_kept"] == scan["pages_total"]
