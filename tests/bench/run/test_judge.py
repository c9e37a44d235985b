"""Whose rows are right: ties at a LIMIT, published answers, rows that are really different."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("duckdb")

from rtfilter.bench.engines.execution import Row
from rtfilter.bench.run.canonical_rows import holds_rows  # after the check that the bench extra is there
from rtfilter.bench.run.judge import answer_difference, difference, explained_by_ties
from rtfilter.bench.suites.closing_limit import TopRows, top_rows, without_limit
from rtfilter.bench.suites.suite import Query

SQL = "SELECT name, sum(n) AS total FROM t GROUP BY name ORDER BY total DESC LIMIT 2"
ALL_ROWS: list[Row] = [("a", 9), ("b", 5), ("c", 5), ("d", 1)]


def judged(rows: Sequence[Row], sql: str = SQL) -> str | None:
    return difference(Query("q", sql, sql, ("t",)), rows, ALL_ROWS[:2], ["name", "total"], lambda: ALL_ROWS)


def test_another_choice_among_ties_at_the_limit_is_right() -> None:
    assert judged([("a", 9), ("c", 5)]) is None
    assert judged([("b", 5), ("a", 9)]) is None


@pytest.mark.parametrize(
    "rows",
    [
        [("b", 5), ("c", 5)],  # the first row is no tie and may not be missing
        [("a", 9), ("d", 1)],  # comes after the limit
        [("a", 9), ("x", 5)],  # ties, but is no row of the result
        [("a", 9), ("a", 9)],  # one row taken twice
        [("a", 9)],
        [("a", 9), ("b", 5), ("c", 5)],
    ],
)
def test_rows_that_no_tie_explains_are_wrong(rows: list[Row]) -> None:
    found = judged(rows)
    assert found is not None and "expected 2 rows" in found


def test_without_a_limit_every_other_row_is_wrong_and_the_judge_is_not_asked_again() -> None:
    assert judged([("a", 9), ("c", 5)], without_limit(SQL)) is not None

    def never() -> Sequence[Row]:
        raise AssertionError("asked for all rows although these are equal")

    assert difference(Query("q", SQL, SQL, ()), ALL_ROWS, ALL_ROWS, ["name", "total"], never) is None


@pytest.mark.parametrize(
    ("sql", "output", "columns"),
    [
        (SQL, ["name", "total"], (1,)),
        ("SELECT a, b FROM t ORDER BY 2, a LIMIT 10", ["a", "b"], (0, 1)),
        ("SELECT t.a, sum(b) FROM t GROUP BY a ORDER BY sum(b), t.a LIMIT 10", ["a", "sum(b)"], (0, 1)),
        ("SELECT * FROM (SELECT 1 AS x, 2 AS y) ORDER BY y, CASE WHEN x = 1 THEN y END LIMIT 10", ["x", "y"], (1,)),
        ("SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a LIMIT 10", ["a"], (0,)),
        ("WITH w AS (SELECT 1 AS a LIMIT 1) SELECT a FROM w LIMIT 10 ;", ["a"], ()),
    ],
)
def test_sort_keys_are_found_among_the_output_columns(sql: str, output: list[str], columns: tuple[int, ...]) -> None:
    top = top_rows(sql, output)
    assert top is not None and top.columns == columns


def test_only_a_closing_limit_counts() -> None:
    inner = "SELECT * FROM (SELECT a FROM t ORDER BY a LIMIT 5) x ORDER BY a"
    assert top_rows(inner, ["a"]) is None and without_limit(inner) == inner
    assert without_limit("SELECT a FROM t ORDER BY a\nlimit 5\n;") == "SELECT a FROM t ORDER BY a"
    assert top_rows("this is no SQL LIMIT 3", ["a"]) is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12), st.integers(1, 12), st.randoms())
def test_every_order_of_the_ties_gives_a_right_choice(rows: list[tuple[int, int]], limit: int, random: object) -> None:
    in_order = sorted(rows, key=lambda row: row[0])
    other_order = sorted(reversed(rows), key=lambda row: row[0])
    assert explained_by_ties(other_order[:limit], in_order, TopRows(limit, (0,)))
    if len(in_order) > limit and in_order[limit][0] > in_order[limit - 1][0]:
        assert not explained_by_ties(in_order[1 : limit + 1], in_order, TopRows(limit, (0,)))


def test_rows_are_found_whatever_numeric_type_an_engine_has() -> None:
    pool: list[Row] = [("a", Decimal("0.333333"), 5), ("a", 0.5, 5), (None, 1, None)]
    assert holds_rows(pool, [("a", 1 / 3, 5.0), (None, Decimal("1.0"), None)])
    assert not holds_rows(pool, [("a", 1 / 3, 5), ("a", 1 / 3, 5)])
    assert not holds_rows(pool, [(None, None, None)])


def test_an_answer_is_read_in_the_types_of_the_rows() -> None:
    rows: list[Row] = [("A", Decimal("1.50"), 25.575154611454693, date(1998, 9, 2), 3), ("B", None, 1.0, date(1998, 9, 3), 4)]
    answer = "name|price|average|day|count\nA|1.5|25.575154611454693|1998-09-02|3\nB||1|1998-09-03|4\n"
    assert answer_difference(rows, answer) is None
    assert answer_difference(rows[:1], answer) is not None
    assert answer_difference([rows[0], ("B", None, 1.1, date(1998, 9, 3), 4)], answer) is not None


def test_an_answer_with_more_places_than_the_decimal_beside_it_is_right_within_half_a_unit() -> None:
    answer = "average|total\n25.522005853257337|56586554400.73\n"
    assert answer_difference([(Decimal("25.522006"), Decimal("56586554400.73"))], answer) is None
    assert answer_difference([(Decimal("25.522007"), Decimal("56586554400.73"))], answer) is not None
    assert answer_difference([(Decimal("25.522006"), Decimal("56586554400.74"))], answer) is not None


def test_a_missing_value_and_no_row_are_two_answers() -> None:
    assert answer_difference([(None,)], "average\n\n") is None
    assert answer_difference([], "average\n") is None
    assert answer_difference([], "average\n\n") is not None
    assert answer_difference([(None,)], "average\n") is not None
