"""Joins and conditions over columns of every type, with nothing around them."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import asked, columns, joined, named
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World


def plain_join(rng: Random, world: World) -> Query:
    rows = joined(rng, world)
    if rng.random() < 0.2:
        return Query(rows.select(f"count(*) as a, sum({world.column('f', 'v')}) as b"))
    return Query(rows.select(named(columns(rng, world, rows.aliases))))


def plain_conditions(rng: Random, world: World) -> Query:
    return Query(f"select {named(columns(rng, world, ['f']))} from f where {asked(rng, world, count=rng.randint(1, 3))}")


def split(rng: Random, world: World) -> Query:
    """The parts of a random split, with an index made after the first one."""
    if rng.random() < 0.5:
        return Query(f"select {named(columns(rng, world, ['f'], 1))} from f where {asked(rng, world)}", actions=("split",))
    rows = joined(rng, world, steady=True)
    return Query(rows.select(named(columns(rng, world, rows.aliases, 1))), actions=("split",))
