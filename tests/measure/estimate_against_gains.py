"""Does `rtfilter estimate` name the joins that gain? What it says of an event log of TPC-DS, and what rtfilter gains. No test.

    python tests/measure/estimate_against_gains.py OUT SF [--layout natural] [--runs 3] [--queries 3,7] [--steps log,gains,compare]

Step `log` runs the queries in plain Spark, without our jar, and keeps the event log. `gains` runs them off and on in turns.
`compare` reads both: of the queries that are said to gain how many do, and Spearman's correlation of the middle of the range with
the measured gain. Each step can be repeated alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rtfilter.bench.suites.data_cache import DataCache, data_directory
from rtfilter.bench.suites.suite import DataRequest, SuiteData
from rtfilter.estimate.estimate import Estimate, estimate_logs
from tpcds.suite import SPARK_CONF, SUITE

WARM = "warm up"
# A gain is one that is above this.
LEAST_MS = 10.0
# What the report says of each filter. The layer made its estimate with the keys at hand, and no noise of the machine is in it.
FILTER_KEYS = ("probe", "build", "decision", "reason", "packs_total", "packs_kept", "estimated_gain_ms", "estimated_cost_ms")


def prepared(sf: float, layout: str, queries: str | None) -> SuiteData:
    wanted = tuple(queries.split(",")) if queries else None
    return SUITE.prepare(DataRequest(sf, None, layout, DataCache(data_directory(None)), print, query_ids=wanted))


def make_log(data: SuiteData, out: Path) -> None:
    """Each query once to warm up, and once more under its name."""
    from pyspark.sql import SparkSession

    logs = out / "events"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    conf = {
        **SPARK_CONF,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.resolve().as_uri(),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.driver.memory": "5g",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.appName("estimate").master("local[2]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for name, path in data.tables.items():
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    for query in data.queries:
        for description in (WARM, f"q{query.id}"):
            spark.sparkContext.setJobDescription(description)
            spark.sql(query.spark_sql).collect()
        print(f"q{query.id} is in the log", flush=True)
    spark.stop()


def measure_gains(data: SuiteData, out: Path, runs: int) -> None:
    """Times of each query with the layer off and on."""
    from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables
    from rtfilter.bench.engines.spark_session import nothing_learned, start_session
    from rtfilter.bench.run.interleaved import steps

    events = out / "gain_events"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir(parents=True)
    conf = {**SPARK_CONF, **nothing_learned(out), **plain_events(events)}
    spark = start_session("gains", "local[2]", driver_memory_gb=5, conf=conf)
    register_tables(spark, data.tables)
    engines = {mode: SparkEngine(spark, mode) for mode in ("off", "rtfilter")}
    took: dict[str, dict[str, Any]] = {}
    for step in steps(data.queries, tuple(engines), runs, warmup=1):
        done = engines[step.mode].run(step.query)
        if step.measured:
            of_query = took.setdefault(f"q{step.query.id}", {})
            of_query.setdefault(step.mode, []).append(done.ms)
            if step.mode == "rtfilter":
                of_query["filters"] = [{key: each.get(key) for key in FILTER_KEYS} for each in done.filters]
            (out / "gains.json").write_text(json.dumps(took, indent=1))
    spark.stop()


def plain_events(folder: Path) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def cpu_ms(folder: Path) -> dict[str, list[float]]:
    """Time that tasks spent on processors, which knows nothing of what else the machine does: by query and mode, as the engine
    describes its jobs, one number for each run but the first, which warms up."""
    of_stage: dict[int, str] = {}
    described: dict[str, str] = {}
    of_run: dict[str, float] = {}
    for file in folder.iterdir():
        for line in file.open(encoding="utf-8"):
            if line.startswith('{"Event":"SparkListenerJobStart"'):
                job = json.loads(line)
                run = job["Properties"].get("spark.jobGroup.id", "")
                described[run] = job["Properties"].get("spark.job.description", "")
                of_stage |= dict.fromkeys(job["Stage IDs"], run)
            elif line.startswith('{"Event":"SparkListenerTaskEnd"'):
                task = json.loads(line)
                run = of_stage.get(task["Stage ID"], "")
                of_run[run] = of_run.get(run, 0.0) + task.get("Task Metrics", {}).get("Executor CPU Time", 0) / 1e6
    found: dict[str, list[float]] = {}
    for run, description in described.items():
        found.setdefault(description, []).append(of_run.get(run, 0.0))
    return {description: runs[1:] for description, runs in found.items()}


def compare(out: Path) -> None:
    took = json.loads((out / "gains.json").read_text())
    logs = [path for path in (out / "events").iterdir() if not path.name.startswith(".")]
    found = estimate_logs(logs, {})
    said = by_query(found)
    cpu = cpu_ms(out / "gain_events")
    rows = []
    for name, modes in took.items():
        off, on = (sorted(modes[mode]) for mode in ("off", "rtfilter"))
        noise = off[-1] - off[0] if len(off) > 1 else 0.0
        gained = median(off) - median(on)
        least, most, sure = said.get(name, (0.0, 0.0, False))
        spent = [median(cpu.get(f"{name.removeprefix('q')} [{mode}]", [0.0])) for mode in ("off", "rtfilter")]
        by_cpu = spent[0] - spent[1]
        rows.append((name, median(off), gained, noise, least, most, sure, by_cpu))
    for name, off, gained, noise, least, most, sure, by_cpu in sorted(rows, key=lambda row: -row[2]):
        mark = "named" if sure else "maybe" if most > 0 else ""
        measured = f"gained {gained:8,.0f}  noise {noise:6,.0f}  of processors {by_cpu:7,.0f}"
        print(f"{name:>5} {off:8,.0f} ms  {measured}  said {least:7,.0f} to {most:7,.0f}  {mark}")
    named = [row for row in rows if row[6]]
    for place, what in ((2, "time"), (7, "time of processors")):
        right = [row for row in named if row[place] > LEAST_MS]
        print(f"of {len(named)} queries with joins that surely gain {len(right)} do, by {what}")
        gains = [row[place] for row in rows]
        ends = [spearman([row[end] for row in rows], gains) for end in (4, 5)]
        middle = spearman([row[4] + row[5] for row in rows], gains)
        print(f"Spearman over {len(rows)} queries: {middle:.2f} of the middle, {ends[0]:.2f} and {ends[1]:.2f} of the ends")
    compare_joins(found, took)


def compare_joins(found: Estimate, took: dict[str, Any]) -> None:
    """Of the joins that are said to gain, how many got a filter that by the layer's own account was worth it."""
    counts = {True: [0, 0], False: [0, 0]}
    for join in found.joins:
        filters = took.get(join.query, {}).get("filters")
        if filters is None:
            continue
        worth = any(
            (each["estimated_gain_ms"] or 0) > (each["estimated_cost_ms"] or 0)
            for each in applied(filters)
            if each["probe"].lower().endswith(f".{join.column.lower()}")
        )
        counts[join.is_sure][0] += worth
        counts[join.is_sure][1] += 1
    for sure, (paid, joins) in counts.items():
        print(f"joins that {'surely' if sure else 'may'} gain: {joins}, with a filter that was worth it: {paid}")
    names = sorted(took)
    said = [(found.by_query[name].least + found.by_query[name].most) / 2 if name in found.by_query else 0.0 for name in names]
    layer = [
        sum((each["estimated_gain_ms"] or 0) - (each["estimated_cost_ms"] or 0) for each in applied(took[name]["filters"]))
        for name in names
    ]
    print(f"Spearman of the middle and the layer's own account: {spearman(said, layer):.2f}")


def applied(filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in filters if each["decision"] == "applied"]


def by_query(found: Estimate) -> dict[str, tuple[float, float, bool]]:
    """By query the range of its gain, and whether one of its joins is sure to gain."""
    sure = {each.query for each in found.joins if each.is_sure}
    return {name: (saved.least, saved.most, name in sure) for name, saved in found.by_query.items() if name != WARM}


def spearman(first: list[float], second: list[float]) -> float:
    ranks = [_ranks(np.array(each)) for each in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, those of equal values averaged."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2.0)[place])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Holds `rtfilter estimate` against measured gains.")
    parser.add_argument("out", type=Path)
    parser.add_argument("sf", type=float)
    parser.add_argument("--layout", default="natural")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", metavar="3,7,19")
    parser.add_argument("--steps", default="log,gains,compare")
    options = parser.parse_args(arguments)
    steps = options.steps.split(",")
    if len(steps) > 1:
        # A process settles its jars once: plain Spark must have none of ours.
        for step in steps:
            subprocess.run([sys.executable, __file__, *arguments, "--steps", step], check=True)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if steps == ["log"]:
        make_log(prepared(options.sf, options.layout, options.queries), options.out)
    elif steps == ["gains"]:
        measure_gains(prepared(options.sf, options.layout, options.queries), options.out, options.runs)
    elif steps == ["compare"]:
        compare(options.out)
    else:
        parser.error(f"--steps is {options.steps!r}; it is one or more of log, gains, compare.")


if __name__ == "__main__":
    main(sys.argv[1:])
