"""The shape of a query without a JVM: what can't be told, and what must not be."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from rtfilter.host.query_log import log_line
from rtfilter.shapes.conditions import all_told, told
from rtfilter.shapes.query_shape import query_shape
from rtfilter.version import LOG_VERSION

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def scan(**changed: Any) -> dict[str, Any]:
    column = {"id": 1, "name": "k", "type": "int", "partition": False}
    return {
        **{"id": 0, "kind": "scan", "op": "Scan parquet", "children": [], "output": [1], "table": "t", "columns": [column]},
        **{"format": "ParquetFileFormat", "plain_parquet": True, "roots": ["file:/data/t"], "filters": [], "literals": "abc"},
        **{"asked": [], "of_partitions": [], **changed},
    }


EQUAL = {"op": "eq", "column": "k", "type": "int", "value": 4711}


def test_a_line_has_version_time_and_shape() -> None:
    record = {"execution": 3, "asked": [[scan(asked=[EQUAL])]], "ms": 12.3456, "failed": False, "idle": "LAYER_OFF"}
    entry = json.loads(log_line(record, NOW))
    assert (entry["version"], entry["ms"], entry["failed"], entry["again"]) == (LOG_VERSION, 12.3, False, False)
    (only,) = entry["shape"]["scans"]
    assert only["predicate"] == {"column": "k", "op": "=", "values": 1} and only["columns"] == ["k"]
    assert b"4711" not in log_line(record, NOW) and b"4711" in log_line(record, NOW, literals=True)


def test_a_record_without_plans_has_an_empty_shape() -> None:
    assert json.loads(log_line({"execution": 3}, NOW))["shape"]["scans"] == []


@pytest.mark.parametrize(
    "broken", [[], [{}], [scan(kind="new")], [scan(asked=[{"op": "and"}])], [scan(asked=7)], [scan(columns=None)]]
)
def test_a_plan_that_cannot_be_read_is_partial_and_costs_no_line(broken: list[Any]) -> None:
    shape = query_shape([broken, [scan()]], (), literals=False)
    assert shape["partial"] and [each["table"] for each in shape["scans"]] == ["t"]


def test_secrets_in_places_are_masked() -> None:
    shape = query_shape([[scan(roots=["s3a://key:secret@bucket/t"])]], (), literals=True)
    assert shape["scans"][0]["path"] == "s3a://***@bucket/t"


def test_the_place_of_several_roots_is_what_they_share() -> None:
    shape = query_shape([[scan(roots=["file:/data/t/day=1", "file:/data/t/day=11"])]], (), literals=False)
    assert shape["scans"][0]["path"] == "file:/data/t"


def test_another_format_is_no_scan_of_parquet_files() -> None:
    assert query_shape([[scan(format="OrcFileFormat")]], (), literals=False)["scans"] == []


def test_digests_tell_columns_operators_and_numbers_of_values_and_no_literals() -> None:
    def digest(test: dict[str, Any], literals: bool = False) -> str:
        return str(query_shape([[scan(asked=[test])]], (), literals)["digest"])

    assert digest(EQUAL) == digest({**EQUAL, "value": 1}) == digest(EQUAL, literals=True)
    others: list[dict[str, Any]] = [{**EQUAL, "op": "lt"}, {**EQUAL, "column": "j"}, {"op": "in", "column": "k", "values": [1]}]
    others.append({"op": "in", "column": "k", "values": [1, 2]})
    assert len({digest(each) for each in [EQUAL, *others]}) == 5


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({"op": "other", "columns": []}, None),
        ({"op": "or", "args": [EQUAL, {"op": "other", "columns": []}]}, {"op": "other", "columns": ["k"]}),
        ({"op": "and", "args": [EQUAL, {"op": "other", "columns": []}]}, {"column": "k", "op": "=", "values": 1}),
        ({"op": "in", "column": "k", "count": 1200}, {"column": "k", "op": "in", "values": 1200}),
        ({"op": "same", "column": "k", "value": None}, {"column": "k", "op": "is null", "values": 0}),
    ],
)
def test_conditions_are_told(test: dict[str, Any], expected: object) -> None:
    assert told(test, literals=False) == expected


def test_a_long_literal_is_left_out() -> None:
    assert "literals" not in (told({"op": "eq", "column": "s", "value": "x" * 2_000}, literals=True) or {})


def test_that_a_column_is_not_null_stands_there_only_if_nothing_else_says_so() -> None:
    not_null = [{"column": name, "op": "is not null", "values": 0} for name in "kj"]
    equal = {"column": "k", "op": "=", "values": 1}
    assert all_told([*not_null, equal], frozenset()) == {"all": [not_null[1], equal]}
    assert all_told([*not_null, equal], frozenset("j")) == equal
    assert all_told([not_null[0]], frozenset("k")) is None
