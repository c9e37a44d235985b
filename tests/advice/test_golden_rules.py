"""Golden cases A8 to A11 and A14 to A18: Pinot's other rules, with its own queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rtfilter.advice.logs.sql_queries import fingerprint_of
from rtfilter.advice.statistics.tables import ColumnStatistics, TableStatistics
from rtfilter.advice.votes.rules import (
    Asked,
    best_partition_column,
    bloom_columns,
    can_be_aggregated_before,
    flags,
    partition_weights,
    range_columns,
)
from tests.advice.abstract import table


def typed(name: str, cardinality: float, type_: str = "int", entries: float = 1.0) -> ColumnStatistics:
    return ColumnStatistics(name, type_, cardinality, entries_per_row=entries)


PINOT = table(
    typed("a", 1_000_001),
    typed("b", 6, "double"),
    typed("c", 7, "float"),
    typed("d", 41, "string"),
    typed("e", 18, "long"),
    typed("f", 13, "double"),
    typed("g", 6, "string"),
    typed("h", 12, "binary"),
    typed("i", 7, "string"),
    typed("j", 4, "double"),
    *(typed(name, 10_000, "double") for name in "knop"),
    typed("l", 10_000, "string"),
    typed("m", 10_000, "binary"),
    typed("t", 10_000),
)


def asked(queries: Mapping[str, float], known: TableStatistics = PINOT) -> list[Asked]:
    found = []
    for sql, weight in queries.items():
        fingerprint = fingerprint_of(f"select b from t where {sql}", {"t": known})
        assert fingerprint is not None
        found.append(Asked(fingerprint.uses[0].predicate, weight))
    return found


def test_a8_bloom_columns() -> None:
    queries = {
        "b in (2,4) and ((a in (1,2,3) and e = 4) or c = 7) and d in ('#VALUES', 23) and t > 500": 1,
        "(a=3 and (h = 5 or f >34) and REGEXP_LIKE(i, 'as*')) or ((f = 3 or j in ('#VALUES', 4)) and REGEXP_LIKE(d, 'fl*'))": 2,
        "(a=0 or (b=1 and (e in ('#VALUES',2) or c=7))) and TEXT_MATCH(d, 'dasd') and MAX(MAX(h,i),j)=4 and t<3": 4,
        "(a=0 and b=1) or c=7 or (d = 7 and e =1)": 2,
        "t between 1 and 1000": 2,
        "a in (1,2,3) and b in ('#VALUES',4) and c in ('#VALUES',5) and t between 1 and 1000": 2,
    }
    assert bloom_columns(asked(queries), PINOT) == ["b", "c", "e"]


def test_a16_bloom_columns_may_be_times() -> None:
    known = table(typed("b", 6), typed("p", 10_000), typed("x", 3, "date"), typed("t", 1, "timestamp"))
    queries = {"(x=0 and b=1) or t=16": 3.5, "x=12 and p=4": 3, "t=7 and b=12": 1.5}
    assert bloom_columns(asked(queries, known), known) == ["b", "t", "x"]


def test_the_share_for_a_bloom_filter_is_strict() -> None:
    assert bloom_columns(asked({"b = 1": 1, "c = 1": 1}), PINOT) == []


def test_a9_range_columns() -> None:
    queries = {
        "i > 'aaa' AND j >= 300 OR (j BETWEEN 30 AND 1000)": 3,
        "((i BETWEEN 'A' and 'B') OR j = 30) AND k IN (10, 20, 30, 40) OR i >= 'A' OR t <= 500": 1,
        "(((p BETWEEN 1 and 1000) OR (o > 100)) OR (t < 10)) AND (o=100 AND (m>40 OR n>300))": 2,
        "i >= 'C' AND TEXT_MATCH(l, 'xxx') OR (t>=500 AND j>10)": 2,
        "i <= 'D' OR j < 1000 AND (t IN (100, 200, 300, 400, 500) OR j >=20 OR m=40)": 1,
        "j > 10 OR (k < 10 AND t>=100) AND t<=500": 2,
    }
    assert range_columns(asked(queries), PINOT) == ["j", "t"]


@pytest.mark.parametrize(
    ("weights", "cardinalities", "column"),
    [
        ((0.2, 0.3, 0.7, 0.8, 0.5), (100, 90, 80, 70, 60), "c"),
        ((0.2, 0.3, 0.7, 0.8, 0.5), (100, 90, 80, 200, 60), "d"),
        ((0.1, 0.1, 0.4, 0.8, 0.2), (100, 90, 80, 10, 60), "c"),
        ((0.1,), (20,), None),
    ],
)
def test_a10_and_a17_partition_column(weights: tuple[float, ...], cardinalities: tuple[float, ...], column: str | None) -> None:
    named = dict(zip("abcde", weights, strict=False)), dict(zip("abcde", cardinalities, strict=False))
    assert best_partition_column(*named, partitions=32) == column


def test_partitions_are_for_many_fast_queries_only() -> None:
    assert best_partition_column({"a": 1}, {"a": 100}, 32, qps=200, sla_ms=1000) == "a"
    assert best_partition_column({"a": 1}, {"a": 100}, 32, qps=199) is None
    assert best_partition_column({"a": 1}, {"a": 100}, 32, sla_ms=1001) is None


def test_a18_partition_column_of_queries() -> None:
    known = table(typed("a", 20), typed("b", 6), typed("c", 100_000_000), typed("t", 10_000, "date"))
    queries = {
        "( a = 4 and b=5 ) or ( a in ('#VALUES', 3) and b=5 ) or ( a in (1, 2, 3) and b in (1, 2, 3, 4 ,5) )": 1.0,
        "t>1 and t<10 and c > 4": 1,
        "a = 4 and c < 4 ": 1,
        "a = 4 and c <> 4": 1,
        "a = 4 and c not in (4,5)": 1,
        "b = 4 or b not in (4,5)": 1,
        "b = 4 or b not in (4,5,6,7,8)": 1,
        "b = 4 or b in (4,5,6,7,8)": 1,
        "b = 4 or b between 3 and 4": 1,
        "t = 3 and not (c = 1)": 1,
    }
    weights = partition_weights(asked(queries, known), known)
    assert weights == {"a": 4.0}
    assert best_partition_column(weights, {"a": 20, "b": 6}, partitions=4, qps=250, sla_ms=500) == "a"


@pytest.mark.parametrize(
    ("sql", "flagged"),
    [
        ("select f from t", "no condition"),
        ("select * from t", "no condition"),
        ("select f from t where a = 3", "no condition on time (t, x)"),
        ("select g from t LIMIT 1000000000", "LIMIT"),
        ("select f from t where x = date'2020-01-01'", ""),
        ("select f from t where t = 3", ""),
        ("select f from t where t = 3 limit 100000", ""),
        # A15
        ("select f from t where xyz = 3 and t = 1", "t has no column xyz"),
    ],
)
def test_a11_flags(sql: str, flagged: str) -> None:
    known = {"t": table(typed("a", 9), typed("f", 9), typed("g", 9), typed("t", 9, "timestamp"), typed("x", 9, "date"))}
    fingerprint = fingerprint_of(sql, known)
    assert fingerprint is not None
    found = "; ".join(flags(fingerprint, known))
    assert flagged in found and bool(flagged) == bool(found)


@pytest.mark.parametrize(
    ("selected", "can"),
    [
        ("sum(a), sum(b), sum(c)", True),
        ("sum(a), sum(b), avg(b)", False),
        ("sum(a), max(c)", False),
        ("sum(X)", False),
        ("sum(2 * a + 3 * b + c)", True),
        ("sum(2 * a + 3 * b + c + X)", False),
        ("d1, d2, sum(a), sum(b) from t group by d1, d2", True),
        ("d1, a, sum(b) from t group by d1", False),
        ("sum(distinct a)", False),
    ],
)
def test_a14_pre_aggregation(selected: str, can: bool) -> None:
    known = {"t": table(*(typed(name, 9) for name in ("a", "b", "c", "X", "d1", "d2")))}
    fingerprint = fingerprint_of(f"select {selected}{'' if ' from ' in selected else ' from t'}", known)
    assert fingerprint is not None
    assert can_be_aggregated_before(fingerprint, frozenset("abc")) is can
    assert not can_be_aggregated_before(replace(fingerprint, plain=True), frozenset("abc"))
