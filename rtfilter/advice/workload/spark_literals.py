"""Values as Spark shows them in plans, without quotes, made into literals where their column's type says what they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from rtfilter.advice.workload.literals import LIKE, Literal, Literals, number

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(")
# So many values of one list are looked at; of a longer one nothing is known.
MOST_VALUES = 10_000
# What stands around a text that is looked for, by how it is.
PATTERNS = {"StartsWith(": "{}%", "EndsWith(": "%{}", "Contains(": "%{}%"}


def values_of(texts: Sequence[str], type_: str, form: str = "") -> Literals | None:
    """Values of a column of this type; None where one is not plainly one, as times of day, which depend on the session."""
    if len(texts) > MOST_VALUES:
        return None
    found: dict[Literal, None] = {}
    for text in texts:
        literal = _literal(text.strip() if type_ != "string" else text, type_)
        if literal is None:
            return None
        found[literal] = None
    return Literals(tuple(sorted(found, key=repr)), form)


def pattern_of(call: str, text: str) -> Literals:
    """The pattern of a LIKE that does the same as a call such as `StartsWith(`; of a LIKE itself it is the text."""
    if call not in PATTERNS:
        return Literals((text,), LIKE)
    escaped = "".join("\\" + sign if sign in "\\%_" else sign for sign in text)
    return Literals((PATTERNS[call].format(escaped),), LIKE)


def _literal(text: str, type_: str) -> Literal:
    if type_ == "string":
        return text
    if type_.startswith(_NUMBERS):
        return number(text)
    if type_ == "boolean" and text in ("true", "false"):
        return text
    if type_ == "date":
        try:
            return date.fromisoformat(text).isoformat()
        except ValueError:
            return None
    return None
