"""How many of their generated cases tests try: all of them, or the share in RTFILTER_CASES_SHARE, which `make check` sets."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("RTFILTER_CASES_SHARE", "1"))
# The first steps are where most things begin to go wrong, and enough for tests that count what went wrong.
FIRST_STEPS = 6


def cases(of_all: int, least: int = 5) -> int:
    """The number of cases, in a run of a part of them at least `least`."""
    return of_all if SHARE >= 1 else max(min(least, of_all), round(of_all * SHARE))


def steps(most: int) -> list[int]:
    """The numbers from 1 below `most`: all of them, or the first few and then one of several."""
    apart = max(1, round(1 / SHARE))
    return [step for step in range(1, most) if step <= FIRST_STEPS or step % apart == 0]
