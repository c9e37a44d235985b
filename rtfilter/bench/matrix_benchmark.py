"""Runs the micro-benchmark of the seed in full and writes `matrix.json`."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rtfilter.bench.engines.execution import Engine
from rtfilter.bench.engines.page_cache import ColdEngine, files_below
from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables
from rtfilter.bench.engines.spark_session import nothing_learned, start_session
from rtfilter.bench.figures.matrix import SUITE, Cell, cells_of, modes_of, query_ids
from rtfilter.bench.figures.result import as_json, require_writable, write_text_atomically
from rtfilter.bench.run.interleaved import Failure, Measurement, Outcome, Step, run_query
from rtfilter.bench.run.machine import MachineData, machine_data
from rtfilter.bench.run.progress import BenchProgress
from rtfilter.bench.suites.data_cache import DataCache
from rtfilter.bench.suites.suite import DataRequest, Query, SuiteData, choose_layout, load_suite
from rtfilter.errors import BenchError


@dataclass(frozen=True)
class MatrixPlan:
    """What is measured: scale factor, layout (the suite's default when None), runs; selectivities as the suite writes them."""

    sf: float
    layout: str | None
    dops: tuple[int, ...]
    builds: tuple[str, ...]
    selectivities: tuple[str, ...]
    runs: int
    warmup: int
    data: Path
    out: Path


@dataclass(frozen=True)
class MatrixResult:
    """The cells that could be filled; queries that failed; measurements whose rows differ from those without filters."""

    plan: MatrixPlan
    machine: MachineData
    cells: tuple[Cell, ...]
    failures: tuple[Failure, ...]
    mismatches: tuple[Measurement, ...]

    def to_dict(self) -> dict[str, Any]:
        """The content of matrix.json."""
        settings = {name: value for name, value in asdict(self.plan).items() if name not in ("data", "out")}
        return {
            "suite": SUITE,
            **settings,
            "machine": self.machine,
            "cells": [cell.to_dict() for cell in self.cells],
            "failures": [asdict(failure) for failure in self.failures],
            "mismatches": [f"{measured.query.id} {measured.mode}: {measured.difference}" for measured in self.mismatches],
        }


def run_matrix(plan: MatrixPlan, progress: BenchProgress) -> MatrixResult:
    """Makes or finds the data, measures every cell, writes `matrix.json` into `plan.out`.

    Warm and cold runs never take turns: a cold one would leave the next warm one with half of its files in memory.

    Raises:
        BenchError: arguments or a system that can't be used, or data that can't be written.
        RtFilterError: the environment lacks something (Java, a bridge for this Spark).
    """
    suite = load_suite(SUITE)
    wanted = query_ids(plan.builds, plan.selectivities, suite.query_ids)
    if not wanted:
        known = ", ".join(dict.fromkeys(query_id.partition("=")[2] for query_id in suite.query_ids))
        raise BenchError(f"no query has a selectivity of {', '.join(plan.selectivities)}. There are: {known}.")
    require_writable(plan.out)
    layout = choose_layout(suite, plan.layout)
    request = DataRequest(plan.sf, suite.default_zipf, layout, DataCache(plan.data), progress.say, query_ids=wanted)
    data = suite.prepare(request)
    queries = [query for query in data.queries if query.id in wanted]
    modes = len(modes_of(cold=False)) + len(modes_of(cold=True))
    progress.expect(len(plan.dops) * len(queries) * modes * (plan.runs + plan.warmup))
    cells: list[Cell] = []
    outcomes: list[Outcome] = []
    for dop in plan.dops:
        with tempfile.TemporaryDirectory(prefix="rtfilter-bench-") as scratch:
            conf = nothing_learned(Path(scratch))
            found = _run_at(dop, plan, data, queries, suite.broadcast_threshold_bytes, conf, progress)
        outcomes += [outcome for _, outcome in found]
        cells += [cell for cold, outcome in found for cell in cells_of(dop, cold, outcome)]
    failures = tuple(failure for outcome in outcomes for failure in outcome.failures)
    mismatches = tuple(measured for outcome in outcomes for measured in outcome.measurements if not measured.agrees)
    result = MatrixResult(plan, machine_data(), tuple(cells), failures, mismatches)
    write_text_atomically(plan.out / "matrix.json", as_json(result.to_dict()))
    return result


def _run_at(
    dop: int,
    plan: MatrixPlan,
    data: SuiteData,
    queries: list[Query],
    broadcast_threshold_bytes: int | None,
    conf: Mapping[str, str],
    progress: BenchProgress,
) -> list[tuple[bool, Outcome]]:
    """Every query at one degree of parallelism: (whether files were cold, outcome)."""
    progress.say(f"starts Spark with dop {dop}")
    spark = start_session(f"rtfilter bench matrix, dop {dop}", f"local[{dop}]", broadcast_threshold_bytes, conf=conf)
    try:
        register_tables(spark, data.tables)
        outcomes = []
        for cold in (False, True):
            for query in queries:
                engines: dict[str, Engine] = {mode: SparkEngine(spark, mode) for mode in modes_of(cold)}
                if cold:
                    files = files_below(data.tables[table] for table in query.tables)
                    engines = {mode: ColdEngine(engine, files) for mode, engine in engines.items()}
                temperature = "cold" if cold else "warm"

                def report_step(step: Step, ms: float | None, what: str = f"dop {dop}, {temperature}") -> None:
                    told = "failed" if ms is None else f"{ms:,.0f} ms"
                    progress.advance(f"{step.query.id} [{step.mode}, {what}] run {step.number + 1}: {told}")

                outcomes.append((cold, run_query(query, engines, plan.runs, plan.warmup, report_step)))
        return outcomes
    finally:
        spark.stop()
