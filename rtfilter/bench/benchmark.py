"""One benchmark from its arguments to its files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rtfilter.bench.cache import DataCache
from rtfilter.bench.duckdb_engine import DuckDbEngine
from rtfilter.bench.duckgen import connection
from rtfilter.bench.html import render_report
from rtfilter.bench.machine import machine_data, usable_cpus
from rtfilter.bench.modes import DUCKDB
from rtfilter.bench.progress import BenchProgress
from rtfilter.bench.result import Result, Settings, as_json, require_writable, write_text_atomically
from rtfilter.bench.run import Engine, Execution, Step, run_interleaved
from rtfilter.bench.session import start_session
from rtfilter.bench.spark_engine import SparkEngine, register_tables
from rtfilter.bench.suite import DataRequest, Suite
from rtfilter.errors import BenchError


@dataclass(frozen=True)
class Plan:
    """Everything that a benchmark run needs to know."""

    suite: Suite
    settings: Settings
    query_ids: tuple[str, ...]
    data: Path
    out: Path
    master: str

    def __post_init__(self) -> None:
        for option, count in (("--pack-rows", self.settings.pack_rows), ("--files", self.settings.files)):
            if count is not None and count < 1:
                raise BenchError(f"{option} is {count}; it must be 1 or more.")
        if self.settings.zipf is not None and not self.suite.takes_zipf:
            raise BenchError(f"suite {self.suite.name!r} has no --zipf: its data is not skewed. Leave the option out.")


def run_benchmark(plan: Plan, progress: BenchProgress) -> Result:
    """Makes or finds the data, runs everything, writes `result.json` and `report.html` into `plan.out`.

    Raises:
        BenchError: unusable arguments, data that cannot be written, or a query that fails.
        RtFilterError: the environment lacks something (Java, a bridge for this Spark).
    """
    settings = plan.settings
    request = DataRequest(
        settings.sf, settings.zipf, settings.layout, DataCache(plan.data), progress.say, settings.pack_rows, settings.files
    )
    require_writable(plan.out)
    data = plan.suite.prepare(request)
    queries = [query for query in data.queries if query.id in plan.query_ids]
    if not queries:
        raise BenchError(f"the data of this scale factor has none of the queries {', '.join(plan.query_ids)}. Give a larger --sf.")
    with _engines(plan, data.tables, progress) as engines:
        progress.expect(len(queries) * len(engines) * (settings.runs + settings.warmup))

        def report_step(step: Step, execution: Execution) -> None:
            kind = "run" if step.measured else "warm-up"
            progress.advance(f"{step.query.id} [{step.mode}] {kind} {step.number + 1}: {execution.ms:,.0f} ms")

        measurements = run_interleaved(queries, engines, settings.runs, settings.warmup, report_step)
    result = Result(settings, machine_data(), tuple(measurements))
    progress.say("writes the report")
    write_text_atomically(plan.out / "result.json", as_json(result.to_dict()))
    write_text_atomically(plan.out / "report.html", render_report(result))
    return result


@contextmanager
def _engines(plan: Plan, tables: Mapping[str, Path], progress: BenchProgress) -> Iterator[dict[str, Engine]]:
    """One engine per mode, in the asked order; Spark is started only when a mode needs it."""
    modes = plan.settings.modes
    engines: dict[str, Engine] = {}
    spark = None
    with tempfile.TemporaryDirectory(prefix="rtfilter-bench-") as scratch, connection(Path(scratch)) as con:
        if any(mode != DUCKDB for mode in modes):
            progress.say("starts Spark")
            name = f"rtfilter bench {plan.suite.name}"
            spark = start_session(name, plan.master, plan.settings.broadcast_threshold_bytes, conf=plan.suite.spark_conf)
            register_tables(spark, tables)
        try:
            for mode in modes:
                if mode == DUCKDB:
                    engines[mode] = DuckDbEngine(con, tables, threads=local_threads(plan.master))
                else:
                    assert spark is not None
                    engines[mode] = SparkEngine(spark, mode)
            yield engines
        finally:
            if spark is not None:
                spark.stop()


def local_threads(master: str) -> int:
    """The processors that DuckDB may use beside a Spark master: as many as `local[N]` says, else all."""
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    if found is None:
        return usable_cpus()
    return int(found.group(1) or 1)
