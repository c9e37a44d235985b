"""The planner host is asked of aggregates whose tables have star-trees, and of no others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter import StarTree
from rtfilter.bridge import jvm
from tests.spark.star_tree_answers.judge import decided

ASKED = "host: star"


def table(spark: SparkSession, folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    count = 1000
    pq.write_table(pa.table({"k": [i % 7 for i in range(count)], "x": list(range(count))}), place / "0.parquet")
    spark.read.parquet(str(place)).createOrReplaceTempView(name)
    return place


def asked(spark: SparkSession, sql: str) -> bool:
    assert spark.sql(sql).collect()
    return ASKED in (jvm.last_record(spark) or {})["own_ms"]


def test_only_aggregates_of_tables_with_trees_are_asked_about(spark: SparkSession, tmp_path: Path) -> None:
    table(spark, tmp_path, "bare")
    with_tree = table(spark, tmp_path, "treed")
    tree = StarTree.create(spark, str(with_tree), dimensions=["k"], measures=["sum(x)"], name="cube")
    assert asked(spark, "select k, sum(x) from treed group by k")
    assert not asked(spark, "select k, sum(x) from bare group by k")
    assert not asked(spark, "select * from treed order by x")
    spark.conf.set("rtfilter.startree.enabled", False)
    assert not asked(spark, "select k, sum(x) from treed group by k")
    spark.conf.set("rtfilter.startree.enabled", True)
    tree.delete()
    spark.sql("select k, sum(x) from treed group by k").collect()
    assert decided(spark) == []


def test_a_tree_of_which_a_file_is_gone_answers_nothing(spark: SparkSession, tmp_path: Path) -> None:
    place = table(spark, tmp_path, "t")
    StarTree.create(spark, str(place), dimensions=["k"], measures=["sum(x)"], name="cube")
    sql = "select k, sum(x) as s from t group by k order by k"
    rows = spark.sql(sql).collect()
    assert [entry["reason"] for entry in decided(spark)] == ["USED"]
    for data in place.glob("_rtfilter/@star_trees/cube/data/*.parquet"):
        if pq.read_metadata(data).schema.names[0] == "row":
            data.unlink()
    assert spark.sql(sql).collect() == rows
    assert [entry["reason"] for entry in decided(spark)] == ["UNREADABLE"]
