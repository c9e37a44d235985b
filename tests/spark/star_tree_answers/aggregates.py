"""Random aggregates in SQL that Spark and DuckDB read alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.spark.star_tree_answers.tables import DIMENSIONS, MEASURED, NUMBERS

# By dimension: conditions that are judged value by value, and some that only Spark can test.
CONDITIONS = {
    "c": (
        "c = 'CA'",
        "c in ('MX', '')",
        "c <> 'ü'",
        "c is null",
        "c like 'c%'",
        "upper(c) = 'CA'",
        "c > 'B' or c is null",
        "not c = 'MX'",
    ),
    "d": ("d >= date '2021-01-30'", "d between date '2020-01-01' and date '2021-02-01'", "year(d) = 2021", "d is not null"),
    "f": ("f > 0", "f = 0", "f is null", "not f < 1.5", "f <> 1.5"),
    "b": ("b", "not b", "b is null", "b or b is null"),
    "k": ("k = 2", "k in (1, 3, 99)", "k < 3", "k > 100", "k % 2 = 1", "not (k = 1 or k = 2)", "k not in (7)", "k = 1 or k > 2"),
    "dec": ("dec > 0", "dec = 1.10", "dec <= 0.00"),
    "t": ("t = 0", "t >= -128", "t <> 127", "cast(t as int) % 5 = 0"),
    "moment": ("moment < timestamp '2022-01-01 00:00:00'", "moment is not null"),
}
EXPRESSIONS = {
    "c": ("c", "c || 'x'"),
    "d": ("d", "year(d)", "month(d)"),
    "f": ("f",),
    "b": ("b",),
    "k": ("k", "k % 3", "coalesce(k, 0)"),
    "dec": ("dec",),
    "t": ("t", "cast(t as int) % 3"),
    "moment": ("moment", "year(moment)"),
}
OF_SMALL = ("name = 'p'", "w > 10", "name is not null")


@dataclass(frozen=True)
class Aggregate:
    """A query, and what its cells are: `sums` are whole numbers that may have wrapped around, `near` need a tolerance, and of
    `open` DuckDB's may be anything: Spark adds up large whole numbers as doubles."""

    sql: str
    groups: int
    sums: tuple[int, ...]
    near: tuple[int, ...]
    open: tuple[int, ...] = ()

    @property
    def has_sets(self) -> bool:
        return "group by rollup" in self.sql or "group by cube" in self.sql


def random_aggregate(r: np.random.Generator, dimensions: tuple[str, ...], measures: tuple[str, ...]) -> Aggregate:
    """An aggregate that a tree with these dimensions and measures mostly answers."""

    def one(of: tuple[str, ...]) -> str:
        return str(of[int(r.integers(len(of)))])

    def dimension() -> str:
        return one(dimensions if r.random() < 0.96 else DIMENSIONS)

    how = one(("join", "left join", "left semi join", "left anti join")) if "k" in dimensions and r.random() < 0.3 else ""
    if how and r.random() < 0.08:
        how = "right join"
    pairs = how in ("join", "left join", "right join")
    groups = [one(EXPRESSIONS[dimension()]) for _ in range(int(r.choice([0, 1, 1, 2, 3])))]
    if pairs and r.random() < 0.6:
        groups.append("name")
    groups = list(dict.fromkeys(groups))
    wheres = [one(CONDITIONS[dimension()]) for _ in range(int(r.choice([0, 1, 1, 2])))]
    if pairs and r.random() < 0.4:
        wheres.append(one(OF_SMALL))
    if r.random() < 0.03:
        wheres.append("c = 'CA' or k = 1")
    cells, kinds = [], []
    for number in range(int(r.integers(1, 5)), 0, -1):
        sql, kind = _function(r, one, dimension, measures, dimensions, pairs=pairs)
        cells.append(f"{sql} as a{number}")
        kinds.append(kind)
    on = one(("k = dk", "k = dk", "c = dc", "k = dk and w > t")) if "c" in dimensions and "t" in dimensions else "k = dk"
    table = f"fact {how} small on {on}" if how else "fact"
    where = f" where {' and '.join(f'({each})' for each in wheres)}" if wheres else ""
    sets = one(("", "", "", "", "rollup", "cube")) if len(groups) > 1 else ""
    by = f" group by {sets}({', '.join(groups)})" if sets else f" group by {', '.join(groups)}" if groups else ""
    having = " having count(*) > 2" if groups and r.random() < 0.15 else ""
    named = [f"{each} as g{place}" for place, each in enumerate(groups)]
    places = [tuple(place for place, each in enumerate(kinds, len(groups)) if each == kind) for kind in ("sum", "near", "open")]
    return Aggregate(f"select {', '.join([*named, *cells])} from {table}{where}{by}{having}", len(groups), *places)


def _function(  # type: ignore[no-untyped-def]
    r: np.random.Generator, one, dimension, measures: tuple[str, ...], known: tuple[str, ...], *, pairs: bool
) -> tuple[str, str]:
    measure = one(measures if r.random() < 0.97 else MEASURED)
    number = one(tuple(each for each in measures if each in NUMBERS) or NUMBERS)
    condition = one(CONDITIONS[dimension()])
    kind = "sum" if number in ("x", "y", "big") else "exact"
    choices = [
        ("count(*)", "exact"),
        (f"count({measure})", "exact"),
        (f"sum({number})", kind),
        (f"avg({number})", "open" if number == "big" else "near"),
        (f"min({measure})", "exact"),
        (f"max({measure})", "exact"),
        (f"count(distinct {dimension()})", "exact"),
        (f"min({dimension()})", "exact"),
        (f"sum({number}) filter (where {condition})", kind),
        (f"sum(case when {condition} then {number} end)", kind),
        (f"sum(case when {condition} then 1 else 0 end)", "sum"),
        (f"count({dimension()})", "exact"),
    ]
    if "t" in known:
        choices.append(("sum(t)", "sum"))
    if number != "wide":
        choices.append((f"sum({number} * 2)" if number in ("x", "y") else f"sum({number} + 1)", kind))
    others = [each for each in measures if each in ("x", "y")]
    if number in ("x", "y") and others:
        choices += [(f"sum({number} {one(('+', '-'))} {one(tuple(others))} * 3 + 2)", "sum")]
    if number in ("price", "wide") and {"price", "wide"} <= set(measures):
        choices.append(("sum(price + wide)", "exact"))
    if number == "big":
        choices.append((f"sum(case when {condition} then big else 0 end + 1)", kind))
    if "dec" in known and number == "price":
        choices += [("sum(price * (1 - dec))", "exact"), ("sum(price - dec)", "exact"), ("sum(dec + price)", "exact")]
    if "k" in known and number in ("x", "y"):
        choices += [(f"sum({number} * k)", "sum"), (f"sum({number} + cast(k as bigint))", "sum")]
    if pairs:
        choices += [("sum(w)", "sum"), ("max(w)", "exact"), ("count(name)", "exact")]
    return choices[int(r.integers(len(choices)))]
