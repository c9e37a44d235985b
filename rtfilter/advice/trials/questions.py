"""What a kind of query asks, with the literals of one call, as a predicate that sketches can be held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rtfilter.advice.trials.keys import NoKeyError, key_of
from rtfilter.advice.workload.literals import BETWEEN, LIKE, Literals
from rtfilter.advice.workload.predicates import And, Leaf, Not, Operator, Or, Predicate
from rtfilter.store.sketches.predicates import Predicate as SketchPredicate
from rtfilter.store.sketches.predicates import parse_predicate

_ESCAPE = "\\"
_OPEN: dict[str, Any] = {"op": "open"}
# A number between two keys: above it is above the lower one, below it is up to that.
_COMPARISONS = {"<": ("lt", "le"), "<=": ("le", "le"), ">": ("gt", "gt"), ">=": ("ge", "gt")}


def question(predicate: Predicate, literals: tuple[Literals | None, ...], types: Mapping[str, str]) -> SketchPredicate:
    """The predicate of one call. `literals`: leaf by leaf; `types`: Spark's, by column. Unknown is open: it rejects nothing.

    Conditions of an AND on one column are made one, as the layer does it before it asks an index.
    """
    return parse_predicate(_tree(predicate, iter(literals), types))


def _tree(predicate: Predicate, literals: Iterator[Literals | None], types: Mapping[str, str]) -> dict[str, Any]:
    match predicate:
        case And(children):
            return {"op": "and", "args": [_tree(child, literals, types) for child in children]}
        case Or(children):
            return {"op": "or", "args": [_tree(child, literals, types) for child in children]}
        case Not(child):
            return {"op": "not", "args": [_tree(child, literals, types)]}
        case Leaf():
            asked = next(literals, None)
            type_ = types.get(predicate.column) if len(predicate.columns) == 1 else None
            return _OPEN if type_ is None else _leaf(predicate, asked, type_)


def _leaf(leaf: Leaf, asked: Literals | None, type_: str) -> dict[str, Any]:
    named = {"column": leaf.column, "type": type_}
    if leaf.operator in (Operator.IS_NULL, Operator.IS_NOT_NULL):
        return {"op": "is_null" if leaf.operator is Operator.IS_NULL else "is_not_null", **named}
    if asked is None:
        return _OPEN
    try:
        match leaf.operator:
            case Operator.EQUAL | Operator.IN:
                return _membership(asked, named)
            case Operator.NOT_EQUAL | Operator.NOT_IN:
                return {"op": "not", "args": [_membership(asked, named)]}
            case Operator.RANGE if asked.form == BETWEEN:
                low, high = (Literals((value,)) for value in asked.values)
                return {"op": "and", "args": [_comparison(">=", low, named), _comparison("<=", high, named)]}
            case Operator.RANGE:
                return _comparison(asked.form, asked, named)
            case Operator.LIKE if asked.form == LIKE and type_ == "string":
                return _pattern(str(asked.values[0]), named)
    except NoKeyError:
        pass
    return _OPEN


def _membership(asked: Literals, named: dict[str, str]) -> dict[str, Any]:
    keys = [key_of(value, named["type"]) for value in asked.values]
    # What lies between two keys equals none.
    return {"op": "in", **named, "values": [key for key, is_exact in keys if is_exact] or [None]}


def _comparison(form: str, asked: Literals, named: dict[str, str]) -> dict[str, Any]:
    key, is_exact = key_of(asked.values[0], named["type"])
    exactly, between = _COMPARISONS[form]
    return {"op": exactly if is_exact else between, **named, "value": key}


def _pattern(pattern: str, named: dict[str, str]) -> dict[str, Any]:
    """A pattern as Spark's optimizer rewrites it: what it begins with, ends with, or contains."""
    parts = pattern.split("%")
    if "_" in pattern or _ESCAPE in pattern or len(parts) > 3 or (len(parts) == 3 and (parts[0] or parts[2])):
        return {"op": "like", **named, "pattern": pattern, "escape": _ESCAPE}
    if len(parts) == 1:
        return {"op": "eq", **named, "value": _hex(pattern)}
    if len(parts) == 3:
        return {"op": "contains", **named, "value": _hex(parts[1])}
    begin, end = ({"op": op, **named, "value": _hex(part)} for op, part in zip(("prefix", "suffix"), parts, strict=True))
    return {"op": "and", "args": [begin, end]} if all(parts) else begin if parts[0] else end


def _hex(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex()
