"""Makes Spark event logs of a few queries, with whichever pyspark runs this file.

    python tests/spark/event_logs/make_logs.py DATA LOGS [--form plain|zstd|lz4|rolled|killed] [--only NAME...]

DATA gets small Parquet tables unless they are there. The log is written into LOGS. `killed` ends the JVM in the middle. Each query
has its name as the description of its job. Needs nothing but pyspark, so that other versions can run it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMS = {
    "plain": {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"},
    "zstd": {
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "zstd",
        "spark.eventLog.rolling.enabled": "false",
    },
    "lz4": {
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "lz4",
        "spark.eventLog.rolling.enabled": "false",
    },
    "rolled": {
        "spark.eventLog.compress": "true",
        "spark.eventLog.compression.codec": "zstd",
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "10m",
    },
    "killed": {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"},
}

# By name the statements that make logs; a list is run one after the other.
QUERIES: dict[str, str] = {
    "broadcast": "select /*+ broadcast(item) */ i_kind, sum(s_price), count(*) from sales join item on s_item = i_id"
    " where i_kind = 'tools' and s_day between 10 and 40 group by i_kind",
    "shuffled": "select /*+ merge(item) */ s_shop, max(s_price) from sales join item on s_item = i_id"
    " where i_size > 95 group by s_shop",
    "empty dimension": "select /*+ merge(item) */ count(*) from sales join item on s_item = i_id where i_kind = 'none such'",
    "two joins": "select count(*) from sales join item on s_item = i_id join shop on s_shop = h_id"
    " where i_kind = 'toys' and h_city = 'Rome'",
    "two keys": "select count(*) from sales join price on s_item = p_item and s_day = p_day where p_level = 3",
    "semi": "select count(*) from sales where s_item in (select i_id from item where i_size = 7)",
    "anti": "select count(*) from sales where not exists (select 1 from item where i_id = s_item and i_size < 50)",
    "left outer": "select count(i_kind) from sales left join (select * from item where i_size = 5) on s_item = i_id",
    "right outer": "select count(*) from sales right join (select * from item where i_size = 5) on s_item = i_id",
    "full outer": "select count(*) from sales full join (select * from item where i_size = 5) on s_item = i_id",
    "computed key": "select count(*) from sales join item on s_item + 1 = i_id * 2 where i_size = 6",
    "dynamic partitions": "select count(*), avg(v_price) from visits join shop on v_shop = h_id where h_city = 'Oslo'",
    "numbers": "select count(*) from sales where s_item in (1, 2, 3) or s_day = 77",
    "many numbers": "select count(*) from sales where s_item in (11, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13) and s_day >= 3",
    "texts": "select count(*) from item where i_kind in ('a,b', 'c', 'toys') and i_code like 'x1%'",
    "nulls": "select count(*) from item where i_code is null or not (i_size <=> 3) and i_size <> 4",
    "functions": "select count(*) from item where upper(i_kind) = 'TOYS' and i_size + 1 < 50",
    "saved": "select count(distinct s_shop), min(s_price) from saved_sales where s_item = 3",
    "saved join": "select count(*) from saved_sales join item on s_item = i_id where i_size = 2",
    "union": "select count(*) from (select s_item as a from sales union all select i_id from item)"
    " join price on a = p_item where p_level = 1",
    "self": "select count(*) from item a join item b on a.i_id = b.i_size where b.i_kind = 'toys'",
    "failing": "select raise_error('on purpose'), count(*) from sales join item on s_item = i_id where i_size = 9 group by s_price",
    "copy": "create table copied using parquet as select s_item, i_kind from sales join item on s_item = i_id where i_size = 1",
}


def frame_cases() -> dict[str, Callable[[Any], Any]]:
    """What no statement makes."""

    def cached(spark: Any) -> None:
        frame = spark.table("item").where("i_size < 20").cache()
        frame.count()
        spark.table("sales").join(frame, spark.table("sales").s_item == frame.i_id).where("s_day = 5").count()
        frame.unpersist()

    def some_rows(spark: Any) -> None:
        next(iter(spark.table("sales").where("s_day < 50").toLocalIterator()))
        spark.table("visits").where("v_price > 3").take(1)

    def in_batches(spark: Any) -> None:
        def add(batch: Any, _: int) -> None:
            batch.sparkSession.sql("select 1").count()
            batch.join(spark.table("item"), batch.s_item == spark.table("item").i_id).where("i_size = 8").count()

        folder = spark.conf.get("spark.cases.data")
        stream = spark.readStream.schema(spark.table("sales").schema).parquet(f"{folder}/sales")
        stream.writeStream.trigger(availableNow=True).foreachBatch(add).start().awaitTermination()

    return {"cached": cached, "some rows": some_rows, "batches": in_batches}


def session(logs: Path, form: str, warehouse: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("event logs")
    conf = {
        **FORMS[form],
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.resolve().as_uri(),
        "spark.sql.warehouse.dir": warehouse.resolve().as_uri(),
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def make_tables(spark: SparkSession, data: Path) -> None:
    """sales in the order of s_day, item and shop small, visits in folders by v_shop."""
    makers = {
        "sales": (
            "select id % 1000 as s_item, id div 1000 as s_day, id % 7 as s_shop, cast(id % 50 as decimal(7, 2)) as s_price"
            " from range(0, 100000, 1, 2)"
        ),
        "item": (
            "select id as i_id, element_at(array('tools', 'toys', 'a,b', 'c'), cast(id % 4 + 1 as int)) as i_kind,"
            " id % 100 as i_size, if(id % 10 = 0, null, concat('x', id)) as i_code from range(0, 1000, 1, 1)"
        ),
        "shop": "select id as h_id, element_at(array('Rome', 'Oslo'), cast(id % 2 + 1 as int)) as h_city from range(0, 7, 1, 1)",
        "price": "select id % 1000 as p_item, id div 1000 as p_day, id % 5 as p_level from range(0, 5000, 1, 1)",
    }
    for name, statement in makers.items():
        if not (data / name).exists():
            spark.sql(statement).write.parquet(str(data / name))
    if not (data / "visits").exists():
        visits = spark.sql("select id % 50 as v_price, id % 7 as v_shop from range(0, 20000, 1, 1)")
        visits.write.partitionBy("v_shop").parquet(str(data / "visits"))


def run(spark: SparkSession, data: Path, names: list[str]) -> None:
    for name in ("sales", "item", "shop", "price", "visits"):
        spark.read.parquet(str(data / name)).createOrReplaceTempView(name)
    spark.conf.set("spark.cases.data", str(data))
    if any("saved_sales" in QUERIES.get(name, "") for name in names):
        spark.table("sales").write.saveAsTable("saved_sales")
    frames = frame_cases()
    for name in names:
        spark.sparkContext.setJobDescription(name)
        try:
            if name in frames:
                frames[name](spark)
            else:
                spark.sql(QUERIES[name]).collect()
        except Exception as error:
            if name != "failing":
                raise
            print(f"{name}: {type(error).__name__}, as it should")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Makes Spark event logs of a few queries.")
    parser.add_argument("data", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--form", choices=tuple(FORMS), default="plain")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these queries")
    options = parser.parse_args(arguments)
    options.logs.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = session(options.logs, options.form, options.logs / "warehouse")
    os.chdir(options.logs)
    make_tables(spark, options.data.resolve())
    run(spark, options.data.resolve(), options.only or [*QUERIES, *frame_cases()])
    if options.form == "killed":
        spark.sparkContext.setJobDescription("killed")
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        os.kill(gateway.proc.pid, signal.SIGKILL)
        os._exit(0)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
