"""Joins over a table with an index: packs are rejected that no footer rejects, and results stay what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rtfilter import Bloom, Index, ValueSet
from tests.spark.cases import OnOffDuckDB, dim_table, fact_table, write_files

# r is random: every pack's bounds span all keys.
SQL = "select count(*), sum(v) from spread join dim on r = id where name = 'n1234'"


@pytest.fixture
def spread(spark: SparkSession, check: OnOffDuckDB, tmp_path: Path) -> Path:
    write_files(fact_table(), tmp_path / "spread", 4)
    spark.read.parquet(str(tmp_path / "spread")).createOrReplaceTempView("spread")
    check.add("spread", tmp_path / "spread")
    return tmp_path / "spread"


def test_an_index_rejects_packs_that_footers_keep(spark: SparkSession, check: OnOffDuckDB, spread: Path, tmp_path: Path) -> None:
    spark.conf.set("rtfilter.keyFirst", "never")
    check(SQL, rejects=False)
    Index.create(None, str(spread), [Bloom("r")], name="i", location=str(tmp_path / "store"))
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    assert check(SQL, rejects=True).packs_rejected > 40


@pytest.mark.parametrize("kind", ["bloom", "value_set"])
@pytest.mark.parametrize(("probe", "build"), [("rt", "name"), ("rl", "idl")], ids=["text", "number"])
def test_keys_known_by_a_bloom_filter_only_reject_packs(
    spark: SparkSession, check: OnOffDuckDB, tmp_path: Path, kind: str, probe: str, build: str
) -> None:
    table = fact_table()
    r = table["r"].to_numpy().astype(np.int64)
    table = table.append_column("rt", pa.array([f"n{x}" for x in r])).append_column("rl", pa.array(r * 1_000_000_007))
    write_files(table, tmp_path / "spread", 4)
    spark.read.parquet(str(tmp_path / "spread")).createOrReplaceTempView("spread")
    check.add("spread", tmp_path / "spread")
    spark.conf.set("rtfilter.kinds", "bloom")
    spark.conf.set("rtfilter.keyFirst", "never")
    sql = f"select count(*), sum(v) from spread join dim on {probe} = {build} where id in (77, 1234, 4000)"
    check(sql, rejects=False)
    Index.create(
        None,
        str(tmp_path / "spread"),
        [Bloom(probe) if kind == "bloom" else ValueSet(probe, 1000)],
        name="i",
        location=str(tmp_path / "store"),
    )
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    assert check(sql, rejects=True).packs_rejected > 20


def test_an_index_inside_the_table_is_used_and_stale_files_are_read(spark: SparkSession, spread: Path) -> None:
    spark.conf.set("rtfilter.enabled", False)
    index = Index.create(None, str(spread), [ValueSet("r", 1000)], name="i")
    before = spark.sql(SQL).collect()
    spark.conf.set("rtfilter.enabled", True)
    assert spark.sql(SQL).collect() == before
    write_files(dim_table().select(["id"]).rename_columns(["r"]), spread / "more", 1)
    for name in ("part-000.parquet",):
        (spread / "more" / name).rename(spread / "added.parquet")
    spark.read.parquet(str(spread)).createOrReplaceTempView("spread")
    added = spark.sql(SQL.replace("sum(v)", "sum(r)")).collect()
    spark.conf.set("rtfilter.enabled", False)
    assert spark.sql(SQL.replace("sum(v)", "sum(r)")).collect() == added and added[0][0] == before[0][0] + 1
    assert index.stats()["files_appended"] == 1


def test_a_damaged_index_changes_nothing(spark: SparkSession, check: OnOffDuckDB, spread: Path, tmp_path: Path) -> None:
    index = Index.create(None, str(spread), [Bloom("r")], name="i", location=str(tmp_path / "store"))
    spark.conf.set("rtfilter.store.location", str(tmp_path / "store"))
    for path in (Path(index.place) / "data").iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    spark.conf.set("rtfilter.keyFirst", "never")
    check(SQL, rejects=False)
