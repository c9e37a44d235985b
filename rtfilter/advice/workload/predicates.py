"""What a query asks of the rows of one table, as a tree. Two trees that differ in literals only are equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from rtfilter.advice.workload.literals import Literals


class Operator(StrEnum):
    """What a leaf does with its column. A range is <, <=, >, >= or BETWEEN; a function is anything computed from columns."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    IN = "in"
    NOT_IN = "not in"
    RANGE = "range"
    LIKE = "like"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"
    TEXT_MATCH = "text match"
    FUNCTION = "function"
    OTHER = "other"


EQUALITIES = frozenset((Operator.EQUAL, Operator.IN))
# What an index of values can answer.
BY_VALUE = frozenset((Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN, Operator.NOT_IN))
OPPOSITE = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.IN: Operator.NOT_IN,
    Operator.NOT_IN: Operator.IN,
    Operator.IS_NULL: Operator.IS_NOT_NULL,
    Operator.IS_NOT_NULL: Operator.IS_NULL,
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A condition that is not cut further. `columns`: its columns, one but for functions. `values`: how many values it names.

    `literals`: those of one call, where they are known. They are no part of what a leaf is.
    """

    columns: tuple[str, ...]
    operator: Operator
    values: int = 1
    literals: Literals | None = field(default=None, compare=False, repr=False)

    @property
    def column(self) -> str:
        return self.columns[0]

    def __str__(self) -> str:
        named = ", ".join(self.columns)
        match self.operator:
            case Operator.IN | Operator.NOT_IN:
                return f"{named} {self.operator} ({self.values})"
            case Operator.EQUAL | Operator.NOT_EQUAL:
                return f"{named} {self.operator} ?"
            case Operator.FUNCTION | Operator.OTHER | Operator.TEXT_MATCH:
                return f"{self.operator}({named})"
        return f"{named} {self.operator}"


@dataclass(frozen=True, slots=True)
class And:
    """All of them, in the order written."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " and ".join(_inside(child) for child in self.children)


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them, in the order written."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " or ".join(_inside(child) for child in self.children)


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite, of what has no operator of its own for that."""

    child: Predicate

    def __str__(self) -> str:
        return f"not {_inside(self.child)}"


Predicate = Leaf | And | Or | Not


def _inside(predicate: Predicate) -> str:
    return f"({predicate})" if isinstance(predicate, And | Or) else str(predicate)


def all_of(parts: list[Predicate]) -> Predicate | None:
    """One predicate of several that must all hold, nested ANDs flattened; None of none."""
    flat: list[Predicate] = []
    for part in parts:
        flat += part.children if isinstance(part, And) else [part]
    return None if not flat else flat[0] if len(flat) == 1 else And(tuple(flat))


def any_of(parts: list[Predicate]) -> Predicate:
    """One predicate of several of which one must hold, nested ORs flattened; at least one."""
    flat: list[Predicate] = []
    for part in parts:
        flat += part.children if isinstance(part, Or) else [part]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def opposite(predicate: Predicate) -> Predicate:
    """Its negation: with the opposite operator where there is one, else a Not."""
    if isinstance(predicate, Not):
        return predicate.child
    if isinstance(predicate, Leaf) and predicate.operator in OPPOSITE:
        return replace(predicate, operator=OPPOSITE[predicate.operator])
    return Not(predicate)


def without_not(predicate: Predicate, negated: bool = False) -> Predicate:
    """The same with every Not pushed down to a leaf (De Morgan)."""
    match predicate:
        case Not(child):
            return without_not(child, not negated)
        case And(children) | Or(children):
            parts = tuple(without_not(child, negated) for child in children)
            return And(parts) if isinstance(predicate, And) != negated else Or(parts)
        case Leaf():
            return opposite(predicate) if negated else predicate


def leaves(predicate: Predicate | None) -> Iterator[Leaf]:
    """Its leaves in the order written."""
    match predicate:
        case Leaf():
            yield predicate
        case Not(child):
            yield from leaves(child)
        case And(children) | Or(children):
            for each in children:
                yield from leaves(each)
