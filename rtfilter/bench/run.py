"""Interleaved runs: run 1 of every mode, then run 2 of every mode, so that a slow minute of the machine hits all alike.

The modes take turns to go first: in a JVM that is still getting faster the first one would always be the slowest.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rtfilter.bench.canonical import Row, result_sha256, same_result
from rtfilter.bench.modes import judge_of
from rtfilter.bench.suite import Query


@dataclass(frozen=True)
class Execution:
    """One run of one query: its time, rows, and what the engine counted; None where an engine does not count it."""

    ms: float
    rows: Sequence[Row]
    scan_rows: int | None = None
    bytes_read: int | None = None
    packs_total: int | None = None
    packs_kept: int | None = None
    filters: Sequence[Mapping[str, Any]] = ()


class Engine(Protocol):
    """Runs a query in one mode; with `count_bytes` it may do so more slowly, for the sake of `bytes_read`."""

    def run(self, query: Query, count_bytes: bool = False) -> Execution: ...


@dataclass(frozen=True)
class Step:
    """One planned run; `number` counts from 0 within warm-up runs and within measured ones."""

    query: Query
    mode: str
    number: int
    measured: bool

    @property
    def counts_bytes(self) -> bool:
        """Bytes are counted in the first warm-up run, so that no measured run is slowed down by it."""
        return not self.measured and self.number == 0


@dataclass(frozen=True)
class Measurement:
    """All measured runs of one query in one mode. `agrees`: each gave the judge's result; `bytes_read`: None without warm-up."""

    query: Query
    mode: str
    ms: tuple[float, ...]
    rows: int
    result_sha256: str
    agrees: bool
    sample: tuple[Row, ...]
    last: Execution
    bytes_read: int | None = None

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ms)

    @property
    def spread(self) -> float:
        """Slowest less fastest, over the median."""
        return (max(self.ms) - min(self.ms)) / self.median_ms if self.median_ms else 0.0


def steps(queries: Sequence[Query], modes: Sequence[str], runs: int, warmup: int) -> Iterator[Step]:
    """Every run in the order in which it is done."""
    for query in queries:
        for measured, count in ((False, warmup), (True, runs)):
            for number in range(count):
                first = number % len(modes)
                for mode in (*modes[first:], *modes[:first]):
                    yield Step(query, mode, number, measured)


def run_interleaved(
    queries: Sequence[Query],
    engines: Mapping[str, Engine],
    runs: int,
    warmup: int,
    on_step: Callable[[Step, Execution], None] = lambda step, execution: None,
) -> list[Measurement]:
    """Runs everything; one measurement per query and mode, in that order."""
    measurements: list[Measurement] = []
    for query in queries:
        by_mode: dict[str, list[Execution]] = {mode: [] for mode in engines}
        bytes_by_mode: dict[str, int | None] = {}
        for step in steps([query], tuple(engines), runs, warmup):
            execution = engines[step.mode].run(query, step.counts_bytes)
            on_step(step, execution)
            if step.counts_bytes:
                bytes_by_mode[step.mode] = execution.bytes_read
            if step.measured:
                by_mode[step.mode].append(execution)
        measurements += _measurements(query, by_mode, bytes_by_mode)
    return measurements


def _measurements(
    query: Query, by_mode: Mapping[str, Sequence[Execution]], bytes_by_mode: Mapping[str, int | None]
) -> Iterator[Measurement]:
    expected = by_mode[judge_of(tuple(by_mode))][0].rows
    expected_sha256 = result_sha256(expected)
    for mode, executions in by_mode.items():
        wrong = next((execution for execution in executions if not same_result(execution.rows, expected)), None)
        shown = wrong or executions[-1]
        yield Measurement(
            query=query,
            mode=mode,
            ms=tuple(execution.ms for execution in executions),
            rows=len(shown.rows),
            # Results that agree within the tolerance of floats carry one digest: the judge's.
            result_sha256=result_sha256(shown.rows) if wrong else expected_sha256,
            agrees=wrong is None,
            sample=tuple(shown.rows[:3]),
            last=executions[-1],
            bytes_read=bytes_by_mode.get(mode),
        )
