"""Static predicates of a scan as tests of its columns, and the verdict on them.

A predicate is a tree of docs/protocol.md ("Static predicates"): `and`, `or`, `not` with `args`, and leaves with `column` and `type`
(Spark's catalog text): `eq`, `ne`, `lt`, `le`, `gt`, `ge`, `same` (`<=>`), `prefix`, `suffix`, `contains` with `value`, `in` with
`values`, `is_null`, `is_not_null`, `like` with `pattern` and `escape`. Values are keys of the column's domain: whole numbers, or
hexadecimal text for byte strings; null is NULL. What is not understood is open: it rejects nothing and accepts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from rtfilter.store.sketches.arrays import HIGHEST, LOWEST
from rtfilter.store.sketches.column_tests import (
    AnyValue,
    BytePart,
    BytePrefix,
    ByteRange,
    ByteSuffix,
    NoValue,
    Values,
    ValueTest,
    byte_keys,
    intersection,
    long_keys,
    long_ranges,
)
from rtfilter.store.sketches.domain import LONG, domain_of
from rtfilter.store.sketches.outcomes import Outcome, all_of, any_of, partial

_DEEPEST = 100
# NOT turns a comparison into its opposite; a verdict is never turned.
_OPPOSITES = {"eq": "ne", "lt": "ge", "le": "gt", "in": "not_in", "is_null": "is_not_null", "and": "or", "same": "not_same"}
_PARTS: Mapping[str, Callable[[bytes], Values]] = {"prefix": BytePrefix, "suffix": ByteSuffix, "contains": BytePart}
_OPPOSITE_OF = {**_OPPOSITES, **{other: one for one, other in _OPPOSITES.items()}}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A test of one column, by Spark's name and type for it."""

    column: str
    type: str
    test: ValueTest


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A part that is not understood."""


Predicate: TypeAlias = "Leaf | AllOf | AnyOf | Open"
Judge: TypeAlias = Callable[[Leaf], Outcome]


def parse_predicate(tree: Mapping[str, Any]) -> Predicate:
    """The predicate of a JSON tree; whatever part of it does not fit is open."""
    return _parse(tree, negated=False, depth=0)


def judge_predicate(predicate: Predicate, judge: Judge, packs: int) -> Outcome:
    """The verdict on a predicate, by the verdicts on its leaves."""
    if isinstance(predicate, Leaf):
        return judge(predicate)
    if isinstance(predicate, AllOf):
        return all_of((judge_predicate(part, judge, packs) for part in predicate.parts), packs)
    if isinstance(predicate, AnyOf):
        return any_of((judge_predicate(part, judge, packs) for part in predicate.parts), packs)
    return partial(packs)


def leaves_of(predicate: Predicate) -> tuple[Leaf, ...]:
    """All tests of single columns in a predicate."""
    if isinstance(predicate, Leaf):
        return (predicate,)
    if isinstance(predicate, AllOf | AnyOf):
        return tuple(leaf for part in predicate.parts for leaf in leaves_of(part))
    return ()


def _parse(tree: Any, negated: bool, depth: int) -> Predicate:
    if not isinstance(tree, Mapping) or depth > _DEEPEST:
        return Open()
    op, arguments = str(tree.get("op")), tree.get("args")
    if op == "not":
        one = isinstance(arguments, list) and len(arguments) == 1
        return _parse(arguments[0], not negated, depth + 1) if one and arguments else Open()
    asked = op if not negated else _OPPOSITE_OF.get(op, "")
    if asked in ("and", "or"):
        if not isinstance(arguments, list) or not arguments:
            return Open()
        parts = tuple(_parse(each, negated, depth + 1) for each in arguments)
        return AllOf(_merged(parts)) if asked == "and" else AnyOf(parts)
    try:
        test = _test(asked, tree)
    except (KeyError, TypeError, ValueError):
        test = None
    return Open() if test is None else Leaf(str(tree["column"]), str(tree["type"]), test)


def _merged(parts: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    """Parts of an AND, those of one column made one where that can be: alone each may be met by another value of a pack."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,))]
    merged: list[Predicate] = []
    for part in flat:
        for place, other in enumerate(merged):
            if isinstance(part, Leaf) and isinstance(other, Leaf) and (part.column, part.type) == (other.column, other.type):
                both = intersection(other.test, part.test)
                if both is not None:
                    merged[place] = Leaf(part.column, part.type, both)
                    break
        else:
            merged.append(part)
    return tuple(merged)


def _test(op: str, tree: Mapping[str, Any]) -> ValueTest | None:
    domain = domain_of(str(tree["type"]))
    if domain is None or not isinstance(tree["column"], str):
        return None
    if op in ("is_null", "is_not_null"):
        return ValueTest(NoValue(), nulls=True) if op == "is_null" else ValueTest(AnyValue())
    if op in ("in", "not_in"):
        return _membership(op, list(tree["values"]), domain)
    if op == "like":
        return _like_test(str(tree["pattern"]), str(tree["escape"]), str(tree["type"]))
    value = tree["value"]
    if op in ("same", "not_same"):
        return _null_safe_test(op, value, tree)
    if value is None:
        return ValueTest(NoValue())
    return _long_test(op, _whole(value)) if domain == LONG else _byte_test(op, bytes.fromhex(value), str(tree["type"]))


def _null_safe_test(op: str, value: Any, tree: Mapping[str, Any]) -> ValueTest | None:
    """`<=>` is never NULL: a null is the same as NULL, and not the same as any value."""
    if value is None:
        return ValueTest(NoValue(), nulls=True) if op == "same" else ValueTest(AnyValue())
    plain = _test("eq" if op == "same" else "ne", tree)
    return plain if plain is None or op == "same" else replace(plain, nulls=True)


def _like_test(pattern: str, escape: str, spark_type: str) -> ValueTest | None:
    """What a pattern begins with, up to its first wildcard; more strings begin so than match."""
    beginning = re.split("[%_" + re.escape(escape) + "]", pattern, maxsplit=1)[0].encode()
    # Spark matches against text in which that character stands for bytes that are no UTF-8.
    if spark_type != "string" or not beginning or "\N{REPLACEMENT CHARACTER}".encode() in beginning:
        return None
    return ValueTest(BytePrefix(beginning), exact=False)


def _membership(op: str, values: list[Any], domain: str) -> ValueTest | None:
    if not values:
        # What NULL IN () is depends on Spark's settings.
        return None
    there = [value for value in values if value is not None]
    if op == "not_in" and len(there) < len(values):
        # Against a NULL in the list no value is surely not in it.
        return ValueTest(NoValue())
    if domain != LONG:
        texts = [bytes.fromhex(value) for value in there]
        return ValueTest(byte_keys(texts)) if op == "in" else ValueTest(AnyValue(), exact=False)
    keys = sorted(_whole(value) for value in there)
    if op == "in":
        return ValueTest(long_keys(keys))
    ends = [LOWEST - 1, *keys, HIGHEST + 1]
    return ValueTest(long_ranges((low + 1, high - 1) for low, high in pairwise(ends)))


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _long_test(op: str, value: int) -> ValueTest | None:
    ranges = {
        "eq": [(value, value)],
        "ne": [(LOWEST, value - 1), (value + 1, HIGHEST)],
        "lt": [(LOWEST, value - 1)],
        "le": [(LOWEST, value)],
        "gt": [(value + 1, HIGHEST)],
        "ge": [(value, HIGHEST)],
    }
    return ValueTest(long_ranges(ranges[op])) if op in ranges else None


def _byte_test(op: str, value: bytes, spark_type: str) -> ValueTest | None:
    if op in _PARTS:
        if spark_type not in ("string", "binary"):
            return None
        return ValueTest(_PARTS[op](value) if value else AnyValue())
    tests = {
        "eq": ValueTest(byte_keys([value])),
        # The strict ones are asked a little wider: not exact.
        "ne": ValueTest(AnyValue(), exact=False),
        "lt": ValueTest(ByteRange(None, value), exact=False),
        "le": ValueTest(ByteRange(None, value)),
        "gt": ValueTest(ByteRange(value, None), exact=False),
        "ge": ValueTest(ByteRange(value, None)),
    }
    return tests.get(op)
