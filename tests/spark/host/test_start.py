"""The planner host starts with the first query that has something for it, and no earlier."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = """
import sys, time
from pyspark.sql import SparkSession
import rtfilter
from rtfilter.bridge import jvm

def waited():
    until = time.monotonic() + 60
    while jvm.host_pid(spark) < 0 and time.monotonic() < until:
        time.sleep(0.1)
    return jvm.host_pid(spark) > 0

def state_is_made():
    field = spark._jsparkSession.getClass().getDeclaredField("sessionState")
    field.setAccessible(True)
    return field.get(spark._jsparkSession) is not None

table, enabled_first, sql = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("rtfilter.planner.timeoutMs", "60000")
spark = rtfilter.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
print("state", state_is_made(), flush=True)
print("after configure", jvm.host_pid(spark) > 0, flush=True)
spark.read.parquet(table).createOrReplaceTempView("t")
spark.sql("select a.k from t a join t b on a.k = b.k").collect()
print("after a join with the layer off", jvm.host_pid(spark) > 0, flush=True)
spark.conf.set("rtfilter.enabled", enabled_first == "yes")
spark.sql("select k, count(*) from t where k > 3 group by k order by k").collect()
print("after a query with no join", jvm.host_pid(spark) > 0, flush=True)
frame = spark.sql(sql)
spark.conf.set("rtfilter.enabled", True)
frame._jdf.queryExecution().optimizedPlan()
print("with its query", waited(), flush=True)
frame.collect()
"""


@pytest.mark.parametrize(
    ("sql", "indexed", "enabled_first"),
    [
        ("select a.k from t a join t b on a.k = b.k", False, True),
        ("select k from t where k in (select max(k) from t)", False, True),
        ("select k from t intersect select k + 1 from t", False, True),
        ("select k from t where k = 5", True, True),
        ("select a.k from t a join t b on a.k = b.k", False, False),
    ],
)
def test_the_host_starts_when_a_query_has_something_for_it(tmp_path: Path, sql: str, indexed: bool, enabled_first: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = tmp_path / "t"
    table.mkdir()
    pq.write_table(pa.table({"k": list(range(100))}), table / "part.parquet")
    if indexed:
        (table / "_rtfilter").mkdir()
    command = [sys.executable, "-c", DRIVER, str(table), "yes" if enabled_first else "no", sql]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    said = [line.rsplit(" ", 1) for line in ran.stdout.splitlines() if line.endswith((" True", " False"))]
    assert said == [
        ["state", "False"],
        ["after configure", "False"],
        ["after a join with the layer off", "False"],
        # An index beside the table is something that any condition on it may be judged by.
        ["after a query with no join", str(indexed)],
        ["with its query", "True"],
    ]
