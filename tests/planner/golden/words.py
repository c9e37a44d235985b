"""The small words of the fixture files: lists, numbers and `name=value` fields."""

from __future__ import annotations

import re

_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_NUMBER = re.compile(r"(-?[\d_]+(?:\.\d+)?)([kMG]?)B?")
_OPENING, _CLOSING = "([{<", ")]}>"


def split_outside(text: str, separator: str) -> list[str]:
    """The parts of a list, without its ends' blanks; a separator in brackets does not count. None for an empty text."""
    parts, depth, begin, at = [], 0, 0, 0
    while at < len(text):
        depth += (text[at] in _OPENING[:3]) - (text[at] in _CLOSING[:3])
        if depth == 0 and text.startswith(separator, at):
            parts.append(text[begin:at].strip())
            at = begin = at + len(separator)
            continue
        at += 1
    parts.append(text[begin:].strip())
    return [part for part in parts if part]


def number_of(text: str) -> float:
    """`1_000`, `10k`, `1.5M`, `64MB`.

    Raises:
        ValueError: it is none of them.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no number such as 1000, 10k or 1.5M")
    return float(found[1].replace("_", "")) * _UNITS[found[2]]


def count_of(text: str) -> int | None:
    """A whole number; None for `?`, which is not known."""
    return None if text == "?" else round(number_of(text))


def fields_of(text: str) -> dict[str, str]:
    """`rows=10 running hint="never fact"` as {"rows": "10", "running": "", "hint": "never fact"}."""
    found = re.findall(r'([\w.]+)(?:=("[^"]*"|\S+))?', text)
    return {name: value.strip('"') for name, value in found}
