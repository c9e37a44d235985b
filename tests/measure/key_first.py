"""What decoding keys first wins and costs: a wide table in random order, joined with few rows. Run it with nothing else running.

    python tests/measure/key_first.py OUT [--rows 30000000] [--turns 3] [--cores 1] [--pages 20000,2000]

Each query runs by turns with rtfilter.keyFirst=never, which is the reader before, and with auto; DuckDB stands beside it. All other
columns of the wanted rows are aggregated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.suites.data_cache import data_directory
from rtfilter.bridge import jvm

FILES, PACK, RUN = 10, 65_536, 100
NUMBERS, DOUBLES, TEXTS = 3, 4, 3
# By the pages' rows: name, key column, keys.
WANTED = {
    20_000: (
        ("30 rows", "k", 30),
        ("300 rows", "k", 300),
        ("300 runs of 100 rows", "g", 300),
        ("1 %", "k", 300_000),
        ("half", "g", 150_000),
    ),
    2_000: (("300 rows", "k", 300), ("3,000 rows", "k", 3_000)),
}


def table_of(rows: int, page_rows: int) -> Path:
    """A folder with a wide table in random order: `k` is another number in each row, `g` one in each run of 100 rows."""
    folder = data_directory(None) / f"key-first-{rows}-{page_rows}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        r = np.random.default_rng(1)
        keys, runs = r.permutation(rows), r.permutation(rows // RUN)
        for number in range(FILES):
            own = slice(rows // FILES * number, rows // FILES * (number + 1))
            n = own.stop - own.start
            columns: dict[str, Any] = {"k": keys[own], "g": np.repeat(runs[own.start // RUN : own.stop // RUN], RUN)}
            columns.update({f"i{i}": r.integers(0, 10**6, n) for i in range(NUMBERS)})
            columns.update({f"d{i}": r.random(n) for i in range(DOUBLES)})
            columns.update({f"s{i}": pa.array(r.integers(0, 10**9, n)).cast(pa.string()) for i in range(TEXTS)})
            how: dict[str, Any] = {"row_group_size": PACK, "max_rows_per_page": page_rows, "write_page_index": True}
            pq.write_table(pa.table(columns), folder / f"{number}.parquet", data_page_size=1 << 30, use_dictionary=False, **how)
        (folder / "done").touch()
    return folder


def query(key: str) -> str:
    sums = [f"sum({name}{i})" for name, many in (("i", NUMBERS), ("d", DOUBLES)) for i in range(many)]
    texts = [f"max(s{i})" for i in range(TEXTS)]
    return f"select /*+ broadcast(b) */ count(*), {', '.join((*sums, *texts))} from t join b on t.{key} = b.id"


def measure(spark: SparkSession, duck: duckdb.DuckDBPyConnection, name: str, key: str, turns: int) -> dict[str, Any]:
    ms: dict[str, list[float]] = {"never": [], "auto": [], "duckdb": []}
    found: dict[str, Any] = {}
    scan: dict[str, Any] = {}
    for turn in range(turns + 1):
        for mode in ms:
            spark.conf.set("rtfilter.keyFirst", mode if mode != "duckdb" else "never")
            begun = time.perf_counter()
            if mode == "duckdb":
                rows = duck.execute(query(key)).fetchall()
            else:
                frame = spark.sql(query(key))
                rows = [tuple(row) for row in frame.collect()]
            if turn:
                ms[mode].append((time.perf_counter() - begun) * 1000)
            found[mode] = rows[0][0], rows[0][1]
            if mode == "auto":
                scan = next((each for each in jvm.scan_metrics(frame) if each["narrowed"]), {})
    assert len(set(found.values())) == 1, found
    middle = {mode: round(median(each)) for mode, each in ms.items()}
    shown = ("packs_by_keys", "packs_read", "pages_kept", "pages_total", "rows_wanted", "key_first_stops")
    ratio = round(middle["never"] / middle["auto"], 2)
    return {"wanted": name, **middle, "ratio": ratio, **{each: scan.get(each) for each in shown}, "turns": ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--pages", default="20000,2000")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    folders = {int(rows): table_of(given.rows, int(rows)) for rows in given.pages.split(",")}
    spark = start_session("key-first", f"local[{given.cores}]", driver_memory_gb=4, conf=nothing_learned(given.out))
    spark.conf.set("rtfilter.enabled", True)
    duck = duckdb.connect()
    duck.execute(f"set threads = {given.cores}")
    lines = []
    for page_rows, folder in folders.items():
        spark.read.parquet(str(folder)).createOrReplaceTempView("t")
        duck.execute(f"create or replace view t as select * from '{folder}/*.parquet'")
        for name, key, many in WANTED[page_rows]:
            among = given.rows if key == "k" else given.rows // RUN
            keys = given.out / "keys.parquet"
            pq.write_table(pa.table({"id": np.random.default_rng(many).permutation(among)[:many]}), keys)
            spark.read.parquet(str(keys)).createOrReplaceTempView("b")
            duck.execute(f"create or replace view b as select * from '{keys}'")
            lines.append({"page_rows": page_rows, **measure(spark, duck, name, key, given.turns)})
            print({each: value for each, value in lines[-1].items() if each != "turns"}, flush=True)
    (given.out / "key_first.json").write_text(json.dumps(lines, indent=1))
    spark.stop()


if __name__ == "__main__":
    main()
