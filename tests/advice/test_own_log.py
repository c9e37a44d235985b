"""Our own query log as input of the advisor."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rtfilter.advice.logs import own_lines
from rtfilter.advice.logs.lines import AGAIN, FAILED, NEWER, OLD, Reading
from rtfilter.advice.logs.own_conditions import read_condition
from rtfilter.advice.logs.own_lines import NO_PLAN, UNREADABLE
from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.workload.fingerprints import MOST_SAMPLES
from rtfilter.advice.workload.literals import Literals
from rtfilter.advice.workload.predicates import Predicate, leaves
from rtfilter.version import LOG_VERSION

COLUMNS = {name.lower(): ColumnStatistics(name, "int", 1000) for name in ("K", "v", "grp")}
TABLES = {"Sales": TableStatistics("Sales", 1_000_000, COLUMNS, packs=100, path="/data/sales")}


def condition(column: str, op: str, *literals: Any, values: int = 1) -> dict[str, Any]:
    return {"column": column, "op": op, "values": values, **({"literals": list(literals)} if literals else {})}


def scan(predicate: Any = None, table: str = "sales", **changed: Any) -> dict[str, Any]:
    return {
        **{
            "table": table,
            "path": f"file:/data/{table}",
            "predicate": predicate,
            "partitions": None,
            "joins": [],
            "group_keys": [],
        },
        **{"aggregates": [], "rows": True, "columns": ["k", "v"], "partial": False, "literals": None, **changed},
    }


def line(*scans: dict[str, Any], ms: float = 10.5, digest: str = "", **changed: Any) -> dict[str, Any]:
    stable = json.dumps([[{**each, "predicate": str(each["predicate"])[:60]} for each in scans]])
    shape = {"digest": digest or stable, "partial": False, "limit": None, "scans": list(scans)}
    return {
        "time": "t",
        "query": "#1",
        "filters": [],
        "scans": [],
        "version": LOG_VERSION,
        "ms": ms,
        "failed": False,
        "shape": shape,
        **changed,
    }


def read(tmp_path: Path, lines: list[Any]) -> Reading:
    path = tmp_path / "log.jsonl"
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines))
    return LogReader(TABLES).read([path], [])


def test_a_line_is_a_call_of_its_fingerprint_with_the_names_of_the_statistics(tmp_path: Path) -> None:
    predicate = {"all": [condition("k", "=", 5), {"any": [condition("v", "in", values=3), {"not": condition("grp", "like")}]}]}
    own = scan(predicate, group_keys=["GRP"], aggregates=[{"function": "sum", "columns": ["v"], "distinct": False}], rows=False)
    reading = read(tmp_path, [line(own), line(own, ms=2)])
    ((fingerprint, calls),) = reading.workload.items()
    assert str(fingerprint) == "Sales: K = ? and (v in (3) or not grp like)"
    (use,) = fingerprint.uses
    assert (use.columns, use.group_keys, use.is_partial) == (("K", "v"), ("grp",), False)
    assert fingerprint.aggregates == (("sum", ("v",)),) and not fingerprint.plain
    assert (calls.lines, calls.weight, calls.total_ms, reading.queries) == (2, 2, 12.5, 2)


def test_the_two_ends_of_a_range_are_one_leaf(tmp_path: Path) -> None:
    both = {"all": [condition("k", ">=", 3), condition("v", "<", 1), condition("k", "<", 9)]}
    ((fingerprint, calls),) = read(tmp_path, [line(scan(both))]).workload.items()
    assert str(fingerprint) == "Sales: K range and v range"
    assert calls.samples == {((Literals((3, 9), "between"), Literals((1,), "<")),): 1}
    lower = {"all": [condition("k", ">=", 3), condition("k", ">", 9)]}
    ((fingerprint, calls),) = read(tmp_path, [line(scan(lower))]).workload.items()
    assert str(fingerprint) == "Sales: K range" and calls.samples == {}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (condition("k", "in", 9, 10, 9, values=3), Literals((10, 9))),
        (condition("k", "=", True), Literals(("true",))),
        (condition("k", "<", 0.5), Literals((Decimal("0.5"),), "<")),
        (condition("k", "like", "a_%"), Literals(("a_%",), "like")),
        (condition("k", "starts with", "50%_"), Literals(("50\\%\\_%",), "like")),
        (condition("k", "contains", "x"), Literals(("%x%",), "like")),
    ],
)
def test_literals_are_those_that_other_logs_give(tmp_path: Path, told: dict[str, Any], expected: Literals) -> None:
    ((_, calls),) = read(tmp_path, [line(scan(told))]).workload.items()
    assert calls.samples == {((expected,),): 1}


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        ({}, True),
        ({"path": "file:/data/sales/day=3/part-1.parquet", "table": "part-1.parquet"}, True),
        ({"path": "hdfs://host/warehouse/sales", "table": "SALES"}, True),
        ({"path": "file:///data/sales", "table": "x"}, True),
        ({"path": None}, True),
        ({"path": "file:/data/sales2", "table": "sales2"}, False),
    ],
)
def test_tables_are_found_by_their_place_or_by_their_name(tmp_path: Path, changed: dict[str, Any], known: bool) -> None:
    (fingerprint,) = read(tmp_path, [line(scan(condition("k", "="), **changed))]).workload
    assert [use.table for use in fingerprint.uses] == ["Sales"] * known
    assert fingerprint.unknown_tables == (() if known else ("sales2",))


def test_measured_packs_are_summed_by_table_and_key(tmp_path: Path) -> None:
    def joined(**packs: int) -> dict[str, Any]:
        return line(scan(joins=[{"column": "k", "with": "dim.id", "type": "Inner", **packs}]), digest="d")

    lines = [joined(packs_kept=1, packs_total=80), joined(), joined(packs_kept=9, packs_total=20)]
    ((fingerprint, calls),) = read(tmp_path, lines).workload.items()
    assert fingerprint.uses[0].join_keys == ("K",)
    ((key, found),) = calls.joined.items()
    assert key == ("Sales", "K") and (found.kept, found.total, found.share) == (10, 100, 0.1)


def test_literals_are_sampled_whatever_the_order_with_the_weight_of_their_calls(tmp_path: Path) -> None:
    values = [*range(100)] * 2 + [3] * 1000
    seen = []
    for seed in range(3):
        random.Random(seed).shuffle(values)
        ((_, calls),) = read(tmp_path, [line(scan(condition("k", "=", value)), digest="d") for value in values]).workload.items()
        seen.append(sorted(calls.samples.items(), key=repr))
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) == MOST_SAMPLES
    for sample, weight in seen[0]:
        ((asked,),) = sample
        assert asked is not None and weight == values.count(asked.values[0])


def test_without_literals_there_is_no_sample(tmp_path: Path) -> None:
    ((_, calls),) = read(tmp_path, [line(scan(condition("k", "=")))]).workload.items()
    assert calls.samples == {}


def test_what_does_not_count_is_counted_and_named(tmp_path: Path) -> None:
    good = line(scan(condition("k", "=")))
    old = {"time": "t", "query": "#1", "filters": [], "scans": []}
    unreadable: list[Any] = [None, {}, {"digest": "a", "partial": False, "limit": None, "scans": [{}]}]
    unreadable.append({"digest": "b", "partial": False, "limit": None, "scans": [scan({"all": []})]})
    unreadable.append({"digest": ["c"], "partial": False, "limit": None, "scans": []})
    lines = [
        good,
        *({**good, "shape": shape} for shape in unreadable),
        old,
        {**good, "version": LOG_VERSION + 1},
        {**good, "failed": True},
        {**good, "again": True},
        {**good, "shape": {"digest": "e", "partial": True, "limit": None, "scans": []}},
        json.dumps(good)[:-20],
    ]
    reading = read(tmp_path, lines)
    assert {reason: each.count for reason, each in reading.skipped.items()} == {
        UNREADABLE: len(unreadable),
        OLD: 1,
        NEWER: 1,
        FAILED: 1,
        AGAIN: 1,
        NO_PLAN: 1,
        "broken lines, which are no JSON": 1,
    }
    assert reading.queries == 1 and reading.skipped[OLD].places == [f"{tmp_path / 'log.jsonl'}:{len(unreadable) + 2}"]


def test_the_order_of_lines_and_of_scans_changes_nothing(tmp_path: Path) -> None:
    scans = [scan(condition("k", "=")), scan(condition("v", "in", values=3)), scan(table="other")]
    lines = [line(*random.Random(seed).sample(scans, 3), ms=seed / 7, digest=str(seed)) for seed in range(30)]
    first = read(tmp_path, lines).workload
    second = read(tmp_path, lines[::-1]).workload
    assert len(first) == 1 and first == second


@pytest.mark.parametrize("seed", range(30))
def test_literals_of_a_known_shape_are_those_of_its_leaves(tmp_path: Path, seed: int) -> None:
    """They are taken from where they stood in the first line of that shape."""
    draw = random.Random(seed)

    def made(depth: int) -> dict[str, Any]:
        if depth and draw.random() < 0.6:
            word = draw.choice(("all", "any", "not"))
            return {word: made(depth - 1) if word == "not" else [made(depth - 1) for _ in range(draw.randint(1, 3))]}
        op = draw.choice(("=", "in", "<", ">=", "like", "is null", "other"))
        return {"op": op, "columns": ["k"]} if op == "other" else condition(draw.choice("kv"), op, values=2)

    def filled(told: Any) -> Any:
        if isinstance(told, list):
            return [filled(each) for each in told]
        if "column" not in told or told["op"] == "is null":
            return {key: filled(value) if key in ("all", "any", "not") else value for key, value in told.items()}
        return {**told, "literals": [draw.randrange(10**6) for _ in range(2 if told["op"] == "in" else 1)]}

    shape = made(3)
    lines = [scan(filled(shape)) for _ in range(MOST_SAMPLES)]
    ((fingerprint, calls),) = read(tmp_path, [line(each, digest="d") for each in lines]).workload.items()

    def predicate(told: Any) -> Predicate:
        return read_condition(told, lambda column: "K" if column == "k" else column)

    expected = {(tuple(leaf.literals for leaf in leaves(predicate(each["predicate"]))),) for each in lines}
    assert set(calls.samples) == {sample for sample in expected if any(literals for use in sample for literals in use)}
    assert fingerprint.uses[0].predicate == predicate(shape)


def test_shapes_past_those_that_are_kept_count_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line(scan(condition("k", "=", number)), digest=str(number % 5)) for number in range(20)]
    whole = read(tmp_path, lines).workload
    monkeypatch.setattr(own_lines, "MOST_SHAPES", 2)
    assert read(tmp_path, lines).workload == whole and [calls.lines for calls in whole.values()] == [20]
