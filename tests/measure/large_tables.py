"""Tables of very many files: what the layer adds to an application's first query, and what judging their packs takes. No test.

python tests/measure/large_tables.py --part footers [--files 20000] [--pairs 3]
python tests/measure/large_tables.py --part verdicts [--files 1000000] [--packs 100]

`footers`: a table of small local files; an application reads their footers and ends. Then, in turns, applications without the layer
and with it, which finds what was kept. Prints seconds of first and later queries, and of them what the layer has held up.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.store.bounds.filters import filter_of_keys
from rtfilter.store.bounds.table_bounds import Part, table_bounds, table_might_match

LATER = 2
# Values between the first of a file and the first of the next one.
FILE_SPAN = 1_000_000
FILES_AT_ONCE = 2_000
# The most that may be added to a first query, in seconds, and the most of what is added to a later one.
MOST_ADDED_S, MOST_TIMES_LATER = 1.0, 1.3

PROGRAM = """
import json, sys, time
from pyspark.sql import SparkSession
mode, folder, later = sys.argv[1], sys.argv[2], int(sys.argv[3])
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
if mode != "spark":
    import rtfilter
    builder = rtfilter.configure(builder).config("rtfilter.store.cacheDirectory", f"{folder}/cache")
    builder = builder.config("rtfilter.feedback.enabled", "false")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
if mode != "spark":
    spark.conf.set("rtfilter.enabled", True)
if mode == "warm layer":
    # The layer has run once, on another table.
    spark.read.parquet(f"{folder}/dim").alias("d").join(spark.read.parquet(f"{folder}/dim"), "k").where("d.name < 'n2'").collect()
fact, dim = (spark.read.parquet(f"{folder}/{name}") for name in ("fact", "dim"))
seconds, own, wanted, read = [], [], len(fact.inputFiles()) if later == 0 else 0, 0
while len(seconds) <= later or (read < wanted and sum(seconds) < 300):
    began = time.perf_counter()
    rows = fact.join(dim, "k").where("name < 'n2'").groupBy().sum("v").collect()
    seconds.append(time.perf_counter() - began)
    if mode != "spark":
        from rtfilter.bridge import jvm
        record = jvm.last_record(spark)
        own.append(record["own_ms"])
        # The first application goes on until all footers are read.
        read = max([(fill.get("footers") or {}).get("read", 0) for fill in record["fills"]], default=0)
told = {"seconds": seconds, "own_ms": own, "rows": [list(row) for row in rows]}
if mode != "spark":
    told["footers"] = [fill.get("footers") or {"read": 0, "kept": 0} for fill in record["fills"]][-1]
    told["scans"] = [[each["packs_read"], each["packs_total"]] for each in record["scans"] if "packs_read" in each]
    # What is read is written a second later.
    time.sleep(3)
print(json.dumps(told))
spark.stop()
"""


def measure_footers(files: int, pairs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), files)
        # A file younger than that is not kept.
        time.sleep(3)
        told = run("layer", folder, 0)
        kept = sum(path.stat().st_size for path in Path(folder, "cache").rglob("*.footers"))
        read, first = told["footers"]["read"], told["seconds"][0]
        print(f"reads {read:,} footers: first query {first:.2f} s; {kept / 1e6:.1f} MB are kept", flush=True)
        taken: dict[str, list[dict[str, Any]]] = {"spark": [], "layer": [], "warm layer": []}
        for number in range(pairs):
            for mode in list(taken)[:: -1 if number % 2 else 1]:
                told = run(mode, folder, LATER)
                taken[mode].append(told)
                shown = f"first {told['seconds'][0]:.2f} s, later {median(told['seconds'][1:]):.2f} s"
                if mode != "spark":
                    assert told["footers"]["kept"] >= files and told["footers"]["read"] <= 1, told
                    shown += f"; the layer holds up {added_s(told, 0):.2f} s, later {later_added_s(told):.2f} s; {told['footers']}"
                    shown += f"; first: {json.dumps({name: round(ms) for name, ms in told['own_ms'][0].items() if ms >= 1})}"
                print(f"{number} {mode}: {shown}", flush=True)
        assert len({json.dumps(told["rows"]) for each in taken.values() for told in each}) == 1
    limits = f"at most {MOST_ADDED_S} s and {MOST_TIMES_LATER}x"
    for mode, where in (
        ("layer", "the first query of an application"),
        ("warm layer", "the first one of the table, after another join"),
    ):
        first, later = median(added_s(each, 0) for each in taken[mode]), median(map(later_added_s, taken[mode]))
        print(f"added to {where}: {first:.2f} s, to a later one: {later:.2f} s, {first / later:.2f}x ({limits})")
    ours, plain = (median(each["seconds"][0] for each in taken[mode]) for mode in ("layer", "spark"))
    print(f"first query: {ours:.2f} s with the layer, {plain:.2f} s without (medians of {pairs}, {files:,} files)")


def write_table(folder: Path, files: int) -> None:
    """Files of 1,000 rows in two packs, in the order of k; of the dimension's 500 keys a query asks for 100."""
    (folder / "fact").mkdir()
    (folder / "dim").mkdir()
    for number in range(files):
        keys = np.arange(1000 * number, 1000 * number + 1000)
        table = pa.table({"k": keys, "v": keys % 97})
        pq.write_table(table, folder / "fact" / f"part-{number:07}.parquet", row_group_size=500)
    keys = np.arange(0, 1000 * files, 2 * files)
    pq.write_table(pa.table({"k": keys, "name": [f"n{i}" for i in range(len(keys))]}), folder / "dim" / "0.parquet")


def run(mode: str, folder: str, later: int) -> dict[str, Any]:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, mode, folder, str(later)], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told


def added_s(told: dict[str, Any], number: int) -> float:
    """Seconds that the layer has held up a query in the driver: plans, keys, listing, waiting for the host."""
    return float(sum(told["own_ms"][number].values())) / 1000


def later_added_s(told: dict[str, Any]) -> float:
    return median(added_s(told, number) for number in range(1, len(told["own_ms"])))


def measure_verdicts(files: int, packs: int) -> None:
    print(f"{files:,} files of {packs} packs, {files * packs:,} packs, ten keys", flush=True)
    for scattered in (False, True):
        # In a process of its own, whose memory is no other's.
        child = multiprocessing.get_context("spawn").Process(target=judge, args=(files, packs, scattered))
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(child.exitcode)


def judge(files: int, packs: int, scattered: bool) -> None:
    """A column of made-up files under ten keys; the packs of scattered ones have all to be looked at."""
    before_mb, began = peak_mb(), time.perf_counter()
    table = table_bounds(made_up(files, packs, scattered))
    print(f"{'scattered' if scattered else 'in order'}: bounds made in {time.perf_counter() - began:.1f} s", flush=True)
    firsts = np.arange(10) * (files // 10) * FILE_SPAN
    keys = {"files settle it": firsts + FILE_SPAN - 1, "ten files": firsts + 12_345}
    if scattered:
        keys = {"scattered": np.random.default_rng(1).integers(0, files * FILE_SPAN, 10)}
    for name, asked in keys.items():
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            mask = table_might_match(table, filter_of_keys(np.sort(asked)))
            taken.append((time.perf_counter() - began) * 1000)
            kept, mask_bytes = int(np.count_nonzero(mask)), mask.nbytes
            # Or there would be two answers at a time.
            del mask
        shown = ", ".join(f"{ms:.0f}" for ms in taken)
        print(f"  {name}: {median(taken):,.0f} ms ({shown}); {kept:,} packs kept", flush=True)
    arrays_mb = (table.memory_bytes + mask_bytes) / 1e6
    print(f"  arrays {arrays_mb:,.0f} MB; the process had {before_mb:,.0f} MB before and {peak_mb():,.0f} at most", flush=True)


def made_up(files: int, packs: int, scattered: bool) -> Iterator[Part]:
    """Files of FILE_SPAN values each in order, with a gap at their ends; or packs anywhere, as wide as a hundredth of a file."""
    rng = np.random.default_rng(2)
    for first in range(0, files, FILES_AT_ONCE):
        count = min(FILES_AT_ONCE, files - first)
        if scattered:
            lows = rng.integers(0, files * FILE_SPAN, count * packs)
        else:
            within = rng.integers(0, FILE_SPAN * 9 // 10, (count, packs))
            lows = ((first + np.arange(count))[:, None] * FILE_SPAN + within).ravel()
        has_bounds, none = np.ones(count * packs, dtype=np.bool_), np.zeros(count * packs, dtype=np.bool_)
        yield Part(np.full(count, packs, dtype=np.int32), (lows,), (lows + FILE_SPAN // 100,), has_bounds, none, none)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("footers", "verdicts"), required=True)
    parser.add_argument("--files", type=int)
    parser.add_argument("--packs", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=3)
    given = parser.parse_args()
    if given.part == "footers":
        measure_footers(given.files or 20_000, given.pairs)
    else:
        measure_verdicts(given.files or 1_000_000, given.packs)
