"""Conditions of a scan as the query log tells them: trees of words, with or without literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]

# The bridge's words for comparisons of a column with literals, and those of the log.
_WORDS = {
    **{"eq": "=", "same": "<=>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in"},
    **{"prefix": "starts with", "suffix": "ends with", "contains": "contains", "like": "like"},
    **{"is_null": "is null", "is_not_null": "is not null"},
}
OTHER = "other"
LONGEST_LITERAL = 1_000


def told(test: Json, literals: bool) -> dict[str, Any] | None:
    """A condition for the log; None where no column of the table is in it. Literals stay in it only with `literals`."""
    op = str(test.get("op"))
    if op in ("and", "or", "not"):
        parts = [told(part, literals) for part in test["args"]]
        known = [part for part in parts if part is not None]
        if op == "or" and len(known) < len(parts):
            # An arm that is not of the table may let every row through.
            return _other(dict.fromkeys(column for part in known for column in columns_in(part)))
        if not known:
            return None
        return {"not": known[0]} if op == "not" else _joined("all" if op == "and" else "any", known)
    if op not in _WORDS:
        return _other(test.get("columns") or ())
    values = _literals(test)
    if op == "same" and values == [None]:
        return {"column": test["column"], "op": "is null", "values": 0}
    count = test.get("count", 0 if values is None else len(values))
    shown = {"literals": values} if literals and values and _are_short(values) else {}
    return {"column": test["column"], "op": _WORDS[op], "values": count, **shown}


def _literals(test: Json) -> list[Any] | None:
    if "values" in test:
        return list(test["values"])
    return next(([test[key]] for key in ("value", "pattern") if key in test), None)


def _are_short(values: Iterable[Any]) -> bool:
    return all(not isinstance(value, str) or len(value) <= LONGEST_LITERAL for value in values)


def _other(columns: Iterable[str]) -> dict[str, Any] | None:
    found = list(columns)
    return {"op": OTHER, "columns": found} if found else None


def _joined(word: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    flat = [inner for part in parts for inner in part.get(word, [part])]
    return flat[0] if len(flat) == 1 else {word: flat}


def all_told(conditions: Iterable[dict[str, Any]], never_null: frozenset[str]) -> dict[str, Any] | None:
    """One condition of several that must all hold, without what Spark itself adds: that a column is not null about which another
    one asks already, or which is in `never_null` (keys of joins)."""
    parts = [part for each in conditions for part in each.get("all", [each])]
    asked = {column for part in parts if not _is_not_null(part) for column in columns_in(part)} | never_null
    left = [part for part in parts if not (_is_not_null(part) and part["column"] in asked)]
    return _joined("all", left) if left else None


def _is_not_null(part: Json) -> bool:
    return part.get("op") == "is not null"


def columns_in(condition: Json) -> Iterator[str]:
    """The columns of a condition of the log, in the order written."""
    for word in ("all", "any"):
        for part in condition.get(word, ()):
            yield from columns_in(part)
    if "not" in condition:
        yield from columns_in(condition["not"])
    if "column" in condition:
        yield condition["column"]
    yield from condition.get("columns", ())


def without_literals(condition: Any) -> Any:
    """What is told of conditions without literals, for digests."""
    if isinstance(condition, list):
        return [without_literals(part) for part in condition]
    if isinstance(condition, Mapping):
        return {key: without_literals(value) for key, value in condition.items() if key != "literals"}
    return condition
