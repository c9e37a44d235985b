"""Pieces of the texts in which Spark shows plans: lists, attributes such as `a#12L`, and the details of operators.

Texts inside them are not quoted. So a list may have been cut at the wrong place where a text of the query has brackets or commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ATTRIBUTE = re.compile(r"(.+)#(\d+)L?", re.DOTALL)
_IN_TEXT = re.compile(r"([\w.$-]+)#(\d+)L?\b")
_ALIAS = re.compile(r"(.+) AS (.+#\d+L?)", re.DOTALL)
_DETAIL_HEAD = re.compile(r"\((\d+)\) (.*?)(?: \[codegen id : \d+\])?\s*")
_FIELD = re.compile(r"([A-Z][A-Za-z ]*?)(?: \[(\d+)\])? ?: ?(.*)")
_CUT = re.compile(r"\.\.\. \d+ more fields")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of a plan: `id` is its own within the query, `name` what it is called there."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Detail:
    """What the text of a plan says of one operator: its fields, and of lists how many entries they should have."""

    operator: str
    fields: dict[str, str]
    counts: dict[str, int]

    def list_of(self, field: str) -> tuple[str, ...] | None:
        """The entries of a list; None where it is not there, or was cut."""
        text = self.fields.get(field)
        if text is None:
            return None
        found = entries(text)
        return found if len(found) == self.counts.get(field, 0) else None


def attribute(text: str) -> Attribute | None:
    """The attribute that a text is; None for anything else."""
    match = _ATTRIBUTE.fullmatch(text.strip())
    if match is None or "#" in match[1] or any(sign in match[1] for sign in "(),"):
        return None
    return Attribute(match[1], int(match[2]))


def attributes_in(text: str) -> Iterator[Attribute]:
    """The attributes that a text names, as far as their names are words."""
    for match in _IN_TEXT.finditer(text):
        yield Attribute(match[1], int(match[2]))


def alias(text: str) -> tuple[str, Attribute] | None:
    """Of `expression AS name#1` both parts."""
    match = _ALIAS.fullmatch(text.strip())
    given = attribute(match[2]) if match is not None else None
    return None if match is None or given is None else (match[1], given)


def is_cut(text: str) -> bool:
    """Whether Spark has left out entries of a list."""
    return _CUT.search(text) is not None


def entries(text: str) -> tuple[str, ...]:
    """The entries of `[a, b]`, cut at commas outside of brackets."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return tuple(split(text, ", ")) if text else ()


def split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside of round, square and curly brackets."""
    parts, depth, begin, at = [], 0, 0, 0
    while at < len(text):
        sign = text[at]
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, at):
            parts.append(text[begin:at])
            at += len(separator)
            begin = at
            continue
        at += 1
    parts.append(text[begin:])
    return parts


def closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` closes; -1 where it does not."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return -1


def is_balanced(text: str) -> bool:
    """Whether every bracket of a text has its partner."""
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return depth == 0


def bracketed(text: str) -> list[str]:
    """The texts in square brackets that stand side by side at the top of a text, such as the keys of a join."""
    found, at = [], 0
    while (begin := text.find("[", at)) >= 0:
        end = closing(text, begin)
        if end < 0:
            break
        found.append(text[begin + 1 : end])
        at = end + 1
    return found


def details_of(description: str) -> list[Detail]:
    """What the text of a plan (spark.sql.ui.explainMode=formatted, Spark's default) says of each operator."""
    found: list[Detail] = []
    fields: dict[str, str] | None = None
    counts: dict[str, int] = {}
    for line in description.split("\n"):
        head = _DETAIL_HEAD.fullmatch(line)
        if head is not None:
            fields, counts = {}, {}
            found.append(Detail(head[2].strip(), fields, counts))
        elif not line.strip():
            fields = None
        elif fields is not None and (field := _FIELD.fullmatch(line)) is not None:
            fields[field[1]] = field[3]
            if field[2] is not None:
                counts[field[1]] = int(field[2])
    return found


def schema_of(text: str) -> dict[str, str]:
    """The columns of `struct<a:bigint,b:decimal(7,2)>` with their types; empty where it can't be read."""
    text = text.strip()
    if not (text.startswith("struct<") and text.endswith(">")):
        return {}
    inner = text[len("struct<") : -1].replace("<", "(").replace(">", ")")
    found = {}
    for entry in split(inner, ",") if inner else ():
        name, separator, type_ = entry.rpartition(":") if entry.count(":") == 1 else entry.partition(":")
        if separator:
            found[name] = type_
    return found
