"""Whether one mode is faster than another by more than chance, from pairs of runs that were done side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence


def sign_test(first_ms: Sequence[float], second_ms: Sequence[float]) -> float:
    """Two-sided p-value of the sign test (Dixon and Mood 1946): how likely so uneven a count of wins is by chance.

    Run i of one is paired with run i of the other; equal times count for neither. 1.0 when there is nothing to count. With
    n pairs the least possible value is 2 / 2^n: five runs cannot go below 0.0625.
    """
    wins = sum(a < b for a, b in zip(first_ms, second_ms, strict=False))
    losses = sum(a > b for a, b in zip(first_ms, second_ms, strict=False))
    pairs = wins + losses
    if pairs == 0:
        return 1.0
    tail: float = sum(math.comb(pairs, k) for k in range(min(wins, losses) + 1)) / 2**pairs
    return min(1.0, 2 * tail)
