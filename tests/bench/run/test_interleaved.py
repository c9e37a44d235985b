"""Order of the runs, and what is made of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import pytest

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.engines.modes import SPARK_CONF_BY_MODE, judge_of, parse_modes
from rtfilter.bench.engines.spark_engine import packs_read
from rtfilter.bench.run.interleaved import Step, run_query, steps
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError

ONE = Query("one", "select 1", "select 1", ())
TWO = Query("two", "select 2", "select 2", ())


class Recorder:
    """An engine that gives what it is told to and keeps the order of the calls."""

    def __init__(self, mode: str, calls: list[tuple[str, str]], ms: list[float], rows: list[list[tuple[object, ...]]]) -> None:
        self.mode, self.calls, self.ms, self.rows = mode, calls, iter(ms), iter(rows)

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        self.calls.append((query.id, self.mode))
        return Execution(next(self.ms), next(self.rows), bytes_read=7 if count_bytes else None)


def test_modes_are_interleaved() -> None:
    order = [(step.number, step.mode) for step in steps([ONE], ["off", "rtfilter", "duckdb"], runs=2, warmup=0)]
    assert order == [(0, "off"), (0, "rtfilter"), (0, "duckdb"), (1, "duckdb"), (1, "rtfilter"), (1, "off")]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_no_mode_goes_first_or_follows_another_more_often_than_others_do(count: int) -> None:
    """What ran before leaves work to the JVM, which the next one pays for; after DuckDB there is none."""
    modes = [f"m{number}" for number in range(count)]
    rounds = 2 * count
    done = [step.mode for step in steps([ONE], modes, runs=rounds, warmup=0)]
    turns = [done[at : at + count] for at in range(0, len(done), count)]
    assert all(sorted(turn) == modes for turn in turns)
    assert Counter(turn[0] for turn in turns) == dict.fromkeys(modes, 2)
    assert Counter(pair for turn in turns for pair in pairwise(turn)) == dict.fromkeys(permutations(modes, 2), 2)


def test_warm_up_comes_first_for_each_query_and_is_not_measured() -> None:
    done = list(steps([ONE, TWO], ["off"], runs=2, warmup=1))
    assert done == [Step(q, "off", n, m) for q in (ONE, TWO) for n, m in ((0, False), (0, True), (1, True))]
    calls: list[tuple[str, str]] = []
    engine = Recorder("off", calls, [99.0, 1.0, 3.0, 2.0], [[(1,)]] * 4)
    (measured,) = run_query(ONE, {"off": engine}, runs=3, warmup=1).measurements
    assert measured.ms == (1.0, 3.0, 2.0)
    assert (measured.median_ms, measured.spread) == (2.0, 1.0)
    assert len(calls) == 4 and measured.bytes_read == 7


def test_bytes_are_not_counted_in_measured_runs() -> None:
    calls: list[tuple[str, str]] = []
    (measured,) = run_query(ONE, {"off": Recorder("off", calls, [1.0], [[(1,)]])}, runs=1, warmup=0).measurements
    assert measured.bytes_read is None


def test_one_wrong_run_is_a_mismatch_with_the_judge() -> None:
    calls: list[tuple[str, str]] = []
    engines = {
        "off": Recorder("off", calls, [1.0, 1.0], [[(7,)], [(7,)]]),
        "rtfilter": Recorder("rtfilter", calls, [1.0, 1.0], [[(7,)], [(8,)]]),
        "duckdb": Recorder("duckdb", calls, [1.0, 1.0], [[(7,)], [(7,)]]),
    }
    by_mode = {measured.mode: measured for measured in run_query(ONE, engines, runs=2, warmup=0).measurements}
    assert {mode: measured.agrees for mode, measured in by_mode.items()} == {"off": True, "rtfilter": False, "duckdb": True}
    assert by_mode["off"].result_sha256 == by_mode["duckdb"].result_sha256 != by_mode["rtfilter"].result_sha256
    assert by_mode["rtfilter"].difference == "gives 1 rows: (8,), expected 1 rows: (7,)"


def test_floats_that_agree_within_tolerance_carry_the_judges_digest() -> None:
    calls: list[tuple[str, str]] = []
    engines = {
        "off": Recorder("off", calls, [1.0], [[(1.0000000004999999,)]]),
        "duckdb": Recorder("duckdb", calls, [1.0], [[(1.0000000005000001,)]]),
    }
    off, duckdb = run_query(ONE, engines, runs=1, warmup=0).measurements
    assert off.agrees and off.result_sha256 == duckdb.result_sha256


def test_duckdb_is_the_judge_where_it_runs_else_the_first_mode() -> None:
    assert judge_of(("off", "rtfilter", "duckdb")) == "duckdb"
    assert judge_of(("off", "rtfilter")) == "off"


def test_unknown_modes_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(BenchError, match="Did you mean 'rtfilter'"):
        parse_modes(["off", "rtfiltr"])
    with pytest.raises(BenchError, match="no mode"):
        parse_modes([])
    assert parse_modes(["off", "off", "duckdb"]) == ("off", "duckdb")


def test_every_spark_mode_says_whether_the_layer_is_on() -> None:
    assert {mode: conf["rtfilter.enabled"] for mode, conf in SPARK_CONF_BY_MODE.items()} == {
        "off": "false",
        "off-again": "false",
        "spark": "false",
        "rtfilter": "true",
        "rtfilter-first": "true",
        "rtfilter-rows": "true",
        "rtfilter-always": "true",
        "rtfilter-never": "true",
    }


def test_packs_come_from_the_scans_own_metrics() -> None:
    scans = [{"table": "item", "numOutputRows": 5}, {"table": "inventory", "packs_total": 100, "packs_read": 4, "numOutputRows": 9}]
    assert packs_read(scans, []) == (100, 4)


def test_a_scan_left_alone_counts_as_read_whole_when_its_packs_are_known() -> None:
    candidates: list[dict[str, object]] = [
        {"probe": "inventory.inv_item_sk", "decision": "skipped", "packs_total": 100, "packs_kept": 98},
        {"probe": "inventory.inv_date_sk", "decision": "skipped", "packs_total": None},
        {"probe": "inventory.inv_item_sk, inventory.inv_date_sk", "decision": "skipped", "packs_total": 100},
    ]
    assert packs_read([{"table": "inventory", "packs_total": 0, "packs_read": 0}], candidates) == (100, 100)
    assert packs_read([{"table": "inventory"}], []) == (None, None)
    narrowed = {"table": "sales", "packs_total": 10, "packs_read": 1}
    assert packs_read([narrowed, {"table": "inventory"}, {"table": "item"}], candidates) == (110, 101)
