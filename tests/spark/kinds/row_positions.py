"""Values that a row has by its place: random ones, ids, numbers of partitions. Between scan and next exchange they are exact."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import asked, columns, joined, named
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World

# Each value with a condition on it and a small whole number made of it.
VALUES = {
    "rand(7)": ("{} < 0.3", "cast({} * 10 as int)"),
    "randn(3)": ("{} < 0.2", "cast(abs({}) * 5 as int)"),
    "uuid(5)": ("{} < '6'", "ascii({}) % 10"),
    "monotonically_increasing_id()": ("{} % 3 = 0", "cast({} % 10 as int)"),
    "spark_partition_id()": ("{} = 0", "{}"),
    "shuffle(array(1, 2, 3, 4), 5)": ("{}[0] > 2", "{}[1]"),
    "uniform(0, 100, 3)": ("{} < 40", "{} % 10"),
    "randstr(4, 7)": ("{} < 'P'", "ascii({}) % 10"),
    "input_file_name()": ("{} like '%part-00%'", "length({}) % 10"),
}
SAMPLES = ("tablesample (30 percent) repeatable (7)", "tablesample (60 percent) repeatable (3)")


def by_place(rng: Random, world: World) -> Query:
    value, (test, number) = rng.choice(list(VALUES.items()))
    where = rng.choice(
        ["selected", "filtered", "grouped", "sorted", "windowed", "key", "below", "below filtered", "static", "sampled"]
    )
    if where in ("key", "below", "below filtered"):
        return Query(_below(rng, world, where, value, test, number))
    rows = joined(rng, world, steady=True)
    outputs = columns(rng, world, rows.aliases, 1)
    # Spark has no name of a file where rows of several come together.
    if where == "static" or value == "input_file_name()" or rng.random() < 0.2:
        conditions = asked(rng, world, count=rng.randint(1, 2))
        inner = f"select {named([*columns(rng, world, ['f'], 1), value])} from f where {conditions}"
    else:
        inner = rows.select(named([*outputs, value]))
    if where == "filtered":
        return Query(f"select c0, c1 from ({inner}) where {test.format('c2')}")
    if where == "grouped":
        return Query(f"select {number.format('c2')} as p, count(*) as n, sum(c0) as x from ({inner}) group by 1")
    if where == "sorted":
        return Query(f"select c0, c1 from ({inner}) order by {number.format('c2')}, c0, c1 limit {rng.randint(3, 30)}")
    if where == "windowed":
        return Query(f"select c0, rank() over (partition by c0 % 3 order by {number.format('c2')}, c0) as n from ({inner})")
    if where == "sampled":
        return Query(f"select c0, c1 from ({inner}) {rng.choice(SAMPLES)}")
    return Query(f"select c0, c1, c2 from ({inner})")


def _below(rng: Random, world: World, where: str, value: str, test: str, number: str) -> str:
    """The value is made of the scan's rows, and joins stand above it."""
    first = f"(select *, {value} as p from f)"
    if where == "below filtered":
        first = f"(select * from (select *, {value} as p from f) where {test.format('p')})"
    if where == "key":
        first = f"(select *, {number.format('p')} as i from (select *, {value} as p from f))"
        rows = joined(rng, world, first, on=f"f.i = {{d}}.{world.naming.sql('g')}", kind="inner join", more=rng.randrange(2))
    else:
        rows = joined(rng, world, first, kind=rng.choice(["inner join", "left semi join", "right join"]))
    return rows.select(named([*columns(rng, world, rows.aliases, 1), "f.p"]))
