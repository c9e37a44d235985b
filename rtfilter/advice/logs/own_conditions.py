"""Conditions of our own query log made into predicates of one table, with literals where the log has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rtfilter.advice.workload.literals import LIKE, Literal, Literals, both_ends, number
from rtfilter.advice.workload.predicates import Leaf, Operator, Predicate, all_of, any_of, opposite

Json = Mapping[str, Any]
# The table's own name of a column.
Naming = Callable[[str], str]

_RANGES = frozenset(("<", "<=", ">", ">="))
# How what is looked for stands in a pattern.
_PATTERNS = {"like": "{}", "starts with": "{}%", "ends with": "%{}", "contains": "%{}%"}
_OPERATORS = {
    **{"=": Operator.EQUAL, "<=>": Operator.EQUAL, "in": Operator.IN},
    **{"is null": Operator.IS_NULL, "is not null": Operator.IS_NOT_NULL},
    **dict.fromkeys(_RANGES, Operator.RANGE),
    **dict.fromkeys(_PATTERNS, Operator.LIKE),
}


def read_condition(condition: Json, name: Naming) -> Predicate:
    """A condition of a line as docs/query-log.md has it.

    Raises:
        KeyError, TypeError, ValueError: it is not such a condition.
    """
    if "all" in condition:
        return _all(condition["all"], name)
    if "any" in condition:
        return any_of([read_condition(part, name) for part in condition["any"]])
    if "not" in condition:
        return opposite(read_condition(condition["not"], name))
    if condition["op"] == "other":
        return Leaf(tuple(map(name, condition["columns"])), Operator.FUNCTION)
    operator = _OPERATORS.get(condition["op"], Operator.OTHER)
    values = int(condition["values"]) if operator is Operator.IN else 1
    return Leaf((name(condition["column"]),), operator, values, _literals(condition, operator))


def _literals(condition: Json, operator: Operator) -> Literals | None:
    values = condition.get("literals")
    if not values:
        return None
    op = condition["op"]
    if operator is Operator.LIKE:
        looked_for = str(values[0])
        return Literals((_PATTERNS[op].format(looked_for if op == "like" else _escaped(looked_for)),), LIKE)
    form = op if op in _RANGES else ""
    if len(values) == 1:
        return Literals((_literal(values[0]),), form)
    return Literals(tuple(sorted({_literal(value) for value in values}, key=repr)), form)


def _escaped(text: str) -> str:
    return "".join("\\" + each if each in "\\%_" else each for each in text)


def _literal(value: Any) -> Literal:
    if isinstance(value, bool):
        return "true" if value else "false"
    return number(repr(value)) if isinstance(value, float) else value


def _all(conditions: Sequence[Json], name: Naming) -> Predicate:
    """Of conditions that must all hold; ranges of one column are one leaf, as BETWEEN is."""
    parts: dict[object, Predicate] = {}
    ranges: dict[str, list[Leaf]] = {}
    for place, condition in enumerate(conditions):
        read = read_condition(condition, name)
        if isinstance(read, Leaf) and read.operator is Operator.RANGE:
            parts.setdefault(read.column, read)
            ranges.setdefault(read.column, []).append(read)
        else:
            parts[place] = read
    for column, ends in ranges.items():
        if len(ends) > 1:
            parts[column] = replace(ends[0], literals=both_ends([end.literals for end in ends]))
    predicate = all_of(list(parts.values()))
    if predicate is None:
        raise ValueError("no condition where there must be several")
    return predicate


# Where the literals of a leaf stand: the conditions that it was made of, each by the keys that lead to it.
Path = tuple[str | int, ...]
Places = tuple[Path, ...]


def places_of_literals(condition: Json, at: Path = ()) -> list[Places]:
    """For each leaf of `read_condition`, in the order of `leaves`, where its literals stand in a line of the same shape."""
    if "all" in condition:
        return _places_in_all(condition["all"], at)
    if "any" in condition:
        return [places for number, part in enumerate(condition["any"]) for places in places_of_literals(part, (*at, "any", number))]
    if "not" in condition:
        return places_of_literals(condition["not"], (*at, "not"))
    return [(at,)]


def _places_in_all(conditions: Sequence[Json], at: Path) -> list[Places]:
    found: list[list[Places]] = []
    ranges: dict[str, list[Places]] = {}
    for place, condition in enumerate(conditions):
        here = (*at, "all", place)
        if condition.get("op") not in _RANGES:
            found.append(places_of_literals(condition, here))
        elif (first := ranges.get(condition["column"])) is not None:
            first[0] = (*first[0], here)
        else:
            ranges[condition["column"]] = [(here,)]
            found.append(ranges[condition["column"]])
    return [places for part in found for places in part]


def literals_at(condition: Any, places: Places) -> Literals | None:
    """The literals of one leaf."""
    found = []
    for path in places:
        at = condition
        for key in path:
            at = at[key]
        found.append(_literals(at, _OPERATORS.get(at["op"], Operator.OTHER)))
    return found[0] if len(found) == 1 else both_ends(found)
