"""How far a share that was seen on sampled packs may be from that of all packs."""

from __future__ import annotations

import math

# 95 % of the normal distribution lie within so many standard deviations.
DEVIATIONS = 1.959964


def interval(share: float, sampled: float, packs: float) -> tuple[float, float]:
    """The bounds of a share that was seen on `sampled` of `packs` packs.

    Wilson's score interval (Wilson, "Probable inference, the law of succession, and statistical inference", 1927): it does not end
    at 0 when nothing was seen. A sample without replacement tells more than one with it, by (packs - 1) / (packs - sampled); all
    packs tell the share itself. Shares of single packs, which lie between 0 and 1, vary at most as much as yes and no do.
    """
    if sampled >= packs:
        return share, share
    if sampled <= 0:
        return 0.0, 1.0
    count = sampled * max(1.0, packs - 1) / (packs - sampled)
    square = DEVIATIONS * DEVIATIONS / count
    middle = (share + square / 2) / (1 + square)
    half = DEVIATIONS / (1 + square) * math.sqrt(max(0.0, share * (1 - share) / count + square / (4 * count)))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
