"""Do advised indexes save what advice says? No test; run it with nothing else running.

python tests/measure/promise_kept.py [SF=10] [RUNS=3]

Queries that an index on a fact table of TPC-DS can serve run with the query log on, once with literals in it and once without. Of
what `rtfilter.advise` then lists within a tenth of each table's bytes, every index is built alone, and its queries run again. The
bytes that they read (by Spark's own counter, without vectored reads, which it does not count) and their times stand beside what was
promised. At last all indexes are there, and every query is run in turns with the layer off: none may be slower than it is off
against off again.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bench.engines.spark_engine import register_tables
from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest, load_suite
from rtfilter.bridge.jvm import bytes_read

# A kind of query: the fact table, what it asks with `?` for values that are there, and what it reads.
KINDS = (
    ("store_sales", "ss_customer_sk = {ss_customer_sk}", "sum(ss_net_paid), count(*)"),
    ("store_sales", "ss_cdemo_sk = {ss_cdemo_sk}", "sum(ss_ext_sales_price), sum(ss_net_profit), max(ss_sold_date_sk)"),
    ("store_sales", "ss_addr_sk = {ss_addr_sk} and ss_quantity > 50", "sum(ss_net_profit)"),
    (
        "store_sales",
        "ss_customer_sk in ({ss_customer_sk}, {ss_customer_sk}, {ss_customer_sk})",
        "max(ss_sales_price), sum(ss_quantity)",
    ),
    ("store_sales", "ss_hdemo_sk = {ss_hdemo_sk} and ss_customer_sk = {ss_customer_sk}", "count(*), sum(ss_list_price)"),
    ("catalog_sales", "cs_bill_customer_sk = {cs_bill_customer_sk}", "sum(cs_net_paid), sum(cs_net_profit)"),
    ("catalog_sales", "cs_ship_addr_sk = {cs_ship_addr_sk}", "sum(cs_ext_ship_cost), count(*)"),
    ("catalog_sales", "cs_bill_cdemo_sk in ({cs_bill_cdemo_sk}, {cs_bill_cdemo_sk})", "sum(cs_quantity), avg(cs_list_price)"),
    ("web_sales", "ws_bill_customer_sk = {ws_bill_customer_sk}", "sum(ws_net_paid), sum(ws_net_profit)"),
    ("web_sales", "ws_ship_addr_sk = {ws_ship_addr_sk} and ws_quantity < 20", "sum(ws_ext_sales_price)"),
)
CALLS = 3
BUDGET = "10%"
WITHIN = 2.0
# Shorter promises are lost in the noise of a query.
LEAST_MS = 100


def main(sf: float, runs: int) -> int:
    suite = load_suite("tpcds")
    data = suite.prepare(DataRequest(sf, suite.default_zipf, "natural", DataCache(data_directory(None)), print))
    facts = {table: str(data.tables[table]) for table in dict.fromkeys(table for table, _, _ in KINDS)}
    statements = [sql for kind in KINDS for sql in calls_of(kind, facts)]
    failed = 0
    for literals in (True, False):
        with tempfile.TemporaryDirectory() as scratch, session(Path(scratch), data.tables, literals) as spark:
            failed += one_log(spark, Path(scratch), statements, facts, literals, runs)
    return failed


def calls_of(kind: tuple[str, str, str], facts: Mapping[str, str]) -> Iterator[str]:
    """The calls of a kind of query, each with values of rows that are drawn from the table."""
    table, condition, selected = kind
    connection = duckdb.connect()
    names = [part.partition("}")[0] for part in condition.split("{")[1:]]
    for call in range(CALLS):
        text = condition
        for number, name in enumerate(names):
            drawn = f"select {name} from (select {name} from '{facts[table]}/**/*.parquet' where {name} is not null limit 2000000)"
            (value,) = connection.execute(f"{drawn} using sample 1 rows (reservoir, {7 + 100 * call + number})").fetchone() or (0,)
            text = text.replace("{" + name + "}", str(value), 1)
        yield f"select {selected} from {table} where {text}"


@contextmanager
def session(scratch: Path, tables: Mapping[str, Path], literals: bool) -> Iterator[SparkSession]:
    conf = {
        **nothing_learned(scratch),
        "spark.rtfilter.enabled": "true",
        "spark.rtfilter.store.location": str(scratch / "indexes"),
        "spark.rtfilter.log.path": str(scratch / "log.jsonl"),
        "spark.rtfilter.log.literals": str(literals).lower(),
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    }
    spark = start_session("promise", "local[2]", conf=conf)
    try:
        register_tables(spark, tables)
        yield spark
    finally:
        spark.stop()


def ran(spark: SparkSession, statement: str, runs: int, label: str) -> tuple[float, int]:
    """The median ms of several runs, and the bytes of the last one."""
    times = []
    for number in range(runs):
        group = f"{label} {number} {statement}"
        spark.sparkContext.setJobGroup(group, label)
        started = time.perf_counter()
        spark.sql(statement).collect()
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times), bytes_read(spark, group)


def one_log(
    spark: SparkSession, scratch: Path, statements: Sequence[str], facts: Mapping[str, str], literals: bool, runs: int
) -> int:
    print(f"\n{len(statements)} queries of {len(KINDS)} kinds, log {'with' if literals else 'without'} literals")
    for statement in statements:
        ran(spark, statement, 1, "warm")
    (scratch / "log.jsonl").unlink()
    before = {statement: ran(spark, statement, 1, "logged") for statement in statements}
    spark.conf.set("rtfilter.log.path", "")
    lines = [json.loads(line) for line in (scratch / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    again = {statement: ran(spark, statement, runs, "before") for statement in statements}
    print(f"{len(lines)} lines; {sum(size for _, size in before.values()):,} bytes, {sum(ms for ms, _ in again.values()):,.0f} ms")
    advice = rtfilter.advise(spark, facts, log=scratch / "log.jsonl", budget=BUDGET)
    print(advice)
    queries = by_query(advice, statements)
    outcomes = []
    for item in advice.items:
        if item.kind in ("cluster_by", "star_tree", "row_index", "drop"):
            continue
        outcomes.append(held(spark, advice, item, queries, again, runs))
    kept = sum(good for _, good in outcomes)
    print(f"bytes within {WITHIN}x: {kept} of {len(outcomes)} items")
    slower = slower_ones(spark, statements, runs)
    print(f"slower beyond off against off again: {len(slower)} {slower or ''}")
    return int(kept < 0.8 * len(outcomes) or not outcomes) + bool(slower)


def by_query(advice: Any, statements: Sequence[str]) -> dict[str, list[str]]:
    """The statements of each kind of query that an item helps: those on its table with a condition on its column."""
    return {
        item.id: [each for each in statements if f" {item.table} " in each and all(f"{name} " in each for name in item.columns)]
        for item in advice.items
    }


def held(
    spark: SparkSession,
    advice: Any,
    item: Any,
    queries: Mapping[str, list[str]],
    before: Mapping[str, tuple[float, int]],
    runs: int,
) -> tuple[str, bool]:
    """Builds one item, runs its queries, and takes the index out of use again."""
    (applied,) = advice.apply([item.id])
    served = queries[item.id]
    after = {statement: ran(spark, statement, runs, item.id) for statement in served}
    saved = sum(before[each][1] - after[each][1] for each in served)
    saved_ms = sum(before[each][0] - after[each][0] for each in served)
    index = next(each for each in rtfilter.indexes(spark, item_path(spark, item)) if each.name in applied.done)
    size = index.stats()["bytes"]
    index.delete()
    ratio = saved / item.gain_bytes if item.gain_bytes else 0.0
    good = 1 / WITHIN <= ratio <= WITHIN
    timed = "" if item.gain_ms is None else f"; {saved_ms:,.0f} of {item.gain_ms:,.0f} ms ({saved_ms / item.gain_ms:.2f}x)"
    timed += " (short)" if item.gain_ms is not None and item.gain_ms < LEAST_MS else ""
    print(
        f"{item.kind} {item.table}.{','.join(item.columns)}: saved {saved:,} of {item.gain_bytes:,.0f} bytes ({ratio:.2f}x)"
        f"{timed}; "
        f"{len(served)} queries; {size:,} bytes built, {item.cost_bytes:,} said",
        flush=True,
    )
    return item.id, good


def item_path(spark: SparkSession, item: Any) -> str:
    return str(Path(spark.table(item.table).inputFiles()[0].removeprefix("file:")).parent)


def slower_ones(spark: SparkSession, statements: Sequence[str], runs: int) -> list[str]:
    """With all indexes there again: queries whose median is above that of off by more than off and off again differ."""
    for index in rtfilter.indexes(spark):
        if index.state == "DELETED":
            index.restore()
    found = []
    for statement in statements:
        times: dict[str, list[float]] = {"off": [], "on": [], "again": []}
        for _ in range(runs):
            for mode in times:
                spark.conf.set("rtfilter.enabled", str(mode == "on").lower())
                times[mode].append(ran(spark, statement, 1, mode)[0])
        medians = {mode: statistics.median(each) for mode, each in times.items()}
        noise = abs(medians["off"] - medians["again"])
        if medians["on"] > max(medians["off"], medians["again"]) + max(noise, 5.0):
            found.append(f"{statement}: {medians['off']:.0f}, {medians['on']:.0f}, {medians['again']:.0f} ms")
    spark.conf.set("rtfilter.enabled", "true")
    return found


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10, int(sys.argv[2]) if len(sys.argv) > 2 else 3))
