"""Readers of option texts: each gives the value of a text, or raises ValueError with what the text must be."""

from __future__ import annotations

from collections.abc import Callable

KINDS = ("range", "set", "bloom")


def boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("true or false")
    return lowered == "true"


def whole_number(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text.strip())
        except ValueError:
            raise ValueError(f"a whole number, at least {least}") from None
        if value < least:
            raise ValueError(f"a whole number, at least {least}")
        return value

    return parse


def probability(text: str) -> float:
    try:
        value = float(text.strip())
    except ValueError:
        raise ValueError("a number above 0 and below 1") from None
    if not 0.0 < value < 1.0:
        raise ValueError("a number above 0 and below 1")
    return value


def share(text: str) -> float:
    try:
        value = float(text.strip())
    except ValueError:
        raise ValueError("a number from 0 to 1") from None
    if not 0.0 <= value <= 1.0:
        raise ValueError("a number from 0 to 1")
    return value


def one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        value = text.strip().lower()
        if value not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return value

    return parse


def kinds(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if not parts or any(part not in KINDS for part in parts):
        raise ValueError("a list out of " + ", ".join(KINDS) + ", such as range,set")
    return parts


def schemes(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    if any(not part.replace("+", "").replace("-", "").replace(".", "").isalnum() for part in parts):
        raise ValueError("a list of schemes, such as wasb,alluxio")
    return parts


def text_as_it_is(text: str) -> str:
    return text
