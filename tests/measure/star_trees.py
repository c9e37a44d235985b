"""What star-trees win and cost. No test; run it with nothing else running, parts apart if need be.

    python tests/measure/star_trees.py OUT [--sf 10] [--parts answers,visited,hybrid,planning,build,whole] [--cores 1]

answers   the served queries of the suite `star`: with trees, without (the layer on), and in DuckDB; rows read and decoded
visited   some of them against the same aggregate over a Parquet file of just the rows that the walk has picked
hybrid    queries beside files that the tree does not know, against the tree alone and these files alone
planning  what a refused aggregate costs before it runs
build     making the trees: time against one GROUP BY with write, memory, bytes, and the estimate before
whole     all of TPC-DS at SF 1 with a tree on store_sales and without
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession

from rtfilter import StarTree
from rtfilter.bench.engines.spark_engine import register_tables
from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest, SuiteData
from rtfilter.bridge import jvm
from tpcds.star import SUITE, star_queries
from tpcds.star_tables import TABLES
from tpcds.suite import SPARK_CONF
from tpcds.suite import SUITE as TPCDS

PARTS = ("answers", "visited", "hybrid", "planning", "build", "whole")
SERVED = ("node", "leaf", "join")
_BOUNDS = re.compile(r"\(row#\d+L >= (\d+)\) AND \(row#\d+L < (\d+)\)")
RUNS = 3


def prepared(suite: Any, sf: float, queries: tuple[str, ...] | None = None) -> SuiteData:
    request = DataRequest(sf, None, "natural", DataCache(data_directory(None)), print, query_ids=queries)
    found: SuiteData = suite.prepare(request)
    return found


def session(out: Path, cores: int) -> SparkSession:
    conf = {**nothing_learned(out), **SPARK_CONF, "spark.sql.shuffle.partitions": "2"}
    spark = start_session("star-trees", f"local[{cores}]", driver_memory_gb=4, conf=conf)
    spark.conf.set("rtfilter.enabled", True)
    return spark


def took_ms(run: Callable[..., Any], *given: Any, **more: Any) -> float:
    begun = time.perf_counter()
    run(*given, **more)
    return (time.perf_counter() - begun) * 1000


def collected(spark: SparkSession, sql: str) -> None:
    spark.sql(sql).collect()


def planned(spark: SparkSession, sql: str) -> None:
    spark.sql(sql)._jdf.queryExecution().optimizedPlan()


def in_duckdb(connection: Any, sql: str) -> None:
    connection.execute(sql).fetchall()


def with_trees(spark: SparkSession, sql: str, on: bool) -> float:
    spark.conf.set("rtfilter.startree.enabled", on)
    return took_ms(collected, spark, sql)


def entries(spark: SparkSession) -> tuple[list[dict[str, Any]], dict[str, int]]:
    record = jvm.last_record(spark) or {}
    found = [entry for decision in record.get("decisions", ()) for entry in decision.get("star_trees") or ()]
    return [entry for entry in found if entry["used"]], record.get("tree_rows") or {}


def answers(data: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    spark = session(out, cores)
    register_tables(spark, data.tables)
    connection = duckdb.connect()
    connection.execute(f"set threads = {cores}")
    for name, path in data.tables.items():
        connection.execute(f"create view {name} as select * from read_parquet('{path}/*.parquet')")
    found = []
    for query in (each for each in data.queries if each.family in SERVED):
        without = min(with_trees(spark, query.spark_sql, on=False) for _ in range(2))
        times = [with_trees(spark, query.spark_sql, on=True) for _ in range(RUNS + 1)][1:]
        used, decoded = entries(spark)
        theirs = min(took_ms(in_duckdb, connection, query.duckdb_sql) for _ in range(2))
        row = {
            "query": query.id,
            "base_ms": without,
            "tree_ms": median(times),
            "duckdb_ms": theirs,
            "rows_read": sum(entry["rows_read"] for entry in used),
            "rows_decoded": sum(decoded.values()),
            "base_rows": sum(entry["base_rows"] for entry in used),
        }
        print(row, flush=True)
        found.append(row)
    spark.stop()
    return found


def visited(data: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    """The same aggregate over a file of the rows between the bounds that the scan got, which may be a few more."""
    spark = session(out, cores)
    register_tables(spark, data.tables)
    found = []
    for query in [each for each in data.queries if each.family in ("node", "leaf") and len(each.tables) == 1]:
        spark.conf.set("rtfilter.startree.enabled", True)
        frame = spark.sql(query.spark_sql)
        times = [took_ms(collected, spark, query.spark_sql) for _ in range(RUNS + 2)][2:]
        file = out / "visited" / query.id.replace(" ", "_")
        sql = _over_visited(spark, frame, data, query.tables[0], file)
        if sql is None:
            continue
        alone = [took_ms(collected, spark, sql) for _ in range(RUNS + 2)][2:]
        found.append({"query": query.id, "tree_ms": median(times), "rows_alone_ms": median(alone)})
        print(found[-1], flush=True)
    spark.stop()
    return found


def _over_visited(spark: SparkSession, frame: DataFrame, data: SuiteData, table: str, file: Path) -> str | None:
    plan = frame._jdf.queryExecution().toString()
    bounds = _BOUNDS.findall(plan)
    rows = [path for path in data.tables[table].glob("_rtfilter/@star_trees/*/data/*.parquet") if _has_rows(spark, path)]
    if not bounds or len(rows) != 1:
        return None
    shutil.rmtree(file, ignore_errors=True)
    where = " or ".join(f"row >= {low} and row < {high}" for low, high in sorted(set(bounds)))
    spark.read.parquet(str(rows[0])).where(where).coalesce(1).write.parquet(str(file))
    spark.read.parquet(str(file)).createOrReplaceTempView("visited_rows")
    keys = [name for name in spark.table("visited_rows").columns if re.fullmatch(r"d\d+", name)][:1]
    stored = [name for name in spark.table("visited_rows").columns if name.startswith(("count", "sum"))][:3]
    cells = ", ".join(f"sum(`{name}`)" for name in stored)
    grouped = "group by" in frame._jdf.queryExecution().logical().toString().lower() or "Aggregate [" in plan
    return f"select {keys[0]}, {cells} from visited_rows group by {keys[0]}" if grouped else f"select {cells} from visited_rows"


def _has_rows(spark: SparkSession, path: Path) -> bool:
    return "stars" in spark.read.parquet(str(path)).columns


def hybrid(data: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    spark = session(out, cores)
    register_tables(spark, data.tables)
    last = max(data.tables["flat_grown"].glob("*.parquet"))
    spark.read.parquet(str(last)).createOrReplaceTempView("late")
    found = []
    for query in (each for each in data.queries if each.family == "hybrid"):
        texts = {name: query.spark_sql.replace("flat_grown", name) for name in ("flat_grown", "flat", "late")}
        times: dict[str, list[float]] = {}
        for _ in range(RUNS + 2):
            for name, sql in texts.items():
                times.setdefault(name, []).append(with_trees(spark, sql, on=True))
        ms = {name: median(each[2:]) for name, each in times.items()}
        base = with_trees(spark, texts["flat_grown"], on=False)
        found.append(
            {"query": query.id, "hybrid_ms": ms["flat_grown"], "tree_ms": ms["flat"], "files_ms": ms["late"], "base_ms": base}
        )
        print(found[-1], flush=True)
    spark.stop()
    return found


def planning(data: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    """Time to an optimised plan, trees off and on in turns."""
    spark = session(out, cores)
    register_tables(spark, data.tables)
    found = []
    for query in (each for each in data.queries if each.family in ("refused", "node")):
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(25):
            for on in (False, True):
                spark.conf.set("rtfilter.startree.enabled", on)
                times[on].append(took_ms(planned, spark, query.spark_sql))
        off_ms, on_ms = (median(times[each][5:]) for each in (False, True))
        found.append({"query": query.id, "off_ms": off_ms, "on_ms": on_ms, "more_ms": on_ms - off_ms})
        print(found[-1], flush=True)
    spark.stop()
    return found


def build(data: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    """Each in a session of its own, with 2 GB of memory for the driver and both cores."""
    found = []
    for name in ("store_sales", "flat"):
        found.append(_built(name, data.tables[name], out))
        print(found[-1], flush=True)
    return found


def _built(name: str, path: Path, out: Path) -> dict[str, Any]:
    tree, place = TABLES[name].tree, out / "trees"
    assert tree is not None, "both have one"
    spark = start_session("build", "local[2]", driver_memory_gb=2, conf=nothing_learned(out))
    shutil.rmtree(place, ignore_errors=True)
    spark.read.parquet(str(path)).createOrReplaceTempView("t")
    spark.table("t").limit(1).collect()
    given: Any = {
        "dimensions": tree.dimensions,
        "measures": tree.measures,
        "location": str(place),
        "max_rows": "100%",
        "max_leaf": tree.max_leaf,
        "name": "new",
    }
    estimates: list[Any] = []
    estimate_ms = took_ms(lambda: estimates.append(StarTree.create(spark, str(path), dry_run=True, **given)))
    build_ms = took_ms(StarTree.create, spark, str(path), **given)
    memory_mb = {who: _peak_mb(pid) for who, pid in (("python", "self"), ("jvm", _jvm_pid(spark)))}
    stats = StarTree.load(spark, str(path), "new", location=str(place)).stats()
    own = [text for text in tree.measures if not text.startswith("avg")]
    keys = ", ".join(tree.dimensions)
    names = [*tree.dimensions, *(f"m{number}" for number in range(len(own)))]
    grouped = spark.sql(f"select {keys}, {', '.join(own)} from t group by {keys}").toDF(*names)
    group_ms = took_ms(lambda: grouped.write.mode("overwrite").parquet(str(out / "grouped")))
    spark.stop()
    return {
        "table": name,
        "build_ms": build_ms,
        "group_by_ms": group_ms,
        "estimate_ms": estimate_ms,
        "estimate": str(estimates[0]),
        **{key: stats[key] for key in ("rows", "bytes", "table_bytes")},
        "memory_mb": memory_mb,
    }


def _jvm_pid(spark: SparkSession) -> str:
    return str(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]


def _peak_mb(pid: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) >> 10


def whole(_: SuiteData, out: Path, cores: int) -> list[dict[str, Any]]:
    data = prepared(TPCDS, 1)
    spark = session(out, 2)
    register_tables(spark, data.tables)
    place = out / "whole"
    shutil.rmtree(place, ignore_errors=True)
    spark.conf.set("rtfilter.store.location", str(place))
    tree = TABLES["store_sales"].tree
    assert tree is not None, "it has one"
    StarTree.create(spark, str(data.tables["store_sales"]), dimensions=tree.dimensions, measures=tree.measures, name="by_date")
    total = {True: 0.0, False: 0.0}
    found: list[dict[str, Any]] = []
    for number, query in enumerate(data.queries):
        with_trees(spark, query.spark_sql, on=False)
        times = {on: with_trees(spark, query.spark_sql, on=on) for on in ((True, False), (False, True))[number % 2]}
        for on, ms in times.items():
            total[on] += ms
        found.append({"query": query.id, "off_ms": times[False], "on_ms": times[True]})
    print({"total_off_ms": total[False], "total_on_ms": total[True], "ratio": total[True] / total[False]}, flush=True)
    spark.stop()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="What star-trees win and cost.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sf", type=float, default=10)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cores", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    # The tables of TPC-H take minutes to make, and show nothing else.
    of_tpcds = tuple(query.id for query in star_queries() if "lineitem" not in query.tables)
    data = prepared(SUITE, given.sf, of_tpcds)
    for part in given.parts.split(","):
        print(part, flush=True)
        begun = time.monotonic()
        rows = globals()[part](data, given.out, given.cores)
        (given.out / f"{part}.json").write_text(json.dumps(rows, indent=1))
        print(f"{part} took {time.monotonic() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
