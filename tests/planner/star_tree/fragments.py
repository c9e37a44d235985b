"""Aggregates over a table `fact` as the bridge tells of them, by hand."""

from __future__ import annotations

from typing import Any

from planner.star_tree.facts import TreeFacts
from planner.star_tree.fragment import Fragment, parse_fragment, relations
from planner.star_tree.question import Question, question_of

TYPES = {
    "store": "string",
    "day": "int",
    "x": "int",
    "big": "bigint",
    "price": "decimal(7,2)",
    "wide": "decimal(20,3)",
    "amount": "double",
    "name": "string",
}
IDS = {name: number for number, name in enumerate(TYPES, 1)}
# Of another table.
OTHER = 90
FACTS = TreeFacts(
    "cube",
    TYPES,
    ("store", "day"),
    frozenset(
        {"count"}
        | {f"{function}({column})" for function in ("sum", "count") for column in ("x", "big", "price", "wide", "amount")}
        | {"min(x)", "max(name)"}
    ),
    rows=1_000,
    largest={"x": 9, "big": 2**62, "price": 10**6, "wide": 10**19},
)


def column(name: str) -> dict[str, Any]:
    number = IDS.get(name, OTHER)
    return {"op": "column", "type": TYPES.get(name, "int"), "number": number, "id": number, "name": name, "refs": [number]}


def literal(value: Any, kind: str = "int") -> dict[str, Any]:
    return {"op": "literal", "type": kind, "number": 500, "value": None if value is None else str(value), "refs": []}


def call(op: str, *args: dict[str, Any], kind: str = "int", number: int = 600, **more: Any) -> dict[str, Any]:
    refs = sorted({ref for each in args for ref in each["refs"]})
    return {"op": op, "type": kind, "number": number, "args": list(args), "refs": refs, **more}


def alias(ident: int, of: dict[str, Any]) -> dict[str, Any]:
    return {"op": "alias", "type": of["type"], "number": 700, "id": ident, "name": f"a{ident}", "args": [of], "refs": of["refs"]}


def reference(ident: int, kind: str = "int") -> dict[str, Any]:
    return {"op": "column", "type": kind, "number": 800, "id": ident, "name": f"a{ident}", "refs": [ident]}


def function(
    name: str, *args: dict[str, Any], kind: str = "bigint", distinct: bool = False, condition: Any = None
) -> dict[str, Any]:
    return {
        "number": 1,
        "function": name,
        "type": kind,
        "args": list(args),
        "distinct": distinct,
        "filter": condition,
        "text": f"{name}()",
    }


def table() -> dict[str, Any]:
    columns = [{"id": IDS[name], "name": name, "type": kind} for name, kind in TYPES.items()]
    return {"kind": "relation", "number": 0, "label": "fact", "files": "f", "columns": columns}


def condition(test: dict[str, Any] | None, *names: str) -> dict[str, Any]:
    return {**call("EqualTo", *map(column, names), kind="boolean"), "test": test}


def filtered(below: dict[str, Any], *conjuncts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "filter", "conjuncts": list(conjuncts), "child": below}


def projected(below: dict[str, Any], *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "project", "outputs": list(outputs), "child": below}


def joined(left: dict[str, Any], right: dict[str, Any], how: str = "Inner", on: Any = None) -> dict[str, Any]:
    return {"kind": "join", "type": how, "condition": on, "left": left, "right": right}


OTHER_TABLE = {"kind": "other", "name": "LogicalRelation"}


def fragment(
    child: dict[str, Any], *aggregates: dict[str, Any], grouping: tuple[dict[str, Any], ...] = (), ansi: bool = False
) -> Fragment:
    return parse_fragment(
        {"ansi": ansi, "grouping": list(grouping), "read": list(grouping), "aggregates": list(aggregates), "child": child}
    )


def asked(child: dict[str, Any], *aggregates: dict[str, Any], **more: Any) -> Question:
    """The question to the only table. Raises TreeRefusedError."""
    found = fragment(child, *aggregates, **more)
    (only,) = relations(found.child)
    return question_of(found, only)
