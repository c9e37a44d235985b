"""What takes rows in the order in which they come, with no exchange between it and the scan."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import asked, columns, equality, joined, named
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World


def by_order(rng: Random, world: World) -> Query:
    if rng.random() < 0.25:
        conditions = asked(rng, world, count=rng.randint(1, 2))
        inner = f"select {named(columns(rng, world, ['f'], 1))} from f where {conditions}"
    else:
        rows = joined(rng, world, steady=True)
        inner = rows.select(named(columns(rng, world, rows.aliases, 1)))
    count, skipped = rng.randint(1, 12), rng.randint(0, 4)
    how = rng.choice(["limit", "limit", "offset", "first", "list", "list by", "inside", "numbered", "in", "joined"])
    if how == "limit":
        return Query(f"{inner} limit {count}", ordered=True)
    if how == "offset":
        return Query(f"{inner} limit {count} offset {skipped}", ordered=True)
    if how == "first":
        return Query(f"select first(c0) as a, last(c1) as b, any_value(c0) as c from ({inner})", ordered=True)
    if how == "list":
        return Query(f"select collect_list(c0) as a, array_agg(c1) as b from ({inner})", ordered=True)
    if how == "list by":
        return Query(f"select collect_list(c0) as a from (select /*+ coalesce(1) */ * from ({inner})) group by c0 % 3")
    if how == "numbered":
        coalesced = f"select /*+ coalesce(1) */ * from ({inner})"
        return Query(f"select c0, row_number() over (order by c0 % 3) as n from ({coalesced})", ordered=True)
    if how == "in":
        v = world.column("f", "v")
        return Query(f"select {named([v])} from f where {v} in (select c0 from ({inner} limit {count}))")
    if how == "joined":
        e = world.column("e", "v")
        on = equality(rng, world, "e", "k")
        limited = f"(select {named([world.column('f', 'v'), e])} from (select * from f limit {count * 20}) f join e on {on})"
        return Query(f"select * from {limited}")
    return Query(f"select count(*) as n, sum(c0) as x from ({inner} limit {count})")
