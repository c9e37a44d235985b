"""Executors in processes of their own: the jar, filters and readers travel, and an executor may be lost in mid-query."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from rtfilter.bridge import jvm
from tests.spark.applications import application, give_time
from tests.spark.cases import FACT_FILES, dim_table, fact_table, write_files

EXECUTOR = "CoarseGrainedExecutorBackend"
SCHEMAS = {
    "fact": "k int, kl bigint, ks smallint, kn int, r int, d date, v bigint, s string",
    "dim": "id int, idl bigint, idn int, day date, grp int, name string",
}


@pytest.fixture(scope="module", params=["JavaSerializer", "KryoSerializer"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A driver and two executors of one core each (local-cluster). Kryo refuses classes that it does not know."""
    folder = tmp_path_factory.mktemp("cluster")
    write_files(fact_table(), folder / "fact", FACT_FILES)
    write_files(dim_table(), folder / "dim", 1)
    conf = {
        "spark.executor.memory": "700m",
        "spark.serializer": f"org.apache.spark.serializer.{request.param}",
        "spark.kryo.registrationRequired": "true",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.extraJavaOptions": f"-Duser.dir={folder}",
    }
    with application("rtfilter cluster tests", conf, master="local-cluster[2,1,900]", log_level="OFF") as spark:
        give_time(spark)
        spark.conf.set("rtfilter.cost", "always")
        for name, schema in SCHEMAS.items():
            # Kryo would refuse what Spark itself sends to find a schema out.
            spark.read.schema(schema).parquet(str(folder / name)).createOrReplaceTempView(name)
        yield spark


def executors() -> list[int]:
    listed = subprocess.run(["pgrep", "-f", EXECUTOR], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]


@pytest.mark.parametrize("threshold", ["-1", "10MB"])
def test_filters_reach_executors(cluster: SparkSession, threshold: str) -> None:
    cluster.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    sql = "select count(*), sum(v), max(s) from fact join dim on k = id and fact.d = dim.day where grp = 3 and id < 900"
    off = cluster.sql(sql).collect()
    cluster.conf.set("rtfilter.enabled", True)
    frame = cluster.sql(sql)
    on = frame.collect()
    cluster.conf.set("rtfilter.enabled", False)
    assert on == off
    assert on[0][0] > 0
    (fact,) = [scan for scan in jvm.scan_metrics(frame) if scan["table"] == "fact"]
    assert fact["packs_read"] < fact["packs_total"]
    assert sum(each["rows_dropped"] for each in jvm.row_metrics(frame)) > 0


def test_a_lost_executor_costs_no_row(cluster: SparkSession) -> None:
    cluster.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    sql = "select count(*), sum(v), count(distinct r) from fact join dim on k = id where grp < 25"
    off = cluster.sql(sql).collect()
    before = executors()
    assert len(before) >= 2

    def kill_soon() -> None:
        time.sleep(0.6)
        subprocess.run(["kill", "-9", str(before[0])], check=False)

    cluster.conf.set("rtfilter.enabled", True)
    killer = threading.Thread(target=kill_soon)
    killer.start()
    try:
        results = [cluster.sql(sql).collect() for _ in range(4)]
    finally:
        killer.join()
        cluster.conf.set("rtfilter.enabled", False)
    assert results == [off] * 4
    assert before[0] not in executors()
