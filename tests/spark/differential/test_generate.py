"""What the random cases are made of: no kind of join, key or setting may fall out of them unnoticed."""

from __future__ import annotations

import pytest

from tests.spark.differential import cases as cases_module
from tests.spark.differential.cases import Case, Key
from tests.spark.differential.generate import CTE_SHAPES, JOIN_KINDS, QUERIES_PER_SET, STRATEGIES, generate
from tests.spark.differential.sql import DUCKDB, FORMS, NOT_ANSI, SPARK, render
from tests.spark.differential.values import GREGORIAN, literal

# Two of each set: many tables, and more queries.
SEEDS = range(0, 600 * QUERIES_PER_SET, QUERIES_PER_SET // 2)
TYPES = (
    *(
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "date",
        "timestamp",
        "timestamp_ntz",
        "boolean",
        "float",
        "double",
        "string",
        "binary",
    ),
    *("binary", "decimal(9,2)", "decimal(18,4)", "decimal(22,2)", "decimal(12,1)"),
)
SETTINGS = (
    *("rtfilter.cost", "rtfilter.kinds", "rtfilter.set.maxKeys"),
    *("spark.sql.autoBroadcastJoinThreshold", "spark.sql.parquet.columnarReaderBatchSize"),
)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [generate(seed) for seed in SEEDS]


def test_a_seed_is_always_the_same_case(cases: list[Case]) -> None:
    assert [generate(seed) for seed in SEEDS[:20]] == cases[:20]


def test_the_seeds_of_a_set_share_their_tables_and_not_their_queries() -> None:
    cases = [generate(seed) for seed in range(QUERIES_PER_SET, 3 * QUERIES_PER_SET)]
    tables = [{table.name: table for table in case.tables} for case in cases]
    first, second = tables[:QUERIES_PER_SET], tables[QUERIES_PER_SET:]
    assert all(each[name] is others[name] for each in first for others in first for name in each.keys() & others.keys())
    assert all(each[name] != others[name] for each in first for others in second for name in each.keys() & others.keys())
    assert len({render(case, SPARK) for case in cases}) == len(cases)


def test_a_case_prints_as_a_literal_of_itself(cases: list[Case]) -> None:
    assert all(eval(repr(case), vars(cases_module)) == case for case in cases[:20])


@pytest.mark.parametrize("type_", TYPES)
def test_two_tables_may_meet_in_a_key_of_type(type_: str, cases: list[Case]) -> None:
    assert any(sum(type_ in [column.type for column in table.columns[:3]] for table in case.tables) > 1 for case in cases)


@pytest.mark.parametrize("pair", [("int", "bigint"), ("decimal(9,2)", "decimal(18,4)"), ("float", "double"), ("int", "double")])
def test_a_key_may_have_another_type_on_each_side(pair: tuple[str, str], cases: list[Case]) -> None:
    shown = [{table.columns[0].type for table in case.tables} for case in cases]
    assert any(set(pair) <= types for types in shown)


def test_every_join_strategy_form_and_setting_occurs(cases: list[Case]) -> None:
    blocks = [block for case in cases for block in case.query.blocks]
    joins = [join for block in blocks for join in block.joins]
    keys = [key for join in joins for key in join.keys]
    assert {join.kind for join in joins} == set(JOIN_KINDS)
    assert {hint.strategy for block in blocks for hint in block.hints} == set(STRATEGIES)
    assert {form for key in keys for form in (key.left_form, key.right_form)} == set(FORMS)
    assert {entry for case in cases for entry, _ in case.conf} >= set(SETTINGS)
    assert any(key.null_safe for key in keys)
    assert any(len(join.keys) > 1 for join in joins)


@pytest.mark.parametrize("shape", CTE_SHAPES)
def test_a_cte_of_each_shape_is_used_more_than_once(shape: str, cases: list[Case]) -> None:
    used = [case for case in cases if any(cte.shape == shape for cte in case.query.ctes)]
    assert any(list(case.query.sources()).count("c0") > 1 for case in used)


def test_decimals_are_added_to_on_both_sides_of_a_join(cases: list[Case]) -> None:
    forms = [(key.left_form, key.right_form) for case in cases for key in _keys(case)]
    assert ("decimal plus", "decimal plus") in forms
    assert any("decimal negated" in pair for pair in forms)


def test_sums_wrap_round_only_where_none_raises(cases: list[Case]) -> None:
    wrapped = [case for case in cases if any(form in _forms(case) for form in NOT_ANSI)]
    assert wrapped
    assert all(dict(case.conf)["spark.sql.ansi.enabled"] == "false" for case in wrapped)


def _keys(case: Case) -> list[Key]:
    return [key for block in case.query.blocks for join in block.joins for key in join.keys]


def _forms(case: Case) -> set[str]:
    return {form for key in _keys(case) for form in (key.left_form, key.right_form)}


@pytest.mark.parametrize("pair", [("bigint", "int"), ("int", "smallint"), ("tinyint", "int"), ("double", "float")])
def test_a_file_may_store_another_type_than_the_schema_says(pair: tuple[str, str], cases: list[Case]) -> None:
    files = [(table, file) for case in cases for table in case.tables for file in table.files]
    assert any((table.type_of(name), type_) == pair for table, file in files for name, type_ in file.stored_as)


@pytest.mark.parametrize("value", ["NaN", "-0.0"])
def test_packs_are_full_of_one_odd_float(value: str, cases: list[Case]) -> None:
    files = [file for case in cases for table in case.tables for file in table.files]
    assert any(list(column).count(value) > file.pack_rows for file in files for column in zip(*file.rows, strict=True))


@pytest.mark.parametrize("value", ["NaN", "-0.0", "inf"])
def test_odd_floats_occur_on_both_sides_of_a_join(value: str, cases: list[Case]) -> None:
    def holds(case: Case) -> int:
        return sum(any(value in row for file in table.files for row in file.rows) for table in case.tables)

    assert any(holds(case) > 1 for case in cases)


def test_both_dialects_are_given_the_same_query_but_for_hints(cases: list[Case]) -> None:
    for case in cases:
        assert "/*+" not in render(case, DUCKDB)
        assert render(case, SPARK).count(" join ") == render(case, DUCKDB).count(" join ")


def test_no_literal_is_a_day_that_only_one_calendar_has() -> None:
    days = [int(literal(GREGORIAN + step, "date").partition("(")[2].rstrip(")")) - GREGORIAN for step in (-11, -10, -1, 0, 1)]
    assert days == [-11, 0, 9, 0, 1]
    moments = [literal(GREGORIAN * 86_400_000_000 + step, "timestamp") for step in (-1, 0)]
    assert moments == ["timestamp '1582-10-24 23:59:59.999999'", "timestamp '1582-10-15 00:00:00'"]


def test_no_query_asks_for_what_spark_itself_loses() -> None:
    """With the layer off, Spark's reader drops pages by bounds that do not count NaN, which is not below any number."""

    def holding_nan(case: Case, source: str, name: str) -> bool | None:
        table = next((table for table in case.tables if table.name == source), None)
        position = None if table is None else next((i for i, each in enumerate(table.columns) if each.name == name), None)
        if table is None or position is None or table.columns[position].type not in ("float", "double"):
            return None
        return any(row[position] == "NaN" for file in table.files for row in file.rows)

    found = [
        (condition.split()[1], holding_nan(case, relation.source, filter_.column))
        for case in (generate(seed) for seed in range(9001003000, 9001003400))
        for block in case.query.blocks
        for relation in (*block.relations, *case.query.ctes)
        for filter_ in relation.filters
        for condition in (filter_.condition,)
    ]
    assert (">=", False) in found and ("<=", True) in found and (">=", True) not in found


def conditions_asked(*more_seeds: int) -> list[str]:
    """The conditions of some hundred queries, and of those of these seeds."""
    return [
        filter_.condition
        for seed in (*range(9001003000, 9001003400), *more_seeds)
        for case in [generate(seed)]
        for block in case.query.blocks
        for filters in (*(each.filters for each in (*block.relations, *case.query.ctes)), [each for _, each in block.where])
        for filter_ in filters
    ]


def test_no_query_asks_for_nan_among_others() -> None:
    """With the layer off, Spark's reader drops packs by bounds that do not count NaN, which is above all of them."""
    among = [condition for condition in conditions_asked(10001008582) if condition.startswith("{} in (")]
    assert any("as double)" in condition for condition in among) and not any("NaN" in condition for condition in among)


def test_no_query_asks_for_what_is_at_most_minus_zero() -> None:
    """With the layer off, Spark's reader drops packs whose lowest value is 0.0, which equals -0.0."""
    at_most = [condition for condition in conditions_asked(11001009197) if condition.startswith("{} <= cast('")]
    assert at_most and not any("'-0.0'" in condition for condition in at_most)


def test_no_scalar_subquery_is_compared_with_nan() -> None:
    """With the layer off, Spark's reader gets the subquery's value and drops packs by bounds that do not count NaN."""
    case = generate(11001001439)
    compared = [each for block in case.query.blocks for each in block.subqueries if each.kind == "scalar"]
    assert compared and {each.column for each in compared} == {"g"}
