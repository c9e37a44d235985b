"""The conditions of a scan, as Spark's plan has them in its metadata, made into a predicate.

Texts are not quoted there: `IN (a,b,c)` may be two values or three. What can't be told is said to be partial, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rtfilter.advice.event_logs.plan_texts import attribute, attributes_in, closing, is_balanced, split
from rtfilter.advice.workload.predicates import Leaf, Operator, Predicate, all_of, any_of, leaves, opposite
from rtfilter.advice.workload.spark_literals import PATTERNS, pattern_of, values_of

_TURNED = {" >= ": "<=", " <= ": ">=", " > ": "<", " < ": ">"}
_COMPARISONS = {
    " <=> ": Operator.EQUAL,
    " >= ": Operator.RANGE,
    " <= ": Operator.RANGE,
    " = ": Operator.EQUAL,
    " > ": Operator.RANGE,
    " < ": Operator.RANGE,
}
_LIKES = re.compile(r"(.+?#\d+L?) (R?I?LIKE) (.*)", re.DOTALL)
_IN = re.compile(r"(.+?#\d+L?) IN \((.*)\)", re.DOTALL)
_IN_SET = re.compile(r"(.+?#\d+L?) INSET (.*)", re.DOTALL)
# Conditions that come from other parts of the query, each of another run.
_FROM_ELSEWHERE = ("dynamicpruning", "subquery#", "might_contain(", "bloom_filter_agg(")
_TEXT_TYPES = ("string", "char", "varchar", "binary")
_MAY_END_A_TEXT = re.compile(r"[()\[\]#]| AND | OR ")
MOST_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Condition:
    """What was understood. `partial`: of which columns, or of what, something was not: sentences without values."""

    predicate: Predicate | None
    partial: tuple[str, ...] = ()


class _Reader:
    """Reads the conditions of one scan. `types`: of its columns, in lower case."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types
        self.partial: dict[str, None] = {}

    def read(self, text: str, depth: int = 0) -> Predicate | None:
        text = text.strip()
        if any(mark in text for mark in _FROM_ELSEWHERE):
            if text.startswith("dynamicpruningexpression("):
                return None
            self.partial["a condition on the result of another part of the query"] = None
            columns = _columns_in(text)
            return Leaf(columns, Operator.FUNCTION) if columns and "subquery#" in text else None
        if depth > MOST_DEPTH:
            return self._other(text)
        if text.startswith("NOT "):
            part = self.read(text[4:], depth + 1)
            return None if part is None else opposite(part)
        if text.startswith("(") and closing(text, 0) == len(text) - 1:
            return self._in_brackets(text[1:-1], depth)
        return self._call(text)

    def _in_brackets(self, text: str, depth: int) -> Predicate | None:
        for word, join in ((" AND ", all_of), (" OR ", any_of)):
            arms = split(text, word)
            if len(arms) == 2:
                parts = [self.read(arm, depth + 1) for arm in arms]
                known = [part for part in parts if part is not None]
                if len(known) == 2 or (word == " AND " and known):
                    return join(known)
                return self._other(text) if word == " OR " else None
            if len(arms) > 2:
                return self._other(text)
        for sign, operator in _COMPARISONS.items():
            if len(sides := split(text, sign)) >= 2:
                return self._comparison(sides[0], sign.join(sides[1:]), operator, sign)
        return self._call(text)

    def _comparison(self, left: str, right: str, operator: Operator, sign: str) -> Predicate | None:
        column, other = attribute(left), attribute(right)
        if column is None and other is not None and not any(attributes_in(left)):
            column, right, other = other, left, None
            sign = f" {_TURNED.get(sign, sign)} "
        if column is None:
            return self._computed(f"{left}{sign}{right}")
        if other is not None or any(each.name.lower() in self.types for each in attributes_in(right)):
            # Another column, or a text that looks like one.
            return self._other(f"{left}{sign}{right}")
        if right == "null":
            return Leaf((column.name,), Operator.IS_NULL if sign == " <=> " else Operator.OTHER)
        form = sign.strip() if operator is Operator.RANGE else ""
        known = None if self._doubt(column.name, right) else values_of([right], self._type(column.name), form)
        return Leaf((column.name,), operator, literals=known)

    def _call(self, text: str) -> Predicate | None:
        if text in ("true", "false"):
            return None
        if (column := attribute(text)) is not None:
            # A boolean column by itself.
            return Leaf((column.name,), Operator.EQUAL, literals=values_of(["true"], "boolean"))
        for name, operator in (("isnotnull(", Operator.IS_NOT_NULL), ("isnull(", Operator.IS_NULL)):
            if text.startswith(name) and (column := attribute(text[len(name) : -1])) is not None:
                return Leaf((column.name,), operator)
        for name in PATTERNS:
            first, _, value = text[len(name) : -1].partition(", ")
            column = attribute(first) if text.startswith(name) else None
            if column is not None:
                return self._like(column.name, name, value)
        for form, separator in ((_IN, ","), (_IN_SET, ", ")):
            match = form.fullmatch(text)
            column = attribute(match[1]) if match is not None else None
            if match is not None and column is not None:
                return self._one_of(column.name, match[2], separator)
        match = _LIKES.fullmatch(text)
        if match is not None and (column := attribute(match[1])) is not None:
            return self._like(column.name, match[2], match[3])
        # Anything else has the form of a call, or a text in it has brackets that don't match.
        return self._computed(text) if text.endswith(")") and not text.startswith("(") else self._other(text)

    def _like(self, name: str, call: str, value: str) -> Leaf:
        is_plain = not self._doubt(name, value) and (call in PATTERNS or call == "LIKE")
        return Leaf((name,), Operator.LIKE, literals=pattern_of(call, value) if is_plain else None)

    def _one_of(self, name: str, values: str, separator: str) -> Leaf:
        number = len(dict.fromkeys(values.split(separator)))
        if number > 1 and self._is_text(name):
            self.partial[f"how many values {name} may have: texts with commas are not quoted"] = None
        if self._doubt(name, values) or self._is_text(name):
            return Leaf((name,), Operator.IN, number)
        return Leaf((name,), Operator.IN, number, values_of(values.split(separator), self._type(name)))

    def _doubt(self, name: str, value: str) -> bool:
        """Whether a text may end elsewhere than where it was cut."""
        found = self._is_text(name) and _MAY_END_A_TEXT.search(value) is not None
        if found:
            self.partial[f"where the text that {name} is compared with ends"] = None
        return found

    def _type(self, name: str) -> str:
        return self.types.get(name.lower(), "")

    def _is_text(self, name: str) -> bool:
        return (self._type(name) or "string").startswith(_TEXT_TYPES)

    def _computed(self, text: str) -> Leaf | None:
        if not is_balanced(text):
            return self._other(text)
        columns = _columns_in(text)
        if not columns:
            self.partial["a condition that names no column"] = None
            return None
        return Leaf(columns, Operator.FUNCTION)

    def _other(self, text: str) -> Leaf | None:
        columns = _columns_in(text)
        self.partial[f"a condition on {', '.join(columns) or 'no column'}"] = None
        return Leaf(columns, Operator.OTHER) if columns else None


def _columns_in(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.name for each in attributes_in(text) if not each.name.endswith("subquery")))


def condition_of(filters: Iterable[str], pushed: str, types: Mapping[str, str]) -> Condition:
    """The conditions of a scan out of its metadata.

    Args:
        filters: the texts of DataFilters and PartitionFilters.
        pushed: the text of PushedFilters: what was cut out of a text by mistake does not stand there.
        types: the types of the scan's columns by their names in lower case.
    """
    reader = _Reader(types)
    parts = [part for text in filters for each in _conjuncts(text) if (part := reader.read(each)) is not None]
    predicate = all_of(parts)
    if any(type_.startswith(_TEXT_TYPES) for type_ in types.values()):
        known = {name.lower() for name in re.findall(r"\(([^(),]+)", pushed)}
        for leaf in leaves(predicate):
            if leaf.operator in (Operator.EQUAL, Operator.IN) and leaf.column.lower() not in known and pushed != "":
                reader.partial[f"whether {leaf.column} is really asked for"] = None
    return Condition(predicate, tuple(reader.partial))


def _conjuncts(text: str) -> list[str]:
    """The conditions of a list. What follows a set without naming a column is one more of its values."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    found: list[str] = []
    for part in split(text, ", ") if text else ():
        if found and " INSET " in found[-1] and not _is_condition(part):
            found[-1] += f", {part}"
        else:
            found.append(part)
    return found


def _is_condition(text: str) -> bool:
    return any(attributes_in(text)) or text in ("true", "false")
