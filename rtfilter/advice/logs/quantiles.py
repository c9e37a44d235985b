"""How much the queries of a log looked at, how long they took, and whether the one explains the other."""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

from rtfilter.advice.logs.lines import LogLine, Skipped, log_lines, told
from rtfilter.advice.workload.fingerprints import Exact
from rtfilter.errors import AdviceError

PERCENTS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
BIN = 100
# A fit that explains this share or less explains nothing.
LEAST_R2 = Fraction(7, 10)
UNABLE = "unable to predict"


@dataclass(frozen=True, slots=True)
class Fit:
    """ms = alpha · entries in the filter + beta · entries after it; `beta` is 0 where the log lacks the latter. Exact numbers."""

    alpha: Fraction
    beta: Fraction
    r2: Fraction

    @property
    def explains(self) -> bool:
        return self.r2 > LEAST_R2


@dataclass(slots=True)
class Measured:
    """What lines say: weights by entries and by ms, and the shortest time of each bin of entries in and after the filter."""

    entries: Counter[Exact] = field(default_factory=Counter)
    ms: Counter[Exact] = field(default_factory=Counter)
    shortest: dict[tuple[int, int | None], Exact] = field(default_factory=dict)

    def add(self, line: LogLine) -> None:
        if line.entries is not None:
            self.entries[line.entries] += line.weight  # type: ignore[assignment]
        if line.ms is not None:
            self.ms[line.ms] += line.weight  # type: ignore[assignment]
        if line.entries is not None and line.ms is not None:
            place = line.entries // BIN, None if line.entries_after is None else line.entries_after // BIN
            self.shortest[place] = min(self.shortest.get(place, line.ms), line.ms)


def quantiles_of(counts: Counter[Exact], percents: Sequence[int] = PERCENTS) -> list[float | None]:
    """The values at positions p (n + 1) / 100 of the sorted values, between two of them their mix, clipped to the ends.

    A value of weight w stands at w positions.
    """
    values = sorted(value for value, weight in counts.items() if weight)
    upto = list(accumulate(counts[value] for value in values))
    if not values:
        return [None] * len(percents)

    def at(position: int) -> Exact:
        return values[min(bisect_left(upto, position), len(values) - 1)]

    found: list[float | None] = []
    for percent in percents:
        position = Fraction(percent) * (upto[-1] + 1) / 100
        whole = math.floor(position)
        found.append(float(at(whole) + (position - whole) * (at(whole + 1) - at(whole))))
    return found


def fitted(shortest: dict[tuple[int, int | None], Exact]) -> Fit | None:
    """The least squares without intercept over the middles of bins; None where there is no single best one.

    Where some bins lack the entries after the filter they are left out of the fit for all.
    """
    both = all(after is not None for _, after in shortest)
    points: dict[tuple[int, int], Exact] = {}
    for (inside, after), ms in shortest.items():
        place = inside * BIN + BIN // 2, (after or 0) * BIN + BIN // 2 if both else 0
        points[place] = min(points.get(place, ms), ms)
    xx = sum(x * x for x, _ in points)
    xz = sum(x * z for x, z in points)
    zz = sum(z * z for _, z in points)
    xy = Fraction(sum((x * y for (x, _), y in points.items()), 0))
    zy = Fraction(sum((z * y for (_, z), y in points.items()), 0))
    yy = sum((y * y for y in points.values()), 0)
    if not yy or not xx:
        return None
    if not both:
        alpha, beta = xy / xx, Fraction(0)
    elif determinant := xx * zz - xz * xz:
        alpha, beta = (xy * zz - zy * xz) / determinant, (zy * xx - xy * xz) / determinant
    else:
        return None
    rest = sum(((y - alpha * x - beta * z) ** 2 for (x, z), y in points.items()), Fraction(0))
    return Fit(alpha, beta, 1 - rest / yy)


def quantiles(logs: Sequence[str | Path]) -> dict[str, Any]:
    """Quantiles of entries and ms, the fit of ms to entries, and what filters cost at most by it.

    Raises:
        AdviceError: a log can't be read.
    """
    measured, skipped, queries = Measured(), dict[str, Skipped](), 0
    for path in {os.path.realpath(path): path for path in logs}.values():
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in log_lines(file):
                    if isinstance(line, str):
                        skipped.setdefault(line, Skipped()).add(f"{path}:{number}")
                        continue
                    queries += 1
                    measured.add(line)
        except OSError as error:
            raise AdviceError(f"{path}: the log can't be read: {error.strerror or error}") from error
    return {"queries": queries, **_figures(measured), "skipped": told(skipped)}


def _figures(measured: Measured) -> dict[str, Any]:
    percents = [str(percent) for percent in PERCENTS]
    entries = dict(zip(percents, quantiles_of(measured.entries), strict=True))
    fit = fitted(measured.shortest)
    optimisation: dict[str, float] | str = UNABLE
    if fit is not None and fit.explains:
        optimisation = {percent: float(fit.alpha) * (value or 0.0) for percent, value in entries.items()}
    return {
        "rows": entries,
        "ms": dict(zip(percents, quantiles_of(measured.ms), strict=True)),
        "fit": None if fit is None else {"alpha": float(fit.alpha), "beta": float(fit.beta), "r2": float(fit.r2)},
        "maximum_optimisation_ms": optimisation,
    }
