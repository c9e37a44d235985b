"""Interleaved runs: run 1 of every mode, then run 2 of every mode, so that a slow minute of the machine hits all alike.

The modes take turns: in a JVM that is still getting faster the first one would always be the slowest.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rtfilter.bench.engines.execution import Engine, Execution, QueryFailedError, QueryTimeoutError, Row
from rtfilter.bench.engines.modes import judge_of
from rtfilter.bench.run.canonical_rows import result_sha256
from rtfilter.bench.run.judge import answer_difference, difference
from rtfilter.bench.suites.closing_limit import without_limit
from rtfilter.bench.suites.suite import Query


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
    """All measured runs of one query in one mode. `last` comes without its rows; `bytes_read`: None without warm-up.

    `difference` says what is wrong with the rows of one of the runs, and is None when all of them are right.
    """

    query: Query
    mode: str
    ms: tuple[float, ...]
    rows: int
    result_sha256: str
    difference: str | None
    last: Execution
    bytes_read: int | None = None

    @property
    def agrees(self) -> bool:
        return self.difference is None

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ms)

    @property
    def spread(self) -> float:
        """Slowest less fastest, over the median."""
        return (max(self.ms) - min(self.ms)) / self.median_ms if self.median_ms else 0.0


@dataclass(frozen=True)
class Failure:
    """A query that one mode could not run to its end."""

    query_id: str
    mode: str
    reason: str
    timed_out: bool


@dataclass(frozen=True)
class Outcome:
    """What became of one query: a measurement for each mode that ran it, a failure for each that did not."""

    query_id: str
    measurements: tuple[Measurement, ...]
    failures: tuple[Failure, ...]


def steps(queries: Sequence[Query], modes: Sequence[str], runs: int, warmup: int) -> Iterator[Step]:
    """Every run in the order in which it is done."""
    for query in queries:
        for measured, count in ((False, warmup), (True, runs)):
            for number in range(count):
                for mode in _turn(modes, number):
                    yield Step(query, mode, number, measured)


def _turn(modes: Sequence[str], number: int) -> Iterator[str]:
    """The modes in the order of one round.

    What has run leaves work to the JVM (garbage, compilation) that slows down what comes next. Over two rounds for each mode every
    mode follows every other twice: a design of E. J. Williams, 1949, with each of its rows followed by the row reversed.
    """
    count = len(modes)
    zigzag = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(count)]
    order = [modes[(place + number // 2) % count] for place in zigzag]
    return reversed(order) if number % 2 else iter(order)


def run_query(
    query: Query,
    engines: Mapping[str, Engine],
    runs: int,
    warmup: int,
    on_step: Callable[[Step, float | None], None] = lambda step, ms: None,
) -> Outcome:
    """Runs one query in every mode. A mode that fails once is left out of the query's further runs.

    `on_step` hears of every step: its time in ms, or None when it failed or was left out.
    """
    executions: dict[str, list[Execution]] = {mode: [] for mode in engines}
    bytes_read: dict[str, int | None] = {}
    failures: dict[str, Failure] = {}
    for step in steps([query], tuple(engines), runs, warmup):
        if step.mode in failures:
            on_step(step, None)
            continue
        try:
            execution = engines[step.mode].run(query, step.counts_bytes)
        except QueryFailedError as error:
            failures[step.mode] = Failure(query.id, step.mode, str(error), isinstance(error, QueryTimeoutError))
            on_step(step, None)
            continue
        on_step(step, execution.ms)
        if step.counts_bytes:
            bytes_read[step.mode] = execution.bytes_read
        if step.measured:
            executions[step.mode].append(execution)
    finished = {mode: done for mode, done in executions.items() if mode not in failures}
    measurements = tuple(_measurements(query, finished, bytes_read, engines)) if finished else ()
    return Outcome(query.id, measurements, tuple(failures.values()))


def _measurements(
    query: Query, by_mode: Mapping[str, Sequence[Execution]], bytes_read: Mapping[str, int | None], engines: Mapping[str, Engine]
) -> Iterator[Measurement]:
    judge = judge_of(tuple(by_mode))
    judged = by_mode[judge][0]
    expected_sha256 = result_sha256(judged.rows)

    @cache
    def without_its_limit() -> Sequence[Row] | QueryFailedError:
        unlimited = replace(query, spark_sql=without_limit(query.spark_sql), duckdb_sql=without_limit(query.duckdb_sql))
        try:
            return engines[judge].run(unlimited).rows
        except QueryFailedError as error:
            return error

    def all_expected() -> Sequence[Row]:
        found = without_its_limit()
        if isinstance(found, QueryFailedError):
            raise found
        return found

    against_answer = None if query.answer is None else answer_difference(judged.rows, query.answer)
    for mode, executions in by_mode.items():
        odd, against_judge = executions[-1], None
        for execution in executions:
            against_judge = difference(query, execution.rows, judged.rows, judged.columns, all_expected)
            if against_judge is not None:
                odd = execution
                break
        yield Measurement(
            query=query,
            mode=mode,
            ms=tuple(execution.ms for execution in executions),
            rows=len(odd.rows),
            # Results that agree within the tolerance of floats, or but for ties, carry one digest: the judge's.
            result_sha256=result_sha256(odd.rows) if against_judge else expected_sha256,
            difference=against_judge or against_answer,
            last=replace(executions[-1], rows=()),
            bytes_read=bytes_read.get(mode),
        )
