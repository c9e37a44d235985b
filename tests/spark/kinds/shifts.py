"""Keys that are computed in a subselect: moved by a constant, cast, cut, put together."""

from __future__ import annotations

from random import Random

from tests.spark.kinds.clauses import columns, joined, named
from tests.spark.kinds.query import Query
from tests.spark.kinds.world import World

# What may be made of a column, by letter; each is asked of the small table's column too.
FORMS = {
    "k": (
        "{} + 1",
        "{} - 1",
        "1 + {}",
        "100 - {}",
        "-{}",
        "cast({} as bigint)",
        "cast({} as bigint) + 1",
        "cast({} as double)",
        "{} * 2",
    ),
    "kn": ("{} + 1", "{} - 1", "cast({} as bigint)", "coalesce({}, 0)", "cast({} as double)", "abs({})", "try_add({}, 1)"),
    "r": ("{} + 1", "{} - 3", "cast({} as decimal(12,2))", "cast({} as double)", "cast({} as string)"),
    "l": ("{} + 1", "{} - 1", "cast({} as double)", "cast({} as decimal(20,0))", "{} div 10", "try_subtract({}, 5)"),
    "dt": (
        "date_add({}, 3)",
        "{} + 1",
        "{} - 2",
        "date_sub({}, 1)",
        "cast({} as timestamp)",
        "cast({} as string)",
        "trunc({}, 'month')",
    ),
    "ts": ("cast({} as date)", "{} + interval 1 hour", "date_trunc('hour', {})"),
    "m": ("{} + 1", "cast({} as double)", "-{}", "cast({} as decimal(38,6))", "round({}, 1)"),
    "x": ("{} + 0", "cast({} as double)", "-{}", "{} * 2"),
    "s": ("concat({}, '')", "upper({})", "substring({}, 1, 100)", "{} || 'x'", "trim({})", "cast({} as binary)"),
    "c": ("trim({})", "{} || ''", "rtrim({})", "lower({})", "rpad({}, 9, ' ')"),
}


def shifted(rng: Random, world: World) -> Query:
    letter = rng.choice([*FORMS, "k", "k", "dt", "l", "kn"])
    form = rng.choice(FORMS[letter])
    column = world.naming.sql(letter)
    first = f"(select *, {form.format(column)} as n from f)"
    other = f"{{d}}.{column}"
    right = rng.choice([other, other, form.format(other), rng.choice(FORMS[letter]).format(other)])
    if form == "cast({} as string)" or "string" in right or "binary" in form or "binary" in right:
        right = form.format(other)
    rows = joined(rng, world, first, on=f"f.n = {right}", more=rng.randrange(2))
    outputs = columns(rng, world, rows.aliases)
    if rng.random() < 0.5:
        outputs.append("f.n")
    if rng.random() < 0.2:
        return Query(rows.select("count(*) as a, sum(f.v) as b, min(f.n) as c"))
    return Query(rows.select(named(outputs)))
