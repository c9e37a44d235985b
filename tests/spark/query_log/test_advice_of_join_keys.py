"""An index on a join's key, advised by the query log, saves the bytes that it promised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import rtfilter
from tests.spark.query_log.conftest import Logged

pytest.importorskip("duckdb")

from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables  # after the check that the bench extra is there
from rtfilter.bench.suites.suite import Query

ROWS, PACK, ITEMS, KINDS = 600_000, 10_000, 30_000, 5_000
WITHIN = 2.0


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    """Items lie anywhere in sales; there are six of each kind."""
    r = np.random.default_rng(12)
    sales = {"s_item": np.minimum(ITEMS, r.zipf(1.1, ROWS)) * 7919 % ITEMS, **{f"m{i}": r.random(ROWS) for i in range(4)}}
    items = {"i_id": np.arange(ITEMS), "i_kind": r.permutation(np.arange(ITEMS) % KINDS)}
    for name, columns, rows in (("sales", sales, PACK), ("item", items, ITEMS)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(columns), tmp_path / name / "0.parquet", row_group_size=rows, use_dictionary=False)
    return {name: tmp_path / name for name in ("sales", "item")}


def test_bytes_after_apply_are_as_promised(spark: SparkSession, log: Logged, tables: dict[str, Path]) -> None:
    register_tables(spark, tables)
    spark.conf.set("rtfilter.enabled", "true")
    spark.conf.set("rtfilter.keyFirst", "never")
    statements = [
        f"select sum(m0 + m1 + m2 + m3) from sales join item on s_item = i_id where i_kind = {kind}"
        for kind in range(0, KINDS, 700)
    ]
    lines = log.lines(lambda: [spark.sql(each).collect() for each in statements])
    filters = [each for line in lines for each in line["filters"]]
    # Footers reject nothing, and the log has how many keys there were.
    assert [(each["packs_kept"], each["keys"]) for each in filters] == [(ROWS // PACK, 6)] * len(statements)
    advice = rtfilter.advise(spark, {"sales": str(tables["sales"])}, log=log.path, budget="100%")
    (item,) = (each for each in advice.items if each.columns == ("s_item",) or list(each.columns) == ["s_item"])
    spark.conf.set("rtfilter.log.path", "")
    before = read(spark, statements)
    (applied,) = advice.apply([item.id])
    assert applied.built
    saved = before - read(spark, statements)
    assert saved > 0.1 * before and item.gain_bytes is not None
    assert saved / WITHIN <= item.gain_bytes <= saved * WITHIN


def test_nothing_is_promised_for_packs_that_are_left_after_their_keys(
    spark: SparkSession, log: Logged, tables: dict[str, Path]
) -> None:
    register_tables(spark, tables)
    spark.conf.set("rtfilter.enabled", "true")
    statement = "select sum(m0 + m1 + m2 + m3) from sales join item on s_item = i_id where i_kind = {}"

    def advised(mode: str) -> list[str]:
        spark.conf.set("rtfilter.keyFirst", mode)
        lines = log.lines(lambda: [spark.sql(statement.format(kind)).collect() for kind in range(0, KINDS, 700)])
        assert any(scan["packs_by_keys"] for line in lines for scan in line["scans"]) == (mode == "always")
        items = rtfilter.advise(spark, {"sales": str(tables["sales"])}, log=log.path, budget="100%").items
        log.path.unlink()
        return [item.kind for item in items if tuple(item.columns) == ("s_item",)]

    assert advised("never") and not advised("always")


def read(spark: SparkSession, statements: list[str]) -> int:
    engine = SparkEngine(spark, "rtfilter")
    found = [engine.run(Query("q", each, each, ("sales", "item")), count_bytes=True).bytes_read for each in statements]
    return sum(size or 0 for size in found)
