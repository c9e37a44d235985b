"""Conditions out of a scan's metadata, as Spark writes them without quotes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from rtfilter.advice.event_logs.conditions import condition_of
from rtfilter.advice.workload.literals import Literals
from rtfilter.advice.workload.predicates import leaves
from rtfilter.advice.workload.spark_conditions import as_asked

TYPES = {
    "n": "bigint",
    "m": "int",
    "kind": "string",
    "note": "varchar(20)",
    "flag": "boolean",
    "price": "decimal(7,2)",
    "odd name": "int",
}

# DataFilters, and what is understood of them.
WHOLE = [
    ("[]", "None"),
    ("[isnotnull(n#1L), (n#1L = 5)]", "n is not null and n = ?"),
    ("[(n#1L <=> 5)]", "n = ?"),
    ("[(n#1L <=> null)]", "n is null"),
    ("[NOT (n#1L = 5)]", "n <> ?"),
    ("[(5 < n#1L)]", "n range"),
    ("[(n#1L >= 1), (n#1L <= 9)]", "n range and n range"),
    ("[n#1L IN (1,2,2)]", "n in (2)"),
    ("[NOT n#1L IN (1,2,3)]", "n not in (3)"),
    # The values of a set are not in brackets: they look like more conditions.
    ("[n#1L INSET 1, 10, 2, (m#2 = 3)]", "n in (3) and m = ?"),
    ("[(m#2 = 3), n#1L INSET 1, 10, 2]", "m = ? and n in (3)"),
    ("[isnull(kind#3)]", "kind is null"),
    ("[(kind#3 = toys)]", "kind = ?"),
    ("[(kind#3 = a, b)]", "kind = ?"),
    ("[StartsWith(kind#3, x)]", "kind like"),
    ("[kind#3 LIKE a%b_]", "kind like"),
    ("[flag#5]", "flag = ?"),
    ("[NOT flag#5]", "flag <> ?"),
    ("[((n#1L = 1) OR (m#2 = 2))]", "n = ? or m = ?"),
    ("[(((n#1L = 1) AND (m#2 > 2)) OR (n#1L = 3))]", "(n = ? and m range) or n = ?"),
    ("[(upper(kind#3) = X)]", "function(kind)"),
    ("[((n#1L + cast(m#2 as bigint)) = 5)]", "function(n, m)"),
    ("[(cast(n#1L as string) = 5)]", "function(n)"),
    ("[(price#6 > 1.50)]", "price range"),
    ("[(odd name#7 = 3)]", "odd name = ?"),
    ("[isnotnull(n#1L), dynamicpruningexpression(n#1L IN dynamicpruning#99)]", "n is not null"),
    ("[true]", "None"),
]


@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_what_is_understood_for_sure(text: str, expected: str) -> None:
    found = condition_of([text], "", TYPES)
    assert (str(found.predicate), found.partial) == (expected, ())


# What is understood, and a word of why not all is.
PARTLY = [
    ("[kind#3 IN (a,b,c)]", "kind in (3)", "how many values kind may have"),
    ("[note#4 INSET a, b, c]", "note in (3)", "how many values note may have"),
    ("[(kind#3 = a) AND (b)]", "other(kind)", "a condition on kind"),
    ("[(kind#3 = smile :))]", "other(kind)", "a condition on kind"),
    ("[(kind#3 = a (b) c)]", "kind = ?", "where the text"),
    ("[(kind#3 = n#1L)]", "other(kind, n)", "a condition on kind, n"),
    ("[(n#1L > scalar-subquery#12 [])]", "function(n)", "another part of the query"),
    ("[((n#1L = 1) OR might_contain(x))]", "None", "another part of the query"),
    ("[(kind#3 = x AND y AND z)]", "other(kind)", "a condition on kind"),
    ("[(kind#3 = the end]", "other(kind)", "a condition on kind"),
    ("[rand() < 0.5]", "None", "a condition on no column"),
]


@pytest.mark.parametrize(("text", "expected", "reason"), PARTLY)
def test_what_may_be_read_in_two_ways_is_partial(text: str, expected: str, reason: str) -> None:
    found = condition_of([text], "", TYPES)
    assert expected in str(found.predicate) and found.partial
    assert any(reason in each for each in found.partial)


def test_a_text_that_looks_like_a_condition_is_found_out_by_what_was_pushed_down() -> None:
    """The query asks for kind = 'a), (n#1L = 3'."""
    found = condition_of(["[(kind#3 = a), (n#1L = 3)]"], "[EqualTo(kind,a), (n#1L = 3)]", TYPES)
    assert found.partial == ("whether n is really asked for",)
    honest = condition_of(["[(kind#3 = a), (n#1L = 3)]"], "[EqualTo(kind,a), EqualTo(n,3)]", TYPES)
    assert honest.partial == ()


@pytest.mark.parametrize(
    "text", ["", "[", "]", "[(((((", "[NOT ]", "[( AND )]", "[#1]", "[a#]", "[" + "NOT " * 5_000 + "a#1]", "[" + "(" * 5_000]
)
def test_what_nobody_can_read_is_no_error(text: str) -> None:
    found = condition_of([text], text, TYPES)
    # Nothing is made up, and what is not understood is told.
    assert found.predicate is None or "other" in str(found.predicate)
    assert bool(found.partial) == bool(text)


@pytest.mark.parametrize(
    ("text", "keys", "expected"),
    [
        ("[isnotnull(n#1L), (n#1L = 5)]", (), "n = ?"),
        ("[isnotnull(n#1L)]", (), "n is not null"),
        ("[isnotnull(n#1L)]", ("n",), "None"),
        ("[isnotnull(n#1L), ((n#1L = 1) OR (m#2 = 2))]", (), "n = ? or m = ?"),
        ("[(n#1L >= 1), (m#2 = 3), (n#1L <= 9)]", (), "n range and m = ?"),
        ("[isnull(n#1L)]", ("n",), "n is null"),
        ("[(((n#1L > 1) AND (n#1L < 9)) OR (m#2 = 3))]", (), "n range or m = ?"),
    ],
)
def test_what_spark_adds_is_taken_away(text: str, keys: tuple[str, ...], expected: str) -> None:
    assert str(as_asked(condition_of([text], "", TYPES).predicate, keys)) == expected


DATED = {**TYPES, "day": "date", "at": "timestamp"}


@pytest.mark.parametrize(
    ("text", "values", "form"),
    [
        ("[(n#1L = 5)]", (5,), ""),
        ("[NOT (n#1L = -5)]", (-5,), ""),
        ("[(price#6 > 1.50)]", (Decimal("1.5"),), ">"),
        ("[(5 < n#1L)]", (5,), ">"),
        ("[(n#1L >= 1), (n#1L <= 9)]", (1, 9), "between"),
        ("[n#1L IN (10,9,9)]", (10, 9), ""),
        ("[n#1L INSET 1, 10, 2]", (1, 10, 2), ""),
        ("[(kind#3 = it's)]", ("it's",), ""),
        ("[(day#8 = 2000-01-05)]", ("2000-01-05",), ""),
        ("[flag#5]", ("true",), ""),
        ("[StartsWith(kind#3, 5%_)]", ("5\\%\\_%",), "like"),
        ("[Contains(kind#3, x)]", ("%x%",), "like"),
        ("[kind#3 LIKE a_%]", ("a_%",), "like"),
    ],
)
def test_literals_that_are_plain(text: str, values: tuple[object, ...], form: str) -> None:
    (leaf,) = leaves(as_asked(condition_of([text], "", DATED).predicate, ()))
    assert leaf.literals == Literals(values, form)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "[kind#3 IN (a,b)]",
        "[(kind#3 = a (b) c)]",
        "[(at#9 = 2000-01-05 00:00:00)]",
        "[(day#8 = 10961)]",
        "[(n#1L = many)]",
        "[kind#3 RLIKE a.*]",
        "[(n#1L > 1), (n#1L > 2)]",
        "[(note#4 = x)]",
    ],
)
def test_literals_that_may_be_something_else_are_not_taken(text: str) -> None:
    (leaf,) = leaves(as_asked(condition_of([text], "", DATED).predicate, ()))
    assert leaf.literals is None
