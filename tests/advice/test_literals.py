"""The literals of SQL, kept as samples of a kind of query."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path

import pytest

from rtfilter.advice.logs.read import LogReader
from rtfilter.advice.logs.sql_queries import fingerprint_of
from rtfilter.advice.statistics.tables import TableStatistics, parse_statistics
from rtfilter.advice.workload.fingerprints import MOST_SAMPLES, Calls
from rtfilter.advice.workload.literals import Literals

COLUMNS = {"a": {"type": "int"}, "s": {"type": "string"}, "d": {"type": "date"}, "b": {"type": "boolean"}}
TABLES = parse_statistics({"tables": {"t": {"rows": 10, "columns": COLUMNS}}}, "here")


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("a = 5", [((5,), "")]),
        ("5.50 < a", [((Decimal("5.5"),), ">")]),
        ("a >= -5L", [((-5,), ">=")]),
        ("a in (3, 1, 3)", [((1, 3), "")]),
        ("a in ('#VALUES', 3)", [None]),
        ("not (a = 5)", [((5,), "")]),
        ("a between 1200 and 1200 + 11", [((1200, 1211), "between")]),
        ("d = date '2001-02-28'", [(("2001-02-28",), "")]),
        ("d <= cast('2001-02-28' as date) + interval 2 days", [(("2001-03-02",), "<=")]),
        ("d < date '2001-02-28' - interval '1' week", [(("2001-02-21",), "<")]),
        ("d < current_date()", [None]),
        ("d < add_months('2001-02-28', 1)", [None]),
        ("s = 'x' and b", [(("x",), ""), (("true",), "")]),
        ("s like 'ab%'", [(("ab%",), "like")]),
        ("s like 'ab!%' escape '!'", [None]),
        ("s ilike 'ab%'", [None]),
        ("a = 1e3 or s <> 'y'", [((1000,), ""), (("y",), "")]),
        ("a = 1e999999", [None]),
    ],
)
def test_literals_of_a_condition(condition: str, found: list[tuple[tuple[object, ...], str] | None]) -> None:
    fingerprint = fingerprint_of(f"select a from t where {condition}", TABLES)
    assert fingerprint is not None
    assert [None if each is None else (each.values, each.form) for each in fingerprint.literals[0]] == found


def test_literals_are_no_part_of_what_a_query_is() -> None:
    one, other = (fingerprint_of(f"select a from t where a = {i}", TABLES) for i in (1, 2))
    assert one == other and one is not None and other is not None and one.id == other.id and hash(one) == hash(other)
    assert one.literals != other.literals and "2" not in repr(other) + str(other)


def test_samples_do_not_depend_on_the_order_of_the_log(tmp_path: Path) -> None:
    lines = [json.dumps({"sql": f"select a from t where a = {i % 500}", "weight": 1 + i % 3}) for i in range(1_500)]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(lines)
        log = tmp_path / f"{seed}.jsonl"
        log.write_text("\n".join(lines), encoding="utf-8")
        (calls,) = LogReader(TABLES).read([log], []).workload.values()
        found.append(dict(calls.samples))
    assert found[0] == found[1] == found[2] and len(found[0]) == MOST_SAMPLES
    # 3 calls of each value, of weights 1, 2 and 3.
    assert set(found[0].values()) == {6}


def test_equal_numbers_are_one_sample() -> None:
    calls = Calls()
    for text in ("1.50", "1.5", "15e-1"):
        fingerprint = fingerprint_of(f"select a from t where a > {text}", TABLES)
        assert fingerprint is not None
        calls.add(1, None, None, fingerprint.literals)
    assert calls.samples == {((Literals((Decimal("1.5"),), ">"),),): 3}


def test_a_table_without_conditions_has_no_samples() -> None:
    calls = Calls()
    found = fingerprint_of("select a from t", TABLES)
    assert found is not None and isinstance(TABLES["t"], TableStatistics)
    calls.add(1, None, None, found.literals)
    assert calls.samples == {}
