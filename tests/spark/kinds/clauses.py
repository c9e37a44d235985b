"""What queries of all kinds are made of: joins of the fact table with small ones, conditions, outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

from tests.spark.kinds.world import World

# Keys of a join, more of those that most worlds reject packs by.
JOIN_KEYS = (*"kkkkkkllllsss", "c", "u", "m", "dt", "dt", "ts", "x", "kn", "kn", "r")
JOIN_KINDS = {"inner join": 70, "left semi join": 14, "right join": 8, "left join": 3, "left anti join": 2, "full join": 1}
STRATEGIES = {"broadcast": 50, "merge": 20, "shuffle_hash": 15, "": 15}
LEFT_ONLY = ("left semi join", "left anti join")
# Tables of a world: the first is large.
DIMENSIONS = ("d", "e")


@dataclass(frozen=True)
class Joined:
    """FROM clause and conditions; `aliases` are those whose columns can be named above."""

    source: str
    where: tuple[str, ...]
    hints: tuple[str, ...]
    aliases: tuple[str, ...]

    def select(self, outputs: str, more: str = "", *, hints: Sequence[str] = ()) -> str:
        hinted = ", ".join([*hints, *self.hints])
        where = f" where {' and '.join(self.where)}" if self.where else ""
        return f"select {f'/*+ {hinted} */ ' if hinted else ''}{outputs} from {self.source}{where}{f' {more}' if more else ''}"

    def asking(self, *conditions: str) -> Joined:
        return replace(self, where=(*self.where, *conditions))


def joined(
    rng: Random,
    world: World,
    first: str = "f",
    *,
    steady: bool = False,
    key: str | None = None,
    on: str | None = None,
    more: int | None = None,
    kind: str | None = None,
) -> Joined:
    """`f` with `d`, at times with `e` too. `first` is what stands for `f`; it has that alias.

    `steady`: no shuffle, so that rows stay in their order. `on`: the first join's condition; `key`: a letter for it.
    `kind`: the first join's. `more`: joins after the first.
    """
    count = 1 + (rng.random() < 0.25) if more is None else 1 + more
    source, hints, aliases, where = first if first == "f" else f"{first} f", [], ["f"], []
    for name in rng.sample(DIMENSIONS, count):
        allowed = ("inner join", "left semi join") if steady else tuple(JOIN_KINDS)
        how = kind or rng.choices(allowed, [JOIN_KINDS[each] for each in allowed])[0]
        condition = on.replace("{d}", name) if on else equality(rng, world, name, key)
        small = name
        if rng.random() < 0.75:
            small = f"(select * from {name} where {selective(rng, world, name)}) {name}"
        elif how not in LEFT_ONLY:
            where.append(selective(rng, world, name))
        source = f"{source} {how} {small} on {condition}"
        strategy = "broadcast" if steady else rng.choices(list(STRATEGIES), list(STRATEGIES.values()))[0]
        if strategy and not (strategy == "broadcast" and how in ("right join", "full join")):
            hints.append(f"{strategy}({name})")
        if how not in LEFT_ONLY:
            aliases.append(name)
        key = on = kind = None
    if rng.random() < 0.08:
        where.append(asked(rng, world))
    return Joined(source, tuple(where), tuple(hints), tuple(aliases))


def equality(rng: Random, world: World, name: str, key: str | None = None, left: str = "f") -> str:
    odd = [letter for letter in (*world.naming.names, *world.naming.fields) if letter in JOIN_KEYS]
    key = key or (odd[0] if odd and rng.random() < 0.5 else rng.choice(JOIN_KEYS))
    one, other = (world.column(alias, key) for alias in (left, name))
    operator = "<=>" if rng.random() < 0.08 else "="
    pair = f"{one} {operator} {other}" if rng.random() < 0.8 else f"{other} {operator} {one}"
    if rng.random() < 0.12:
        second = rng.choice(("g", "s", "dt"))
        pair = f"{pair} and {world.column(left, second)} = {world.column(name, second)}"
    return pair


def selective(rng: Random, world: World, alias: str) -> str:
    """A condition on a small table that says nothing of its keys."""
    g, v = world.column(alias, "g"), world.column(alias, "v")
    low = rng.randrange(8)
    return rng.choice(
        [
            f"{g} in ({low}, {low + 1})",
            f"{g} = {low}",
            f"{v} % 5 = {rng.randrange(5)}",
            f"{v} < {rng.randint(2, 15)}",
            f"{g} <= {low}",
        ]
    )


def asked(rng: Random, world: World, alias: str = "f", count: int = 1) -> str:
    """Conditions on columns of the fact table that an index may judge; mostly some row meets all of them."""
    letters = rng.sample(("k", "r", "s", "c", "dt", "m", "l", "u", "ts", "x", "kn", "z"), count)
    if world.indexed and rng.random() < 0.85:
        letters = list({rng.choice(world.indexed): None} | dict.fromkeys(letters[1:]))
    file = rng.choice(world.table("f").files)
    place = rng.randrange(file.count)
    return " and ".join(_asked_of(rng, world, alias, letter, file.rows[letter][place]) for letter in letters)


def _asked_of(rng: Random, world: World, alias: str, letter: str, value: Any) -> str:
    column, type_ = world.column(alias, letter), world.type_of("f", letter)
    if value is None or rng.random() < 0.04:
        return f"{column} is {rng.choice(['', 'not '])}null"
    if _odd(value):
        return f"{column} is not null"
    values = [value for value in world.values("f", letter) if value is not None and not _odd(value)]
    own, other, third = (literal(each, type_) for each in (value, rng.choice(values), rng.choice(values)))
    tests = [f"= {own}", f"= {own}", f"in ({own}, {other})", f"in ({other}, {own}, {third})", f"<=> {own}", f"= {other}"]
    tests += [f">= {max_of(values, rng, type_)}", f"between {own} and {own}"]
    if type_ == "string" and letter != "u":
        tests += [f"like '{value[:-2]}%'", f"like '%{value[-4:]}'", f"like '%{value[-4:-1]}%'"]
    if rng.random() < 0.1:
        return f"({column} {rng.choice(tests)} or {column} {rng.choice(tests)})"
    return f"{column} {rng.choice(tests)}"


def max_of(values: Sequence[Any], rng: Random, type_: str) -> str:
    """A value near the upper end."""
    return literal(sorted(values)[-rng.randint(1, min(20, len(values)))], type_)


def _odd(value: Any) -> bool:
    """Spark's own reader loses NaN and −0.0 that a literal asks for: with and without the layer."""
    return isinstance(value, float) and (math.isnan(value) or value == 0)


def literal(value: Any, type_: str) -> str:
    if isinstance(value, datetime):
        return f"{type_} '{value}'"
    if isinstance(value, date):
        return f"date '{value}'"
    if isinstance(value, Decimal):
        return f"cast('{value}' as {type_})"
    if isinstance(value, float):
        return f"cast('{value}' as {type_})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def columns(rng: Random, world: World, aliases: Sequence[str], count: int | None = None) -> list[str]:
    """The row's number and some columns of what is visible."""
    letters = ("k", "s", "c", "u", "m", "dt", "x", "kn", "g", "l", "r", "ts", "z")
    some = [world.column(rng.choice(aliases), rng.choice(letters)) for _ in range(rng.randint(0, 3) if count is None else count)]
    return [world.column("f", "v"), *some]


def named(expressions: Sequence[str]) -> str:
    """Outputs, each with a name that any file may hold."""
    return ", ".join(f"{each} as c{number}" for number, each in enumerate(expressions))
