"""Conditions as Spark's optimizer leaves them, brought back to what a user has asked for."""

from __future__ import annotations

from collections.abc import Collection

from rtfilter.advice.workload.predicates import And, Leaf, Operator, Predicate, all_of, leaves


def as_asked(predicate: Predicate | None, join_keys: Collection[str]) -> Predicate | None:
    """The predicate without what Spark adds: `a is not null` beside another condition on `a`, or on a key of a join.

    Both ends of a range on one column are one condition, as BETWEEN is.
    """
    if predicate is None:
        return None
    parts = list(predicate.children) if isinstance(predicate, And) else [predicate]
    asked = {name for part in parts if not _is_not_null(part) for leaf in leaves(part) for name in leaf.columns}
    implied = asked | set(join_keys)
    kept: list[Predicate] = []
    ranged: set[tuple[str, ...]] = set()
    for part in parts:
        if isinstance(part, Leaf) and _is_not_null(part) and part.column in implied:
            continue
        if isinstance(part, Leaf) and part.operator is Operator.RANGE:
            if part.columns in ranged:
                continue
            ranged.add(part.columns)
        kept.append(part)
    return all_of(kept)


def _is_not_null(part: Predicate) -> bool:
    return isinstance(part, Leaf) and part.operator is Operator.IS_NOT_NULL
