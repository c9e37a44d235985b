"""What a query asks of dimensions: which of their values pass, or why a tree can't tell.

A condition is a tree of docs/protocol.md ("Static predicates"). It is judged once for each value of a dimension, by SQL's logic of
three values: what is NULL passes neither the condition nor its opposite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtfilter.store.sketches.domain import LONG, domain_of

OR_OVER_DIMENSIONS = "or over dimensions"
NO_DIMENSION = "no dimension"
NOT_UNDERSTOOD = "not understood"
TRUE, UNKNOWN, FALSE = 1, 0, -1
# Nobody writes a condition that is deeper.
_DEEPEST = 100

Judged = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension's values.

    Attributes:
        type: Spark's catalog text for it.
        keys: The values by code, whole numbers or byte strings ("Key values" in docs/protocol.md). Null is not among them.
        has_null: Whether the code after the last value is null.
    """

    name: str
    type: str
    keys: NDArray[np.int64] | tuple[bytes, ...]
    has_null: bool = False

    @property
    def size(self) -> int:
        return len(self.keys) + self.has_null


class ConditionRefusedError(Exception):
    """A tree can't answer under this condition: `reason`, and `text`, what it is about."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason, self.text = reason, text


def passing_codes(tests: Sequence[Any], dimensions: Sequence[Dimension]) -> dict[int, NDArray[np.bool_]]:
    """By dimension which of its codes pass all tests; a dimension on which there is none is left out.

    Args:
        tests: Trees that are joined by AND.

    Raises:
        ConditionRefusedError: a part is about several dimensions at once, about another column, or not understood.
    """
    numbers = {dimension.name: number for number, dimension in enumerate(dimensions)}
    found: dict[int, NDArray[np.bool_]] = {}
    for part in (part for test in tests for part in _conjuncts(test, negated=False, depth=0)):
        columns = _columns(part, 0)
        if strangers := sorted(columns - set(numbers)):
            raise ConditionRefusedError(NO_DIMENSION, ", ".join(strangers))
        if len(columns) != 1:
            raise ConditionRefusedError(OR_OVER_DIMENSIONS if columns else NOT_UNDERSTOOD, ", ".join(sorted(columns)))
        number = numbers[columns.pop()]
        passes = _judged(part, dimensions[number], 0) == TRUE
        found[number] = found[number] & passes if number in found else passes
    return found


def _conjuncts(tree: Any, *, negated: bool, depth: int) -> list[Any]:
    """The parts of a condition that are joined by AND, also by NOT over OR."""
    op, arguments = _op(tree, depth)
    if op == "not":
        return _conjuncts(arguments[0], negated=not negated, depth=depth + 1)
    if op == ("or" if negated else "and"):
        return [part for each in arguments for part in _conjuncts(each, negated=negated, depth=depth + 1)]
    return [{"op": "not", "args": [tree]} if negated else tree]


def _op(tree: Any, depth: int) -> tuple[str, list[Any]]:
    if not isinstance(tree, Mapping) or depth > _DEEPEST:
        raise ConditionRefusedError(NOT_UNDERSTOOD, "a condition that is too deep, or none")
    op, arguments = str(tree.get("op")), tree.get("args")
    if op in ("and", "or", "not") and not (isinstance(arguments, list) and arguments and (op != "not" or len(arguments) == 1)):
        raise ConditionRefusedError(NOT_UNDERSTOOD, op)
    return op, arguments if isinstance(arguments, list) else []


def _columns(tree: Any, depth: int) -> set[str]:
    op, arguments = _op(tree, depth)
    if op in ("and", "or", "not"):
        return {name for each in arguments for name in _columns(each, depth + 1)}
    if op == "other" or not isinstance(tree.get("column"), str):
        raise ConditionRefusedError(NOT_UNDERSTOOD, ", ".join(map(str, tree.get("columns") or [op])))
    return {tree["column"]}


def _judged(tree: Any, dimension: Dimension, depth: int) -> Judged:
    """TRUE, UNKNOWN or FALSE for each code of the dimension."""
    op, arguments = _op(tree, depth)
    if op == "not":
        return -_judged(arguments[0], dimension, depth + 1)
    if op in ("and", "or"):
        parts = [_judged(each, dimension, depth + 1) for each in arguments]
        judged: Judged = np.minimum.reduce(parts) if op == "and" else np.maximum.reduce(parts)
        return judged
    try:
        of_values, of_null = _leaf(op, tree, dimension)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConditionRefusedError(NOT_UNDERSTOOD, f"{op} on {dimension.name}") from error
    return np.append(of_values, np.int8(of_null)).astype(np.int8) if dimension.has_null else of_values


def _leaf(op: str, tree: Mapping[str, Any], dimension: Dimension) -> tuple[Judged, int]:
    """The outcome for each value, and for null."""
    if tree["type"] != dimension.type:
        raise ValueError(f"the query reads it as {tree['type']}")
    count = len(dimension.keys)
    if op in ("is_null", "is_not_null"):
        is_value = TRUE if op == "is_not_null" else FALSE
        return np.full(count, is_value, np.int8), -is_value
    if op in ("eq", "lt", "le", "gt", "ge", "same") and tree["value"] is None:
        return (np.full(count, FALSE, np.int8), TRUE) if op == "same" else (np.zeros(count, np.int8), UNKNOWN)
    if op == "in":
        return _membership(list(tree["values"]), dimension), UNKNOWN
    if op == "like":
        return _truth(_like(str(tree["pattern"]), str(tree["escape"]), dimension)), UNKNOWN
    holds = _compared(op, _key(tree["value"], dimension), dimension)
    return _truth(holds), FALSE if op == "same" else UNKNOWN


def _truth(holds: NDArray[np.bool_]) -> Judged:
    return np.where(holds, np.int8(TRUE), np.int8(FALSE)).astype(np.int8)


def _key(value: Any, dimension: Dimension) -> int | bytes:
    if domain_of(dimension.type) != LONG:
        return bytes.fromhex(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _membership(values: Sequence[Any], dimension: Dimension) -> Judged:
    """`IN`: of a list with a NULL no value is surely outside."""
    if not values:
        raise ValueError("what NULL IN () is depends on Spark's settings")
    keys = {_key(value, dimension) for value in values if value is not None}
    holds = np.fromiter((key in keys for key in _plain(dimension)), bool, len(dimension.keys))
    otherwise = UNKNOWN if None in values else FALSE
    return np.where(holds, TRUE, otherwise).astype(np.int8)


def _plain(dimension: Dimension) -> Sequence[int | bytes]:
    return [int(key) for key in dimension.keys] if isinstance(dimension.keys, np.ndarray) else dimension.keys


def _compared(op: str, key: int | bytes, dimension: Dimension) -> NDArray[np.bool_]:
    compare: Mapping[str, Any] = {
        "eq": lambda each: each == key,
        "same": lambda each: each == key,
        "lt": lambda each: each < key,
        "le": lambda each: each <= key,
        "gt": lambda each: each > key,
        "ge": lambda each: each >= key,
        "prefix": lambda each: each.startswith(key),
        "suffix": lambda each: each.endswith(key),
        "contains": lambda each: key in each,
    }
    if op in ("prefix", "suffix", "contains") and domain_of(dimension.type) == LONG:
        raise ValueError(f"{op} of a number")
    if isinstance(dimension.keys, np.ndarray) and isinstance(key, int) and -(2**63) <= key < 2**63:
        return np.asarray(compare[op](dimension.keys))
    return np.fromiter(map(compare[op], _plain(dimension)), bool, len(dimension.keys))


def _like(pattern: str, escape: str, dimension: Dimension) -> NDArray[np.bool_]:
    if dimension.type != "string" or len(escape) != 1:
        raise ValueError("like of what is no text")
    parts, characters = [], iter(pattern)
    for each in characters:
        if each == escape:
            escaped = next(characters, "")
            if escaped not in (escape, "%", "_"):
                raise ValueError("Spark raises an error for this pattern")
            parts.append(re.escape(escaped))
        else:
            parts.append({"%": ".*", "_": "."}.get(each, re.escape(each)))
    compiled = re.compile("".join(parts), re.DOTALL)
    keys = [key for key in dimension.keys if isinstance(key, bytes)]
    return np.fromiter((compiled.fullmatch(key.decode("utf-8")) is not None for key in keys), bool, len(dimension.keys))
