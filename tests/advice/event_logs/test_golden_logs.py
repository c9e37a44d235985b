"""Logs of Spark 3.5 and 4.3, made by tests/spark/event_logs/make_logs.py and trimmed: the same fingerprints, and the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rtfilter.advice.event_logs.fingerprints import add_event_logs, fingerprint_of
from rtfilter.advice.event_logs.queries import JoinFacts, QueryFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.advice.logs.lines import Reading
from rtfilter.advice.workload.fingerprints import TableUse
from tests.advice.event_logs.expected import EXPECTED, PARTIAL, TABLES
from tests.advice.event_logs.golden_logs import golden_log

VERSIONS = ("spark-3.5.zstd", "spark-4.3.zstd")


@cache
def queries(log: Path) -> dict[str, list[QueryFacts]]:
    found: dict[str, list[QueryFacts]] = {}
    skipped: list[str] = []
    read_event_logs(
        [log], lambda query, _, place: found.setdefault(query.description, []).append(query), lambda *why: skipped.append(str(why))
    )
    assert not skipped
    return found


def named(uses: tuple[TableUse, ...]) -> Iterator[tuple[str, TableUse]]:
    seen: set[str] = set()
    for use in uses:
        yield f"{use.table} 2" if use.table in seen else use.table, use
        seen.add(use.table)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_query_asks(version: str, name: str) -> None:
    asked, aggregates = EXPECTED[name]
    (query,) = queries(golden_log(version))[name]
    found = fingerprint_of(query, TABLES)
    uses = {
        table: (str(use.predicate or ""), " ".join(use.join_keys), " ".join(use.group_keys)) for table, use in named(found.uses)
    }
    assert uses == asked
    assert found.aggregates == aggregates and not found.unknown_tables
    assert any(use.is_partial for use in found.uses) == (name in PARTIAL)


def test_both_versions_give_the_same_fingerprints() -> None:
    both = [
        {name: [fingerprint_of(each, TABLES) for each in runs] for name, runs in queries(golden_log(log)).items()}
        for log in VERSIONS
    ]
    assert {name: both[0][name] for name in EXPECTED} == {name: both[1][name] for name in EXPECTED}


# Rows out of the scan of the probe side, into the join, out of the other side, and out of the join.
JOINED = {
    "broadcast": (50_000, 31_000, 250, 7_750),
    "shuffled": (100_000, 100_000, 40, 4_000),
    "empty dimension": (100_000, 100_000, 0, 0),
    "semi": (100_000, 100_000, 10, 1_000),
    "anti": (100_000, 100_000, 500, 50_000),
    "right outer": (100_000, 100_000, 10, 1_000),
    "full outer": (100_000, 100_000, 10, 100_000),
    "dynamic partitions": (8_571, 8_571, 3, 8_571),
    "copy": (100_000, 100_000, 10, 1_000),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", JOINED)
def test_rows_of_joins(version: str, name: str) -> None:
    (query,) = queries(golden_log(version))[name]
    (join,) = query.joins
    left, right = join.sides
    scanned = query.scans[left.keys[0].scan or 0].rows
    assert (scanned, left.rows, right.rows, join.rows) == JOINED[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_union_hands_on_the_rows_of_its_arms(version: str) -> None:
    (query,) = queries(golden_log(version))["union"]
    (join,) = query.joins
    assert join.sides[0].rows == 101_000 and join.sides[0].scans == (0, 1)
    assert join.sides[0].between == ("Union", "Project", "Filter")


@pytest.mark.parametrize("version", VERSIONS)
def test_joins_of_three_tables(version: str) -> None:
    (query,) = queries(golden_log(version))["two joins"]

    def of(key: str) -> JoinFacts:
        return next(join for join in query.joins if join.sides[0].keys[0].column == key)

    assert (of("s_item").sides[0].rows, of("s_item").rows) == (100_000, 25_000)
    assert (of("s_shop").sides[0].rows, of("s_shop").rows) == (25_000, 14_285)
    assert "BroadcastHashJoin Inner/0" in of("s_shop").sides[0].between


@pytest.mark.parametrize("version", VERSIONS)
def test_a_failed_query_is_told_apart(version: str) -> None:
    (query,) = queries(golden_log(version))["failing"]
    assert query.error
    reading = Reading()
    add_event_logs([golden_log(version)], TABLES, reading)
    assert reading.skipped["queries that ended in an error"].count == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cached_frame_is_read_once(version: str) -> None:
    first, second = queries(golden_log(version))["cached"]
    assert [(scan.name, scan.is_cached, scan.rows) for scan in first.scans] == [("item", True, 1_000)]
    assert [scan.name for scan in second.scans] == ["sales"]
    (join,) = second.joins
    assert not join.sides[1].keys[0].is_plain and join.sides[1].rows == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_that_come_after_the_end_are_counted_once(version: str) -> None:
    """toLocalIterator runs its tasks when the execution has ended, and each of its jobs adds to a running total."""
    some = queries(golden_log(version))["some rows"]
    assert [scan.rows for query in some for scan in query.scans] == [50_000, 2_857]


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_of_a_stream_are_told_by_their_rows(version: str) -> None:
    batches = [query for name, runs in queries(golden_log(version)).items() if name.strip().startswith("id =") for query in runs]
    joins = [join for query in batches for join in query.joins]
    assert [(join.sides[0].rows, join.sides[1].rows, join.rows) for join in joins] == [(100_000, 10, 1_000)]
