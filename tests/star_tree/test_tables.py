"""Trees of tables with all types: every group by every set of dimensions, as DuckDB has it from the rows."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rtfilter.errors import IndexDefinitionError
from rtfilter.index.arrow_types import spark_type_of
from rtfilter.star_tree.conditions import passing_codes
from rtfilter.star_tree.measures import Measure, parse_measures
from rtfilter.star_tree.states import largest_sum
from rtfilter.star_tree.traverse import passing_rows, visit
from rtfilter.star_tree.tree_table import TableTree, tree_of_table

ROWS = 400
DAY = datetime.date(2020, 1, 1)
MEASURES = [
    "count(*)",
    "count(x)",
    "sum(x)",
    "min(x)",
    "max(x)",
    "avg(price)",
    "min(price)",
    "max(name)",
    "min(name)",
    "max(day)",
    "sum(big)",
    "min(f)",
    "max(f)",
]


def table_of(seed: int, rows: int = ROWS) -> pa.Table:
    r = np.random.default_rng(seed)

    def some(values: list[Any], nulls: float = 0.15) -> list[Any]:
        return [None if r.random() < nulls else values[i] for i in r.integers(0, len(values), rows)]

    return pa.table(
        {
            "country": pa.array(some(["CA", "", "ü", "MX"]), pa.string()),
            "day": pa.array(some([DAY + datetime.timedelta(days) for days in (-3000, 0, 5)]), pa.date32()),
            "f": pa.array(some([0.0, -0.0, float("nan"), 1.5, float("-inf")]), pa.float64()),
            "flag": pa.array(some([True, False]), pa.bool_()),
            "d": pa.array(some([Decimal("1.10"), Decimal("-2.00")]), pa.decimal128(5, 2)),
            "x": pa.array(some(list(range(-5, 9)), 0.3), pa.int32()),
            "big": pa.array(some([2**62, -(2**62), 3], 0), pa.int64()),
            "price": pa.array(
                some([Decimal("99999999999999999999999999.99"), Decimal("-0.01"), Decimal("5.00")]), pa.decimal128(28, 2)
            ),
            "name": pa.array(some(["b", "a", "", "zz"], 0.5), pa.string()),
        }
    )


def types_of(table: pa.Table) -> dict[str, str]:
    return {field.name: spark_type_of(field.type) for field in table.schema}


def read(tree: TableTree, conditions: Any, grouped: list[int]) -> pa.Table:
    visited = visit(tree.tree, conditions, grouped)
    return tree.rows.take(pa.array(passing_rows(tree.tree, visited, conditions)))


# Each aggregate over a tree's rows, and the same over those of the table.
AGGREGATES = (
    ('sum("count")', "count(*)"),
    ('sum("count(x)")', "count(x)"),
    ('sum("sum(x)")', "sum(x)"),
    ('min("min(x)")', "min(x)"),
    ('max("max(x)")', "max(x)"),
    ('sum("sum(price)")', "sum(price::decimal(38, 2))"),
    ('sum("count(price)")', "count(price)"),
    ('min("min(price)")', "min(price)"),
    ('max("max(name)")', "max(name)"),
    ('min("min(name)")', "min(name)"),
    ('max("max(day)")', "max(day)"),
    ('min("min(f)")', "min(f)"),
    ('max("max(f)")', "max(f)"),
    ('sum("sum(big)"::hugeint)', "sum(big::hugeint)"),
)


def plain(rows: list[tuple[Any, ...]]) -> set[tuple[str, ...]]:
    """Rows as texts. Whole sums, which come last, are compared modulo 2^64; -0.0 is 0.0."""
    found = set()
    for row in rows:
        cells = [cell + 0.0 if isinstance(cell, float) else cell for cell in row]
        cells[-1] = None if cells[-1] is None else int(cells[-1]) % 2**64
        found.add(tuple(map(str, cells)))
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_leaf", [1, 20, 10_000])
def test_every_grouping_is_duckdbs(seed: int, max_leaf: int) -> None:
    table = table_of(seed)
    dimensions = ["country", "day", "f", "flag", "d"]
    tree = tree_of_table(table, types_of(table), dimensions, parse_measures(MEASURES, types_of(table)), max_leaf=max_leaf)
    connection = duckdb.connect()
    connection.register("base", table)
    of_tree, of_rows = zip(*AGGREGATES, strict=True)
    starred = 0
    for size in range(4):
        for grouped in itertools.combinations(range(5), size):
            part = read(tree, {}, list(grouped))
            starred += int(np.count_nonzero(part.column("stars").to_numpy()))
            connection.register("part", part)
            keys = [f"d{d} + 0.0" if dimensions[d] == "f" else f"d{d}" for d in grouped]
            base_keys = [f"{dimensions[d]} + 0.0" if dimensions[d] == "f" else dimensions[d] for d in grouped]
            by = f"group by {', '.join(map(str, range(1, size + 1)))}" if size else ""
            ours = connection.execute(f"select {', '.join([*keys, *of_tree])} from part {by}").fetchall()
            theirs = connection.execute(f"select {', '.join([*base_keys, *of_rows])} from base {by}").fetchall()
            assert plain(ours) == plain(theirs) and len(theirs) >= min(size, 1)
    assert starred > 100


def test_conditions_find_their_values_by_key() -> None:
    table = table_of(9)
    tree = tree_of_table(table, types_of(table), ["country", "day"], [Measure("count", None)], max_leaf=1)
    tests = [
        {"op": "eq", "column": "country", "type": "string", "value": b"MX".hex()},
        {"op": "ge", "column": "day", "type": "date", "value": (DAY - datetime.date(1970, 1, 1)).days},
    ]
    part = read(tree, passing_codes(tests, tree.dimensions), [])
    expected = table.filter((pa.compute.field("country") == "MX") & (pa.compute.field("day") >= DAY)).num_rows
    assert sum(part.column("count").to_pylist()) == expected > 0
    assert len(part) <= 2


def test_an_empty_table_and_one_without_values() -> None:
    table = table_of(0, rows=0)
    tree = tree_of_table(table, types_of(table), ["country", "f"], parse_measures(MEASURES, types_of(table)))
    assert tree.rows.num_rows == 0
    nothing = pa.table({"k": pa.array([None, None], pa.int32()), "x": pa.array([None, None], pa.decimal128(5, 1))})
    tree = tree_of_table(nothing, types_of(nothing), ["k"], parse_measures(["sum(x)", "max(x)"], types_of(nothing)))
    assert read(tree, {}, [0]).to_pylist() == [
        {"row": 0, "stars": 0, "d0": None, "count": 2, "count(x)": 0, "sum(x)": None, "max(x)": None}
    ]


def test_the_largest_sum_is_exact() -> None:
    numbers = [-(2**63), 2**63 - 1, -1, None]
    assert largest_sum(pa.table({"x": pa.array(numbers, pa.int64())}), "x") == 2**64


@pytest.mark.parametrize(
    ("measures", "text"),
    [
        ([], "count"),
        (["median(x)"], "median"),
        (["sum"], "'sum'"),
        (["sum(*)"], r"sum\(\*\)"),
        (["sum(gone)"], "gone"),
        (["sum(name)"], "string"),
        (["sum(f)"], "floats"),
        (["avg(wide)"], r"decimal\(30,2\)"),
        (["count(*)", "COUNT( * )"], "twice"),
        (["count(*)"] * 65, "64"),
        (["hll_sketch_agg(name)"], "theta_sketch_agg"),
        (["approx_count_distinct(x)"], "dimension"),
        (["kll_sketch_agg_bigint(x)"], "kll_sketch_agg_bigint"),
        (["theta_sketch_agg(name, 3)"], "4 to 26"),
        (["theta_sketch_agg(name)", "theta_sketch_agg(name, 12)"], "twice"),
        (["theta_sketch_agg(wide)"], r"decimal\(30,2\)"),
        (["bitmap_construct_agg(name)"], "string"),
        (["bitmap_construct_agg(x, 12)"], "x, 12"),
    ],
)
def test_bad_measures_are_named(measures: list[str], text: str) -> None:
    with pytest.raises(IndexDefinitionError, match=text):
        parse_measures(measures, {**types_of(table_of(0, 1)), "wide": "decimal(30,2)"})


def test_odd_names_and_spelling() -> None:
    found = parse_measures([" Sum ( `a b` ) ", "min(x)"], {"a b": "int", "x": "int"})
    assert list(map(str, found)) == ["sum(a b)", "min(x)"]
    assert parse_measures(["sum(f)"], {"f": "float"}, floats=True) == (Measure("sum", "f"),)


def test_sketches_have_a_size() -> None:
    types = {"a b": "string", "x, 5": "int", "x": "bigint"}
    found = parse_measures(
        ["Theta_Sketch_Agg( a b )", "theta_sketch_agg(`a b`, 8)", "theta_sketch_agg(x, 5, 9)", "bitmap_construct_agg(x)"], types
    )
    texts = ["theta_sketch_agg(a b, 12)", "theta_sketch_agg(a b, 8)", "theta_sketch_agg(x, 5, 9)", "bitmap_construct_agg(x)"]
    assert list(map(str, found)) == texts
    assert parse_measures(texts, types) == found and all(each.is_sketch for each in found)


@pytest.mark.parametrize(
    ("dimensions", "no_star", "text"),
    [
        ([], [], "1 to 12"),
        (["x"] * 13, [], "1 to 12"),
        (["countri"], [], "country"),
        (["x", "x"], [], "twice"),
        (["x"], ["y"], "'y'"),
        (["list"], [], "array"),
    ],
)
def test_bad_dimensions_are_named(dimensions: list[str], no_star: list[str], text: str) -> None:
    table = table_of(0, 1)
    with pytest.raises(IndexDefinitionError, match=text):
        tree_of_table(table, {**types_of(table), "list": "array<int>"}, dimensions, [Measure("count", None)], no_star=no_star)
