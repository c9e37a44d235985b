"""Conditions as Spark's optimizer leaves them, brought back to what a user has asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rtfilter.advice.workload.literals import both_ends
from rtfilter.advice.workload.predicates import And, Leaf, Not, Operator, Or, Predicate, all_of, any_of, leaves


def as_asked(predicate: Predicate | None, join_keys: Collection[str]) -> Predicate | None:
    """The predicate without what Spark adds: `a is not null` beside another condition on `a`, or on a key of a join.

    Both ends of a range on one column are one condition, as BETWEEN is.
    """
    if predicate is None:
        return None
    parts = list(predicate.children) if isinstance(predicate, And) else [predicate]
    asked = {name for part in parts if not _is_not_null(part) for leaf in leaves(part) for name in leaf.columns}
    implied = asked | set(join_keys)
    kept = [part for part in parts if not (isinstance(part, Leaf) and _is_not_null(part) and part.column in implied)]
    return all_of(_with_whole_ranges(kept))


def _is_not_null(part: Predicate) -> bool:
    return isinstance(part, Leaf) and part.operator is Operator.IS_NOT_NULL


def _with_whole_ranges(parts: Collection[Predicate]) -> list[Predicate]:
    """Conditions that must all hold, with one for each range, wherever it stands."""
    kept: dict[object, Predicate] = {}
    ranges: dict[str, list[Leaf]] = {}
    for place, part in enumerate(parts):
        if isinstance(part, Leaf) and part.operator is Operator.RANGE:
            kept.setdefault(part.column, part)
            ranges.setdefault(part.column, []).append(part)
        else:
            kept[place] = _inside(part)
    for column, ends in ranges.items():
        if len(ends) > 1:
            kept[column] = replace(ends[0], literals=both_ends([end.literals for end in ends]))
    return list(kept.values())


def _inside(part: Predicate) -> Predicate:
    match part:
        case And(children):
            return all_of(_with_whole_ranges(children)) or part
        case Or(children):
            return any_of([_inside(child) for child in children])
        case Not(child):
            return Not(_inside(child))
    return part
