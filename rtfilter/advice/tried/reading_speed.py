"""How much longer queries take for each byte that they read, by the log itself. The rest of their time is not due to reading."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

# Of fewer kinds of queries nothing is said, and of more only the most frequent ones are compared.
LEAST_KINDS, MOST_KINDS = 3, 200
# Two kinds are compared where one reads so many times what the other does.
APART = 1.25


def ms_per_byte(kinds: Sequence[tuple[float, float, float]]) -> float | None:
    """The median slope between pairs of kinds of queries (Theil-Sen), weighted by the calls of the rarer one.

    Args:
        kinds: Bytes read by a call, its ms, and the number of calls.

    Returns:
        None where too few kinds differ in what they read, or who reads more takes no longer: then other things take the time.
    """
    most = sorted(kinds, key=lambda each: (-each[2], each))[:MOST_KINDS]
    if len(most) < LEAST_KINDS:
        return None
    slopes = []
    for one, other in combinations(most, 2):
        low, high = min(one, other), max(one, other)
        if high[0] >= APART * low[0] and high[0] > 0:
            slopes.append(((high[1] - low[1]) / (high[0] - low[0]), min(one[2], other[2])))
    if len(slopes) < LEAST_KINDS:
        return None
    slopes.sort()
    half, passed = sum(weight for _, weight in slopes) / 2, 0.0
    for slope, weight in slopes:
        passed += weight
        if passed >= half:
            return slope if slope > 0 else None
    return None
