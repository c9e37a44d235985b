"""What testing rows gains before nothing but a filter's own join, by the join's keys and the share with a partner. No test.

python tests/measure/own_joins.py [runs [rows]], for example: python tests/measure/own_joins.py 7 40000000

Every value is in every pack, so none is rejected. rtfilter.cost is never, auto and always in turns, the first two runs of each not
counted. Medians in this order, and what `auto` decided in the end. `near`: the first whole numbers of two million, `apart`: some
of all of them, `far`: of whole numbers up to 10^15, `word`: of texts, `two`: of pairs of whole numbers.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bench.engines.spark_session import start_session

VALUES = 2_000_000
NUMBER = f"(i * 7919 % {VALUES})"
TEXT, PAIR = f"'word ' || {NUMBER} as word", f"{NUMBER} // 1000 as one, {NUMBER} % 1000 as other"
COLUMNS = f"{NUMBER} as apart, {NUMBER} * 1000000007 as far, {TEXT}, {PAIR}"
# In thousandths: those with a number at random, and the first ones.
KEYS = {
    "near": "b.apart = d.apart and nth < {0}",
    "apart": "b.apart = d.apart and u < {0}",
    "far": "b.far = d.far and u < {0}",
    "word": "b.word = d.word and u < {0}",
    "two": "b.one = d.one and b.other = d.other and u < {0}",
}
THOUSANDTHS = (1, 30, 100, 300)
MODES = ("never", "auto", "always")
WARMUP = 2


def write_tables(folder: Path, rows: int) -> None:
    drawn = f", hash(i) % 1000 as u, {NUMBER} // {VALUES // 1000} as nth"
    for name, count, more in (("big", rows, ""), ("dim", VALUES, drawn)):
        made = f"select i as v, {COLUMNS}{more} from range({count}) t(i)"
        duckdb.execute(f"copy ({made}) to '{folder}/{name}.parquet' (format parquet, row_group_size 122880)")


def timed_ms(spark: SparkSession, sql: str, cost: str) -> float:
    spark.conf.set("rtfilter.cost", cost)
    began = time.perf_counter()
    spark.sql(sql).collect()
    return (time.perf_counter() - began) * 1000


def decided(spark: SparkSession) -> str:
    report = rtfilter.last_report(spark)
    return "; ".join(f"{entry.reason}{' rows' * bool(entry.rows_tested)}" for entry in ([] if report is None else report.filters))


def main(runs: int, rows: int) -> None:
    conf = {"rtfilter.enabled": "true", "rtfilter.feedback.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "100m"}
    with tempfile.TemporaryDirectory() as scratch:
        write_tables(Path(scratch), rows)
        spark = start_session("own joins", "local[2]", conf=conf)
        for name in ("big", "dim"):
            spark.read.parquet(f"{scratch}/{name}.parquet").createOrReplaceTempView(name)
        for key, on in KEYS.items():
            for share in THOUSANDTHS:
                sql = f"select /*+ broadcast(d) */ count(*), sum(b.v) from big b join dim d on {on.format(share)}"
                took_ms: dict[str, list[float]] = {mode: [] for mode in MODES}
                says = ""
                for run in range(WARMUP + runs):
                    for mode in MODES if run % 2 else MODES[::-1]:
                        took_ms[mode].append(timed_ms(spark, sql, mode))
                        says = decided(spark) if mode == "auto" else says
                never, auto, always = (statistics.median(took_ms[mode][WARMUP:]) for mode in MODES)
                figures = (
                    f"never {never:,.0f}, auto {auto:,.0f}, always {always:,.0f} ms: {never / auto:.2f}x and {never / always:.2f}x"
                )
                print(f"{key}, {share / 10:g} % with a partner: {figures}; {says}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7, int(sys.argv[2]) if len(sys.argv) > 2 else 40_000_000)
