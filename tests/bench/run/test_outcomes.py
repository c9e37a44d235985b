"""Failures, time limits, runs that go on after a kill, and the sign test."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

duckdb = pytest.importorskip("duckdb")

from rtfilter.bench.engines.deadline import deadline  # noqa: E402
from rtfilter.bench.engines.duckdb_engine import DuckDbEngine  # noqa: E402
from rtfilter.bench.engines.execution import Execution, QueryFailedError, QueryTimeoutError  # noqa: E402
from rtfilter.bench.figures.result import Result, Settings  # noqa: E402
from rtfilter.bench.figures.sign_test import sign_test  # noqa: E402
from rtfilter.bench.pages.report_page import render_report  # noqa: E402
from rtfilter.bench.pages.result_table import result_table  # noqa: E402
from rtfilter.bench.run.checkpoint import Checkpoint  # noqa: E402  # after the check that the bench extra is there
from rtfilter.bench.run.identity import build_digest, tables_digest  # noqa: E402
from rtfilter.bench.run.interleaved import Failure, run_query  # noqa: E402
from rtfilter.bench.suites.suite import Query  # noqa: E402

ONE = Query("one", "select 1", "select 1", ("t",), answer=None)
TWO = Query("two", "select 2", "select 2", ("t",))
MODES = ("off", "rtfilter")
MACHINE: dict[str, int | str | None] = {"cpus": 2, "memory_gb": 23, "spark": None, "java": None, "rtfilter": "0"}


class Counting:
    """An engine that takes 10 ms, fails for one query, and knows how often it was asked."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.calls = fails, 0

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        self.calls += 1
        if query.id == self.fails:
            raise QueryFailedError(f"query {query.id!r} failed")
        return Execution(10.0, [(7,)], scan_rows=5, filters=[{"decision": "applied"}])


def test_a_mode_that_fails_is_left_out_and_the_others_go_on() -> None:
    engines = {"off": Counting(), "rtfilter": Counting(fails="one")}
    heard: list[float | None] = []
    outcome = run_query(ONE, engines, runs=2, warmup=1, on_step=lambda step, ms: heard.append(ms))
    assert outcome.failures == (Failure("one", "rtfilter", "query 'one' failed", timed_out=False),)
    assert [measured.mode for measured in outcome.measurements] == ["off"]
    assert engines["rtfilter"].calls == 1 and heard.count(None) == 3 and len(heard) == 6


def test_a_query_that_fails_everywhere_has_no_measurement() -> None:
    outcome = run_query(ONE, {"off": Counting(fails="one")}, runs=1, warmup=0)
    assert outcome.measurements == () and len(outcome.failures) == 1


def test_failures_are_in_the_result_and_not_in_its_totals() -> None:
    engines = {"off": Counting(), "rtfilter": Counting(fails="one")}
    outcomes = [run_query(query, engines, runs=1, warmup=0) for query in (ONE, TWO)]
    measured = tuple(entry for outcome in outcomes for entry in outcome.measurements)
    failures = tuple(failure for outcome in outcomes for failure in outcome.failures)
    result = Result(Settings("s", 1.0, None, "natural", MODES, 1, 0), MACHINE, measured, failures)
    content = result.to_dict()
    assert content["summary"]["total_ms"] == {"off": 10.0, "rtfilter": 10.0} and content["summary"]["failures"] == 1
    assert content["failures"] == [{"query_id": "one", "mode": "rtfilter", "reason": "query 'one' failed", "timed_out": False}]
    assert "Not finished" in render_report(result)
    assert result_table(result).row_count == 2


def test_a_result_in_which_nothing_ran_is_still_a_report() -> None:
    failure = Failure("one", "off", "no", timed_out=True)
    result = Result(Settings("s", 1.0, None, "natural", MODES, 1, 0), MACHINE, (), (failure,))
    assert "Not finished" in render_report(result) and result_table(result).row_count == 1


def test_a_query_past_its_limit_is_interrupted_and_the_engine_still_works() -> None:
    engine = DuckDbEngine(duckdb.connect(), {}, threads=1, timeout_s=0.2)
    endless = Query("long", "", "SELECT count(*) FROM range(100000) a, range(100000) b WHERE hash(a.range, b.range) = 1", ())
    begin = time.monotonic()
    with pytest.raises(QueryTimeoutError, match=r"took longer than 0\.2 s in mode 'duckdb'"):
        engine.run(endless)
    assert time.monotonic() - begin < 60
    assert engine.run(Query("short", "", "SELECT 3", ())).rows == [(3,)]


def test_a_query_that_ends_by_itself_after_its_limit_is_past_it_too() -> None:
    class Deaf:
        description = (("n",),)

        def execute(self, sql: str) -> Any:
            if sql == "slow":
                time.sleep(0.1)
            return SimpleNamespace(fetchall=lambda: [(3,)])

        def interrupt(self) -> None:
            pass

    engine = DuckDbEngine(cast(Any, Deaf()), {}, threads=1, timeout_s=0.05)
    with pytest.raises(QueryTimeoutError, match=r"took longer than 0\.05 s in mode 'duckdb'"):
        engine.run(Query("long", "", "slow", ()))
    assert engine.run(Query("short", "", "", ())).rows == [(3,)]


def test_an_interrupt_that_finds_nothing_is_repeated() -> None:
    calls = []
    enough = threading.Event()

    def interrupt() -> None:
        calls.append(1)
        if len(calls) == 3:
            enough.set()

    with deadline(0.01, interrupt) as limit:
        assert enough.wait(10)
    assert limit.passed
    with deadline(60, interrupt) as limit:
        pass
    assert not limit.passed and len(calls) <= 4


def test_a_killed_benchmark_goes_on_where_it_was(tmp_path: Path) -> None:
    benchmark = {"settings": {"sf": 1.0}}
    done = run_query(ONE, {"off": Counting(), "rtfilter": Counting()}, runs=2, warmup=1)
    failed = run_query(TWO, {"off": Counting(), "rtfilter": Counting(fails="two")}, runs=1, warmup=0)
    for outcome, query in ((done, ONE), (failed, TWO)):
        Checkpoint(tmp_path, benchmark).add(outcome, query)
    found = Checkpoint(tmp_path, benchmark).finished([ONE, TWO])
    assert found.keys() == {"one", "two"} and found["two"].failures == failed.failures
    settings = Settings("s", 1.0, None, "natural", MODES, 2, 1)
    kept, original = (Result(settings, MACHINE, outcome.measurements).to_dict() for outcome in (found["one"], done))
    assert kept == original


def test_what_another_benchmark_left_counts_for_nothing(tmp_path: Path) -> None:
    outcome = run_query(ONE, {"off": Counting()}, runs=1, warmup=0)
    Checkpoint(tmp_path, {"sf": 1.0}).add(outcome, ONE)
    assert Checkpoint(tmp_path, {"sf": 2.0}).finished([ONE]) == {}
    changed = Query("one", "select 1 + 1", "select 1 + 1", ("t",))
    assert Checkpoint(tmp_path, {"sf": 1.0}).finished([changed]) == {}
    assert Checkpoint(tmp_path, {"sf": 1.0}).finished([TWO]) == {}


def test_half_a_line_is_passed_over_and_the_next_one_is_whole(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {})
    checkpoint.add(run_query(ONE, {"off": Counting()}, runs=1, warmup=0), ONE)
    (file,) = tmp_path.iterdir()
    whole = file.read_text()
    file.write_text(whole + whole[: len(whole) // 2])
    checkpoint.add(run_query(TWO, {"off": Counting()}, runs=1, warmup=0), TWO)
    assert checkpoint.finished([ONE, TWO]).keys() == {"one", "two"}
    checkpoint.finish()
    assert checkpoint.finished([ONE, TWO]) == {} and list(tmp_path.iterdir()) == []


def test_lines_of_json_that_mean_something_else_count_for_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {})
    checkpoint.add(run_query(ONE, {"off": Counting()}, runs=1, warmup=0), ONE)
    (file,) = tmp_path.iterdir()
    file.write_text("\n".join(json.dumps(line) for line in ([1], {"query_id": "one"}, {}, "x", None)) + "\n")
    assert checkpoint.finished([ONE]) == {}


def test_the_end_of_one_benchmark_leaves_what_another_has_finished(tmp_path: Path) -> None:
    killed, short = Checkpoint(tmp_path, {"runs": 5}), Checkpoint(tmp_path, {"runs": 1})
    for checkpoint in (killed, short):
        checkpoint.add(run_query(ONE, {"off": Counting()}, runs=1, warmup=0), ONE)
    short.finish()
    assert killed.finished([ONE]).keys() == {"one"} and short.finished([ONE]) == {}


def test_tables_are_others_once_a_file_has_changed(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.parquet").write_bytes(b"a")
    before = tables_digest({"t": tmp_path / "t"})
    assert before == tables_digest({"t": tmp_path / "t"})
    (tmp_path / "t/b.parquet").write_bytes(b"b")
    assert tables_digest({"t": tmp_path / "t"}) != before
    assert len(build_digest()) == 64


class Limited:
    """A judge whose rows are another choice at a LIMIT, and which can't tell all of them."""

    def __init__(self, value: int) -> None:
        self.value, self.calls = value, 0

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        if "LIMIT" not in query.duckdb_sql:
            self.calls += 1
            raise QueryTimeoutError("it took too long")
        return Execution(10.0, [(1, self.value)], columns=("k", "v"))


def test_a_judge_that_fails_without_the_limit_leaves_a_difference_and_is_asked_once() -> None:
    sql = "SELECT k, v FROM t ORDER BY k LIMIT 1"
    judge = Limited(1)
    outcome = run_query(
        Query("one", sql, sql, ("t",)), {"duckdb": judge, "off": Limited(2), "rtfilter": Limited(3)}, runs=2, warmup=0
    )
    said = {measured.mode: measured.difference for measured in outcome.measurements}
    assert said["duckdb"] is None and judge.calls == 1
    assert "(1, 2)" in str(said["off"]) and "could not be found out: it took too long" in str(said["off"])


def test_the_sign_test_has_the_values_of_the_tables() -> None:
    assert sign_test([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]) == 0.0625
    assert sign_test([1, 1, 1, 1, 9], [2, 2, 2, 2, 2]) == 0.375
    assert sign_test([1] * 9 + [3], [2] * 10) == pytest.approx(0.0215, abs=1e-4)
    assert sign_test([1, 2], [1, 2]) == sign_test([], []) == 1.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_the_sign_test_is_a_probability_and_does_not_care_which_is_which(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert 0 < sign_test(first, second) <= 1
    assert sign_test(first, second) == sign_test(second, first)
