"""Expressions that fail for some rows: in conditions beside others, in outputs, in conditions of joins, on either side."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import Joined, asked, columns, equality, joined, named, selective
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World


def raising(rng: Random, world: World) -> Query:
    failing = _failing(rng, world)
    where = rng.choice(["static", "static", "static", "beside", "output below", "filter below", "on", "build", "both", "grouped"])
    if where == "static":
        conditions = [f"{failing('f')} > -5", asked(rng, world)]
        rng.shuffle(conditions)
        rows = Joined("f", tuple(conditions), (), ("f",))
        return Query(rows.select(named(columns(rng, world, ["f"]))))
    if where == "beside":
        rows = joined(rng, world).asking(f"{failing('f')} > -5")
        return Query(rows.select(named(columns(rng, world, rows.aliases))))
    if where in ("output below", "filter below"):
        condition = f" where {failing('f')} > -5" if where == "filter below" else ""
        rows = joined(rng, world, f"(select *, {failing('f')} as q from f{condition})")
        return Query(rows.select(named([*columns(rng, world, rows.aliases), "f.q"])))
    if where == "build":
        small = f"(select * from d where {failing('d')} > -5 and {selective(rng, world, 'd')})"
        hint = rng.choice(["broadcast", "merge", "shuffle_hash"])
        on = equality(rng, world, "d")
        return Query(f"select /*+ {hint}(d) */ {named(columns(rng, world, ['f', 'd']))} from f join {small} d on {on}")
    if where == "grouped":
        rows = joined(rng, world)
        return Query(rows.select(f"{failing('f')} as q, count(*) as n", "group by 1"))
    on = equality(rng, world, "d", rng.choice("kls"))
    more = f"{failing('f')} > -5" if where == "on" else f"100 / ({world.column('f', 'g')} - {world.column('d', 'g')} + 20) > 0"
    hint = rng.choice(["broadcast", "merge", "shuffle_hash"])
    kind = rng.choice(["join", "left semi join", "right join", "left join"])
    aliases = ["f"] if kind == "left semi join" else ["f", "d"]
    return Query(f"select /*+ {hint}(d) */ {named(columns(rng, world, aliases))} from f {kind} d on {on} and {more}")


class _failing:
    """A number made of an alias's columns, that some rows may have no answer for."""

    def __init__(self, rng: Random, world: World) -> None:
        self._world = world
        vs = world.values("f", "v")
        v, k = rng.choice(vs), sorted(world.values("f", "k"))
        limit = 2**31 - 1 - k[rng.randrange(len(k))]
        self._text = rng.choice(
            [
                "100 / {z}",
                "{v} div {z}",
                "100 % {z}",
                f"100 / ({{v}} - {v})",
                f"100 / ({{v}} - {v})",
                "cast({t} as int)",
                "cast({t} as int)",
                f"(cast({{k}} as int) + {limit})",
                f"(case when {{v}} = {v} then raise_error('too bad') else 1 end)",
                f"(case when assert_true({{v}} <> {v}) is null then 1 else 0 end)",
                f"element_at(array(1, 2), case when {{v}} = {v} then 3 else 1 end)",
                "cast({m} as decimal(4,2))",
                f"(case when {{v}} = {v} then cast({{s}} as int) else 1 end)",
            ]
        )

    def __call__(self, alias: str) -> str:
        letters = {letter: self._world.column(alias, letter) for letter in "zvtkms"}
        return self._text.format(**letters)
