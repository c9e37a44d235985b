"""Charts in two columns of about one height."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from markupsafe import Markup

# What a card has above and below its drawing, as a share of the drawing's width.
CARD = 0.18

Titled = tuple[str, Markup]


def in_columns(charts: Sequence[Titled]) -> list[list[Titled]]:
    """Two columns whose heights differ least, each in the given order, the first chart on the left; one column for one chart."""
    if len(charts) < 2:
        return [list(charts)] if charts else []
    heights = [height(chart) + CARD for _, chart in charts]
    if len(charts) > 14:
        return [list(charts[::2]), list(charts[1::2])]
    numbers = range(1, len(charts))
    lefts = [(0, *rest) for count in range(len(charts) - 1) for rest in combinations(numbers, count)]
    left = min(lefts, key=lambda chosen: abs(2 * sum(heights[i] for i in chosen) - sum(heights)))
    return [[charts[i] for i in range(len(charts)) if (i in left) == is_left] for is_left in (True, False)]


def height(svg: str) -> float:
    """Of a drawing, as a share of its width."""
    found = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', svg)
    assert found is not None, "inline_svg gives every drawing a viewBox"
    return float(found[2]) / float(found[1])
