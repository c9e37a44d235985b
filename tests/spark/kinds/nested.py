"""Subqueries, unions, tables joined with themselves, aggregates and windows around joins."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import asked, columns, equality, joined, named, selective
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World


def nested(rng: Random, world: World) -> Query:
    make = rng.choice(
        [_in, _exists, _scalar, _not_in, _union, _self, _grouped, _windowed, _semi_of_a_join, _semi_of_a_join, _twice]
    )
    return Query(make(rng, world))


def _letter(rng: Random) -> str:
    return rng.choice("kkkklsmr")


def _in(rng: Random, world: World) -> str:
    letter, d = _letter(rng), selective(rng, world, "d")
    more = f" and {asked(rng, world)}" if rng.random() < 0.3 else ""
    inner = f"select {world.column('d', letter)} from d where {d}"
    if rng.random() < 0.3:
        inner = f"select {world.column('d', letter)} from d join e on {equality(rng, world, 'e', None, 'd')} where {d}"
    return f"select {named(columns(rng, world, ['f']))} from f where {world.column('f', letter)} in ({inner}){more}"


def _not_in(rng: Random, world: World) -> str:
    letter, word = _letter(rng), rng.choice(["not in", "not exists"])
    if word == "not in":
        test = f"{world.column('f', letter)} not in (select {world.column('d', letter)} from d)"
    else:
        test = f"not exists (select 1 from d where {equality(rng, world, 'd', letter)})"
    return f"select {named(columns(rng, world, ['f']))} from f where {test} and {asked(rng, world)}"


def _exists(rng: Random, world: World) -> str:
    test = f"exists (select 1 from d where {equality(rng, world, 'd')} and {selective(rng, world, 'd')})"
    if rng.random() < 0.2:
        test = f"({test} or {asked(rng, world)})"
    return f"select {named(columns(rng, world, ['f']))} from f where {test}"


def _scalar(rng: Random, world: World) -> str:
    letter = rng.choice("krlv")
    inner = f"select {rng.choice(['min', 'max'])}({world.column('d', letter)}) from d where {selective(rng, world, 'd')}"
    operator = rng.choice(["=", ">=", "="])
    rows = joined(rng, world) if rng.random() < 0.6 else None
    if rows is None:
        return f"select {named(columns(rng, world, ['f']))} from f where {world.column('f', letter)} {operator} ({inner})"
    return rows.asking(f"{world.column('f', letter)} {operator} ({inner})").select(named(columns(rng, world, rows.aliases)))


def _union(rng: Random, world: World) -> str:
    if rng.random() < 0.5:
        both = f"(select * from f where {asked(rng, world)} union all select * from f where {selective(rng, world, 'f')})"
        rows = joined(rng, world, both)
        return rows.select(named(columns(rng, world, rows.aliases)))
    parts = [joined(rng, world).select(named([world.column("f", "v"), world.column("f", letter)])) for letter in "gg"]
    return " union all ".join(parts)


def _self(rng: Random, world: World) -> str:
    v, g = world.column("x", "v"), world.column("f", "g")
    on = equality(rng, world, "x", rng.choice("kls"))
    small = f"(select * from f where {asked(rng, world)}) x"
    return f"select {named([world.column('f', 'v'), v])} from f join {small} on {on} where {g} < 7"


def _grouped(rng: Random, world: World) -> str:
    rows = joined(rng, world)
    by = world.column(rng.choice(rows.aliases), rng.choice(("g", "k", "s", "dt", "u")))
    values = [f"count({world.column(rng.choice(rows.aliases), 'k')})", f"sum({world.column('f', 'v')})"]
    grouped = rows.select(f"{by} as b, {named(values)}", "group by 1")
    # Which of several equal texts of a collation stands for a group is chance.
    return f"select {'c0, c1' if by.endswith('.u') else 'b, c0, c1'} from ({grouped})"


def _windowed(rng: Random, world: World) -> str:
    rows = joined(rng, world)
    v, by = world.column("f", "v"), world.column("f", rng.choice("gks"))
    window = rng.choice([f"rank() over (partition by {by} order by {v})", f"sum({v}) over (partition by {by})"])
    return rows.select(named([*columns(rng, world, rows.aliases), window]))


def _semi_of_a_join(rng: Random, world: World) -> str:
    """A semi join with a join with an aggregate: adaptive execution may keep its earlier plan."""
    one, other = rng.choice([("k", "k"), ("g", "k"), ("k", "g"), ("s", "s"), ("l", "k")])
    letters = [world.naming.sql(letter) for letter in (one, other)]
    distinct = f"(select distinct {letters[1]} as b from e where {selective(rng, world, 'e')}) x"
    inner = f"(select d.{letters[0]} as a, x.b from d join {distinct} on d.{letters[1]} = x.b) z"
    kind = rng.choice(["left semi join", "left semi join", "join"])
    on = rng.choice([f"f.{letters[1]} = z.b", f"f.{letters[0]} = z.a"])
    return f"select {named(columns(rng, world, ['f']))} from f {kind} {inner} on {on}"


def _twice(rng: Random, world: World) -> str:
    rows = joined(rng, world)
    cte = rows.select(named([world.column("f", "v"), world.column("f", rng.choice("gk"))]))
    return f"with c as ({cte}) select a.c0, b.c1 from c a join c b on a.c0 = b.c0 where b.c1 % 2 = 0"
