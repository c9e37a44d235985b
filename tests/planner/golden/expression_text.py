"""Expressions of a fixture as the JSON of docs/protocol.md: `fact.k`, `cast(fact.k as bigint)`, `fact.k + 1 as k1`, `rand(7)`.

A column has the type that its scan gives it. What is no column, cast or shift is an expression of kind `other`; `:: bigint` behind
it says its type. A session of Spark 4 is meant: arithmetic and casts that don't fit raise an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.planner import plans
from tests.planner.golden.words import split_outside

Raw = plans.Raw
WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint", "date")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")
_SHIFTED = re.compile(r"(.+) ([+-]) (\d+)")
_MIRRORED = re.compile(r"(?:(\d+) - |-)(.+)")
_DIVIDES = ["Divide", "ANSI", "double", ["double", "double"]]


@dataclass(slots=True)
class Columns:
    """The columns of a plan by name. Two scans of one name have equal ids, as copies in a union have in Spark."""

    known: dict[str, tuple[int, str]] = field(default_factory=dict)

    def define(self, name: str, type: str) -> int:
        id, _ = self.known.setdefault(name, (len(self.known) + 1, type))
        return id

    def find(self, name: str) -> Raw:
        """The attribute of a name that is known."""
        id, type = self.known[name]
        return plans.attr(id, name.rpartition(".")[2], type)

    def type_of(self, id: int) -> str:
        return next((type for number, type in self.known.values() if number == id), "int")


def expression(text: str, columns: Columns) -> Raw:
    """One expression, with `as name` behind it an alias."""
    child, renamed, name = text.rpartition(" as ")
    if renamed and re.fullmatch(r"[\w.]+", name):
        made = expression(child, columns)
        return plans.alias(columns.define(name, made["type"]), made, name.rpartition(".")[2])
    return _plain(text, columns)


def _plain(text: str, columns: Columns) -> Raw:
    cast = re.fullmatch(r"(try_)?cast\((.+) as ([^()]+(?:\(.*\))?)\)", text)
    if cast is not None:
        child, mode = _plain(cast[2], columns), "TRY" if cast[1] else "ANSI"
        return plans.cast(cast[3], child, steps=[["Cast", mode, cast[3], [child["type"]]]])
    if text.startswith("normalize(") and text.endswith(")"):
        return plans.normalize(_plain(text[10:-1], columns))
    if text in columns.known:
        return columns.find(text)
    return _shift(text, columns) or _other(text, columns)


def _shift(text: str, columns: Columns) -> Raw | None:
    """A column moved by a number, or mirrored."""
    plus, minus = _SHIFTED.fullmatch(text), _MIRRORED.fullmatch(text)
    if plus is not None:
        inner, sign, by = plus[1], 1, int(plus[2] + plus[3])
    elif minus is not None:
        inner, sign, by = minus[2], -1, int(minus[1] or 0)
    else:
        return None
    child = _plain(inner.removeprefix("(").removesuffix(")") if inner.startswith("(") else inner, columns)
    if child["type"] not in WHOLE_NUMBERS:
        return None
    step = ["Add" if sign > 0 else "Subtract", "ANSI", child["type"], [child["type"], f"{child['type']}={by}"]]
    return plans.shift(child, sign, by, steps=[step])


def _other(text: str, columns: Columns) -> Raw:
    text, _, type = text.partition(" :: ")
    names = [name for name in _NAME.findall(text) if name in columns.known]
    misspelt = [name for name in _NAME.findall(text) if "." in name and name not in columns.known]
    if misspelt:
        raise ValueError(f"{misspelt[0]} is no column below; {', '.join(columns.known)} are")
    shown = _NAME.sub(lambda found: _with_id(found[0], columns), text)
    more: Raw = {"deterministic": False} if "rand(" in text else {}
    moved = [shift for part in re.findall(r"[\w.]+ [+-] \d+", text) if (shift := _shift(part, columns)) is not None]
    return plans.computed(
        shown,
        type or "int",
        [columns.known[name][0] for name in names],
        steps=[_DIVIDES] if " / " in text else [],
        **more,
        **({"moved": moved} if moved else {}),
    )


def _with_id(name: str, columns: Columns) -> str:
    return f"{name.rpartition('.')[2]}#{columns.known[name][0]}" if name in columns.known else name


def expressions(text: str, columns: Columns) -> list[Raw]:
    return [expression(part, columns) for part in split_outside(text, ",")]


def condition(text: str, columns: Columns) -> Raw:
    """What a filter or a join asks of its rows."""
    return _other(f"({text}) :: boolean", columns)


_WORDS = (
    (r" is not null$", "not_null"),
    (r" is null$", "null"),
    (r" in \(", "in"),
    (r" like '[^%_]+%'$", "prefix"),
    (r" (between|<|>|<=|>=) ", "range"),
    (r" = ", "eq"),
)


def conjunct_words(text: str) -> list[str]:
    """The protocol's words for the conjuncts of a condition, which stand between ANDs in capitals."""
    parts = split_outside(text, " AND ")
    return [next((word for pattern, word in _WORDS if re.search(pattern, part)), "other") for part in parts]


def key_pairs(text: str, columns: Columns) -> tuple[list[Raw], list[Raw]]:
    """The keys of a join: `a.k = b.k, a.v <=> b.v`. Of <=> Spark makes two keys, and so does this."""
    left: list[Raw] = []
    right: list[Raw] = []
    for pair in split_outside(text, ","):
        mine, safe, theirs = pair.partition(" <=> ")
        if not safe:
            mine, _, theirs = pair.partition(" = ")
        for keys, side in ((left, mine), (right, theirs)):
            key = expression(side, columns)
            keys.extend([plans.coalesce_default(key), _other(f"isnull({side}) :: boolean", columns)] if safe else [key])
    return left, right
