"""An aggregate of a query with what lies between it and its tables, as the bridge tells of it (docs/protocol.md, "star")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from planner.plan.errors import SnapshotError
from planner.plan.json_fields import read_field, read_ids, read_list

# Nobody writes an expression that is deeper; the bridge cuts them before that.
_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Term:
    """An expression. `number` is the bridge's own for it, `id` and `name` are those of a column or an alias.

    `refs`: the columns in it; `unsure`: it may give another value at another time, or has a subquery in it. One that is cut off has
    refs and no arguments.
    """

    op: str
    type: str
    number: int
    args: tuple[Term, ...] = ()
    id: int | None = None
    name: str = ""
    value: str | None = None
    refs: frozenset[int] = frozenset()
    unsure: bool = False

    @property
    def is_column(self) -> bool:
        return self.op == "column"


@dataclass(frozen=True, slots=True)
class AskedAggregate:
    """An aggregate function of the query: `type` of its result, `condition` of its FILTER."""

    number: int
    function: str
    type: str
    args: tuple[Term, ...]
    distinct: bool
    condition: Term | None
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a table puts out; `type` is Spark's catalog text."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that has star-trees."""

    number: int
    label: str
    files: str
    columns: tuple[Column, ...]
    hints: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A part of a condition. `test` is a tree of docs/protocol.md ("Static predicates"), for those right above a table."""

    term: Term
    test: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Project:
    """Puts out columns and aliases of expressions."""

    outputs: tuple[Term, ...]
    child: Node


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps rows that pass all parts."""

    conjuncts: tuple[Conjunct, ...]
    child: Node


@dataclass(frozen=True, slots=True)
class Join:
    """`type` is Spark's word: Inner, LeftOuter, LeftSemi …"""

    type: str
    condition: Term | None
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Expand:
    """Puts out each row several times, as grouping sets ask for: of each column the different expressions."""

    columns: tuple[tuple[int, tuple[Term, ...]], ...]
    child: Node


@dataclass(frozen=True, slots=True)
class Opaque:
    """Whatever else gives rows: `name` is its kind, `tables` are those below it down to the next aggregate."""

    name: str
    tables: tuple[Relation, ...] = ()


Node: TypeAlias = Project | Filter | Expand | Join | Relation | Opaque


@dataclass(frozen=True, slots=True)
class Fragment:
    """An aggregate: what it groups by, what its results read beside aggregates, its aggregate functions, and its child."""

    grouping: tuple[Term, ...]
    read: tuple[Term, ...]
    aggregates: tuple[AskedAggregate, ...]
    child: Node
    ansi: bool


def parse_fragment(raw: Mapping[str, Any]) -> Fragment:
    """A fragment out of the bridge's JSON. Raises SnapshotError."""
    where = "an aggregate"
    return Fragment(
        tuple(_term(each, 0) for each in read_list(raw, "grouping", where)),
        tuple(_term(each, 0) for each in read_list(raw, "read", where)),
        tuple(_aggregate(each) for each in read_list(raw, "aggregates", where)),
        _node(raw.get("child"), 0),
        bool(read_field(raw, "ansi", bool, where)),
    )


def _aggregate(raw: Any) -> AskedAggregate:
    where = "an aggregate function"
    condition = raw.get("filter") if isinstance(raw, Mapping) else None
    return AskedAggregate(
        read_field(raw, "number", int, where),
        read_field(raw, "function", str, where),
        read_field(raw, "type", str, where),
        tuple(_term(each, 0) for each in read_list(raw, "args", where)),
        read_field(raw, "distinct", bool, where),
        None if condition is None else _term(condition, 0),
        str(raw.get("text", "")),
    )


def _term(raw: Any, depth: int) -> Term:
    where = "an expression"
    if not isinstance(raw, Mapping) or depth > _DEEPEST:
        raise SnapshotError(f"{where} is no object, or too deep")
    value = raw.get("value")
    return Term(
        read_field(raw, "op", str, where),
        read_field(raw, "type", str, where),
        read_field(raw, "number", int, where),
        tuple(_term(each, depth + 1) for each in raw.get("args") or ()),
        None if raw.get("id") is None else int(raw["id"]),
        str(raw.get("name") or ""),
        None if value is None else str(value),
        frozenset(read_ids(raw, "refs", where)),
        bool(raw.get("unsure", False)),
    )


def _node(raw: Any, depth: int) -> Node:
    where = "a part of a query"
    if not isinstance(raw, Mapping) or depth > 10 * _DEEPEST:
        raise SnapshotError(f"{where} is no object, or too deep")
    kind = raw.get("kind")
    if kind == "project":
        return Project(tuple(_term(each, 0) for each in read_list(raw, "outputs", where)), _node(raw.get("child"), depth + 1))
    if kind == "expand":
        columns = tuple(
            (read_field(each, "id", int, where), tuple(_term(term, 0) for term in read_list(each, "terms", where)))
            for each in read_list(raw, "columns", where)
        )
        return Expand(columns, _node(raw.get("child"), depth + 1))
    if kind == "filter":
        parts = read_list(raw, "conjuncts", where)
        return Filter(tuple(Conjunct(_term(each, 0), each.get("test")) for each in parts), _node(raw.get("child"), depth + 1))
    if kind == "join":
        sides = (_node(raw.get("left"), depth + 1), _node(raw.get("right"), depth + 1))
        condition = raw.get("condition")
        return Join(read_field(raw, "type", str, where), None if condition is None else _term(condition, 0), *sides)
    if kind == "relation":
        return _relation(raw)
    return Opaque(str(raw.get("name") or kind), tuple(map(_relation, raw.get("tables") or ())))


def _relation(raw: Any) -> Relation:
    where = "a table"
    columns = tuple(Column(int(each["id"]), str(each["name"]), str(each["type"])) for each in read_list(raw, "columns", where))
    hints = tuple(raw.get("hints") or ())
    return Relation(read_field(raw, "number", int, where), str(raw.get("label", "")), str(raw.get("files", "")), columns, hints)


def relations(node: Node) -> Iterator[Relation]:
    """The tables with star-trees below a node, from left to right."""
    if isinstance(node, Relation):
        yield node
    elif isinstance(node, Join):
        yield from relations(node.left)
        yield from relations(node.right)
    elif isinstance(node, Opaque):
        yield from node.tables
    else:
        yield from relations(node.child)
