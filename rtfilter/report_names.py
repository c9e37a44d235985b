"""Names of filters that people can read and tell apart: `sales.s_item <- item.i_item`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

# Of each side: names of columns are hardly longer, conditions and computed keys may be.
MOST_CHARACTERS = 36


def filter_name(probe: str, build: str) -> str:
    """What is filtered by what; long texts lose their middle."""
    return f"{shortened(probe)} <- {shortened(build)}" if build else shortened(probe)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text of `most` characters at most, its middle left out if it is longer."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def numbered(names: Iterable[str]) -> list[str]:
    """The same names, in their order; a second one of equal name gets ` #2` and so on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found
