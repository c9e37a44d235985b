"""What the layer adds to the start of a session and to its first query: pairs of processes in turns, without and with it. No test.

python tests/measure/startup.py [pairs]

The first query joins two small Parquet files. Prints seconds of each process, then medians.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

PROGRAM = """
import json, sys, time
began = time.perf_counter()
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
if sys.argv[1] == "configure":
    import rtfilter
    builder = rtfilter.configure(builder)
spark = builder.getOrCreate()
if sys.argv[1] == "configure":
    spark.conf.set("rtfilter.enabled", True)
started = time.perf_counter()
fact, dim = (spark.read.parquet(f"{sys.argv[2]}/{name}.parquet") for name in ("fact", "dim"))
rows = fact.join(dim, "k").where("name < 'n3'").count()
ended = time.perf_counter()
print(json.dumps({"session": started - began, "query": ended - started, "rows": rows}))
spark.stop()
"""


def main(pairs: int) -> None:
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "configure": []}
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        # The first pair finds caches cold and isn't counted.
        for number in range(pairs + 1):
            for mode in ("plain", "configure") if number % 2 else ("configure", "plain"):
                figures = run(mode, folder)
                print(number, mode, {name: round(value, 2) for name, value in figures.items()}, flush=True)
                if number:
                    taken[mode].append(figures)
    for name in ("session", "query"):
        plain, ours = (median(each[name] for each in taken[mode]) for mode in ("plain", "configure"))
        print(f"{name}: plain {plain:.2f} s, with configure {ours:.2f} s, {ours - plain:+.2f} s (medians of {pairs})")


def write_tables(folder: Path) -> None:
    keys = pa.array(range(100_000), pa.int32())
    pq.write_table(pa.table({"k": keys, "v": keys}), folder / "fact.parquet", row_group_size=5_000)
    pq.write_table(pa.table({"k": keys[:500], "name": [f"n{key}" for key in range(500)]}), folder / "dim.parquet")


def run(mode: str, folder: str) -> dict[str, float]:
    """Seconds of one process: until the session is there, and of its first query."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM, mode, folder], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main(int(dict(enumerate(sys.argv)).get(1, 5)))
