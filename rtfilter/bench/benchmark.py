"""One benchmark from its arguments to its files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine
from rtfilter.bench.engines.execution import Engine
from rtfilter.bench.engines.modes import DUCKDB
from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables
from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.figures.result import Result, Settings, as_json, require_writable, write_text_atomically
from rtfilter.bench.pages.report_page import render_report
from rtfilter.bench.run.checkpoint import Checkpoint
from rtfilter.bench.run.identity import build_digest, tables_digest
from rtfilter.bench.run.interleaved import Outcome, Step, run_query
from rtfilter.bench.run.machine import MachineData, machine_data
from rtfilter.bench.run.progress import BenchProgress
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.duckdb_generators import connection
from rtfilter.bench.suites.suite import DataRequest, Query, Suite
from rtfilter.errors import BenchError
from rtfilter.hardware import usable_cpus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Plan:
    """Everything that a benchmark run needs to know."""

    suite: Suite
    settings: Settings
    query_ids: tuple[str, ...]
    data: Path
    out: Path

    def __post_init__(self) -> None:
        for option, count in (("--pack-rows", self.settings.pack_rows), ("--files", self.settings.files)):
            if count is not None and count < 1:
                raise BenchError(f"{option} is {count}; it must be 1 or more.")
        if self.settings.sf is None and self.suite.scales:
            raise BenchError(f"suite {self.suite.name!r} needs a scale factor: give --sf.")
        if self.settings.sf is not None and not self.suite.scales:
            raise BenchError(f"suite {self.suite.name!r} has no --sf: its data is there already. Leave the option out.")
        if self.settings.zipf is not None and self.suite.default_zipf is None:
            raise BenchError(f"suite {self.suite.name!r} has no --zipf: its data is not skewed. Leave the option out.")


def run_benchmark(plan: Plan, progress: BenchProgress) -> Result:
    """Makes or finds the data, runs everything, writes `result.json` and `report.html` into `plan.out`.

    What an earlier process of the same benchmark finished, before it was killed, is taken over from there.

    Raises:
        BenchError: unusable arguments, or data that cannot be written.
        RtFilterError: the environment lacks something (Java, a bridge for this Spark).
    """
    settings = plan.settings
    request = DataRequest(
        sf=1.0 if settings.sf is None else settings.sf,
        zipf=settings.zipf,
        layout=settings.layout,
        cache=DataCache(plan.data),
        say=progress.say,
        pack_rows=settings.pack_rows,
        files=settings.files,
        query_ids=plan.query_ids,
    )
    require_writable(plan.out)
    data = plan.suite.prepare(request)
    queries = [query for query in data.queries if query.id in plan.query_ids]
    if not queries:
        raise BenchError(f"the data of this scale factor has none of the queries {', '.join(plan.query_ids)}. Give a larger --sf.")
    machine = machine_data()
    checkpoint = _checkpoint(plan, machine, data.tables)
    outcomes = _run_queries(plan, queries, data.tables, checkpoint, progress)
    measurements = tuple(measured for outcome in outcomes for measured in outcome.measurements)
    failures = tuple(failure for outcome in outcomes for failure in outcome.failures)
    result = Result(settings, machine, measurements, failures, data.distributions)
    progress.say("writes the report")
    write_text_atomically(plan.out / "result.json", as_json(result.to_dict()))
    write_text_atomically(plan.out / "report.html", render_report(result))
    checkpoint.finish()
    return result


def _checkpoint(plan: Plan, machine: MachineData, tables: Mapping[str, Path]) -> Checkpoint:
    """Of this benchmark: what another build, another table or another setting gave is not taken over."""
    return Checkpoint(
        plan.out,
        {
            "settings": asdict(plan.settings),
            "spark_conf": dict(plan.suite.spark_conf),
            "machine": machine,
            "build": build_digest(),
            "tables": tables_digest(tables),
        },
    )


def _run_queries(
    plan: Plan, queries: Sequence[Query], tables: Mapping[str, Path], checkpoint: Checkpoint, progress: BenchProgress
) -> list[Outcome]:
    settings = plan.settings
    finished = checkpoint.finished(queries)
    left = [query for query in queries if query.id not in finished]
    if finished:
        progress.say(f"takes over {len(finished)} of {len(queries)} queries that an earlier run finished")
    if left:
        with _engines(plan, tables, progress) as engines:
            progress.expect(len(left) * len(engines) * (settings.runs + settings.warmup))

            def report_step(step: Step, ms: float | None) -> None:
                kind = "run" if step.measured else "warm-up"
                progress.advance(
                    f"{step.query.id} [{step.mode}] {kind} {step.number + 1}: {'failed' if ms is None else f'{ms:,.0f} ms'}"
                )

            for query in left:
                finished[query.id] = run_query(query, engines, settings.runs, settings.warmup, report_step)
                checkpoint.add(finished[query.id], query)
    return [finished[query.id] for query in queries]


@contextmanager
def _engines(plan: Plan, tables: Mapping[str, Path], progress: BenchProgress) -> Iterator[dict[str, Engine]]:
    """One engine per mode, in the asked order; Spark is started only when a mode needs it."""
    modes = plan.settings.modes
    engines: dict[str, Engine] = {}
    spark = None
    with tempfile.TemporaryDirectory(prefix="rtfilter-bench-") as scratch, connection(Path(scratch)) as con:
        if any(mode != DUCKDB for mode in modes):
            progress.say("starts Spark")
            spark = _spark(plan, Path(scratch))
        try:
            if spark is not None:
                register_tables(spark, tables)
            for mode in modes:
                if mode == DUCKDB:
                    engines[mode] = DuckDbEngine(con, tables, local_threads(plan.settings.master), plan.settings.timeout_s)
                else:
                    assert spark is not None
                    engines[mode] = SparkEngine(spark, mode, plan.settings.timeout_s)
            yield engines
        finally:
            if spark is not None:
                spark.stop()


def _spark(plan: Plan, scratch: Path) -> SparkSession:
    return start_session(
        f"rtfilter bench {plan.suite.name}",
        plan.settings.master,
        plan.settings.broadcast_threshold_bytes,
        conf={**plan.suite.spark_conf, **nothing_learned(scratch)},
    )


def local_threads(master: str) -> int:
    """The processors that DuckDB may use beside a Spark master: as many as `local[N]` says, else all."""
    found = re.fullmatch(r"local(?:\[(\d+)(?:,\d+)?\])?", master)
    if found is None:
        return usable_cpus()
    return int(found.group(1) or 1)
