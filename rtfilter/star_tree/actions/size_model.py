"""How many rows a tree will have, by how many groups its dimensions make: without the groups themselves.

Where nodes of a level have more rows than a leaf on the average, all of them are taken to be split. So the result is right for even
data, and too small where few values have most of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

Dimensions = frozenset[int]
# About how many groups each of these sets of dimensions makes.
Counted = Callable[[Iterable[Dimensions]], Mapping[Dimensions, int]]
# Sets of nodes that are looked at on a level: of 12 dimensions there could be 4,096.
MOST_PATTERNS = 64


def modelled_rows(dimensions: int, max_leaf: int, no_star: Collection[int], counted: Counted) -> int:
    """The rows of a tree: those without stars, those of star children, and those that sum nodes up."""
    everything = frozenset(range(dimensions))
    known: dict[Dimensions, int] = {frozenset(): 1}
    rows = _counts(known, [everything], counted)[everything]
    # The nodes of a level by the dimensions in which they are about a value; in the others before it they are stars.
    patterns: list[Dimensions] = [frozenset()]
    for level in range(dimensions):
        here, below = frozenset(range(level, dimensions)), frozenset(range(level + 1, dimensions))
        _counts(known, [wanted for each in patterns for wanted in (each, each | here, each | below)], counted)
        split = [each for each in patterns if level == 0 or known[each | here] > max_leaf * known[each]]
        leaves = [each for each in patterns if each not in split]
        rows += sum(known[each] for each in leaves if known[each | here] > known[each])
        if level in no_star:
            rows += sum(known[each] for each in split)
            patterns = [each | {level} for each in split]
        else:
            rows += sum(known[each | below] for each in split)
            patterns = [child for each in split for child in (each | {level}, each)][:MOST_PATTERNS]
    return rows


def _counts(known: dict[Dimensions, int], wanted: Iterable[Dimensions], counted: Counted) -> Mapping[Dimensions, int]:
    new = [each for each in dict.fromkeys(wanted) if each not in known]
    if new:
        known.update(counted(new))
    return known
