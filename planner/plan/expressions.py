"""Expressions of a snapshot: frozen, and parsed out of JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from planner.plan.errors import SnapshotError
from planner.plan.json_fields import Raw, read_field, read_ids, read_list
from planner.plan.raising import read_may_raise
from planner.plan.types import is_whole_number, keeps_values

# Only casts, aliases and the two wrappers have an expression inside; nobody stacks more of them than this.
DEEPEST_EXPRESSION = 64
# Of an expression's text people are shown so much.
LONGEST_TEXT = 60

_EXPRESSION_ID = re.compile(r"#\d+L?")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that a node below produces."""

    id: int
    name: str
    type: str
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """An expression under a new id and name."""

    id: int
    name: str
    type: str
    child: Expression
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """An expression read as another type."""

    type: str
    child: Expression
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Normalize:
    """Spark's float normalisation of a join key: one NaN, no negative zero."""

    type: str
    child: Expression
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class CoalesceDefault:
    """`coalesce(child, d)` with the literal d that Spark takes when it rewrites `a <=> b`."""

    type: str
    child: Expression
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Shifted:
    """`sign · child + by` in a type of whole numbers; what it does past the ends of its type is left open."""

    type: str
    child: Expression
    sign: int
    by: int
    deterministic: bool = True
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class OtherExpression:
    """Anything else: its text for people, the ids it reads.

    `moved`: the columns moved by a number that it is made of, each of which may fail past the ends of its type.
    `may_raise_beyond`: whether anything else in it can fail.
    """

    text: str
    type: str
    refs: tuple[int, ...]
    deterministic: bool = True
    may_raise: bool = False
    moved: tuple[Expression, ...] = ()
    may_raise_beyond: bool = False


Wrapper: TypeAlias = Alias | Cast | Normalize | CoalesceDefault
Expression: TypeAlias = Attribute | Wrapper | Shifted | OtherExpression

_WRAPPERS: dict[str, type[Cast | Normalize | CoalesceDefault]] = {
    "cast": Cast,
    "normalize": Normalize,
    "coalesce_default": CoalesceDefault,
}


def innermost(expr: Expression) -> Attribute | Shifted | OtherExpression:
    """What is left of an expression without new names, casts and wrappers."""
    while not isinstance(expr, Attribute | Shifted | OtherExpression):
        expr = expr.child
    return expr


def source_type(expr: Expression) -> str:
    """The type of what an expression makes by names, casts, wrappers and shifts alone."""
    while not isinstance(expr, Attribute | OtherExpression):
        expr = expr.child
    return expr.type


def text_of(expr: Expression) -> str:
    """An expression for people; casts and wrappers follow from the types and are left out."""
    inner = innermost(expr)
    if isinstance(inner, OtherExpression):
        return without_ids(inner.text)
    if isinstance(inner, Attribute):
        return inner.name
    child = text_of(inner.child)
    if inner.sign < 0:
        return f"{inner.by} - {child}"
    return f"{child} + {inner.by}" if inner.by >= 0 else f"{child} - {-inner.by}"


def without_ids(text: str) -> str:
    """A text of Spark's without the ids of its expressions."""
    return _EXPRESSION_ID.sub("", text)


def shortened(text: str) -> str:
    """What of a text goes into a sentence."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def raises_past_its_type_only(expr: Expression) -> bool:
    """Whether an expression can't fail but where a shift in it leaves its type."""
    while expr.may_raise and not isinstance(expr, Attribute | OtherExpression):
        if isinstance(expr, Cast) and not keeps_values(expr.child.type, expr.type):
            return False
        expr = expr.child
    return not expr.may_raise


def parse_expression(raw: object, where: str, depth: int = 0) -> Expression:
    """One expression of the snapshot.

    An expression that is made of one that is not deterministic, or may raise, is not, or may, either. A cast that keeps values
    can't fail whatever the snapshot says of casts in general.

    Raises:
        SnapshotError: it is not of a known kind with its fields; `where` starts the text.
    """
    if not isinstance(raw, dict):
        raise SnapshotError(f"{where} has {raw!r:.80} where an expression should be")
    if depth > DEEPEST_EXPRESSION:
        raise SnapshotError(f"{where} has an expression nested deeper than {DEEPEST_EXPRESSION}")
    kind = raw.get("kind")
    deterministic = raw.get("deterministic", True) is True
    may_raise = read_may_raise(raw, where) if "steps" in raw else raw.get("may_raise", False) is not False
    type_ = read_field(raw, "type", str, where)
    if kind == "attr":
        return Attribute(read_field(raw, "id", int, where), read_field(raw, "name", str, where), type_, deterministic, may_raise)
    if kind == "other":
        text, refs = read_field(raw, "text", str, where), read_ids(raw, "refs", where)
        moved = read_moved(raw, where) if "moved" in raw else ()
        any_raises = may_raise or (bool(moved) and any(each.may_raise for each in moved))
        return OtherExpression(text, type_, refs, deterministic, any_raises, moved, may_raise)
    if kind != "alias" and kind != "shift" and kind not in _WRAPPERS:
        raise SnapshotError(f"{where} has an expression of the unknown kind {kind!r}")
    child = parse_expression(raw.get("child"), where, depth + 1)
    deterministic = deterministic and child.deterministic
    if kind == "cast" and keeps_values(child.type, type_):
        may_raise = False
    may_raise = may_raise or child.may_raise
    if kind == "alias":
        id_, name = read_field(raw, "id", int, where), read_field(raw, "name", str, where)
        return Alias(id_, name, type_, child, deterministic, may_raise)
    if kind == "shift":
        return _shifted(raw, type_, child, deterministic, may_raise, where)
    return _WRAPPERS[kind](type_, child, deterministic, may_raise)


def _shifted(raw: Raw, type_: str, child: Expression, deterministic: bool, may_raise: bool, where: str) -> Shifted:
    sign, by = read_field(raw, "sign", int, where), read_field(raw, "by", int, where)
    if sign not in (1, -1) or not is_whole_number(type_) or child.type != type_:
        raise SnapshotError(f"{where} has a shift of {child.type} to {type_} with the sign {sign}; it keeps its whole-number type")
    return Shifted(type_, child, sign, by, deterministic, may_raise)


def read_moved(raw: Raw, where: str) -> tuple[Expression, ...]:
    """The columns moved by numbers that something is made of, none where the field is absent."""
    return parse_expressions(raw, "moved", where) if "moved" in raw else ()


def parse_expressions(raw: Raw, name: str, where: str) -> tuple[Expression, ...]:
    """A field that is a list of expressions."""
    return tuple(parse_expression(each, where) for each in read_list(raw, name, where))
