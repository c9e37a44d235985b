"""Runs trials, each a few times, within a time that was promised, and keeps the best time of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from rtfilter.errors import CalibrationError

# A trial is one run; it returns the ms that count, which need not be those that it took.
Trial = Callable[[], float]
REPEATS = 6
PROMISED_S = 75.0


def best_times(
    trials: Mapping[str, Trial],
    tell: Callable[[str, int, int], None],
    promised_s: float = PROMISED_S,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, float]:
    """The least time of each trial in ms. The trials take turns, so that a slow moment of the machine hits no single one.

    Every trial runs at least twice, for the first run of a query compiles it; `tell` hears the name, the runs done and all of them.

    Raises:
        CalibrationError: the runs that there must be take longer than was promised.
    """
    began_s, done, total = clock(), 0, REPEATS * len(trials)
    best: dict[str, float] = {}
    for repeat in range(REPEATS):
        for name, trial in trials.items():
            passed_s = clock() - began_s
            if passed_s > promised_s and repeat >= 2:
                return best
            if passed_s > 2 * promised_s:
                raise CalibrationError(
                    f"after {passed_s:.0f} s {done} of at least {2 * len(trials)} runs were done: the machine is too busy, or too "
                    "slow for this many rows. Run it again when it is idle, or with fewer --rows."
                )
            ms = trial()
            if repeat > 0:
                best[name] = min(best.get(name, ms), ms)
            done += 1
            tell(name, done, total)
    return best
