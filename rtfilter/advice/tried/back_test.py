"""Advice held against time: what is advised on the first half of a log, judged on the second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtfilter.advice.packs.askings import askings
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.trial import Trial
from rtfilter.advice.tried.best_sketches import best_sketches
from rtfilter.advice.tried.tried_table import TriedTable
from rtfilter.advice.workload.fingerprints import Workload, in_order
from rtfilter.advice.workload.halves import Halves


@dataclass(frozen=True, slots=True)
class BackTest:
    """Shares of reading. `promised`: what the indexes advised on the first half save there; `found`: what they save on the second;
    `possible`: what those advised on the second half itself save there. `calls`: of each half."""

    by: str
    calls: tuple[float, float]
    indexes: int
    promised: float
    found: float
    possible: float

    def to_dict(self) -> dict[str, Any]:
        shares = {name: round(getattr(self, name), 4) for name in ("promised", "found", "possible")}
        return {"by": self.by, "calls": list(self.calls), "indexes": self.indexes, **shares}


def back_test(
    split: Halves, tables: Mapping[str, TableStatistics], trials: Mapping[str, Trial], budgets: Mapping[str, float]
) -> BackTest:
    """Advises on each half and judges the indexes of the first one on the second. Of tables that were tried."""
    first, second = (_asked(half, tables, trials) for half in (split.first, split.second))
    promised, found, possible, read = [0.0], [0.0], [0.0], ([0.0], [0.0])
    indexes = 0
    for name, trial in trials.items():
        halves = [TriedTable(asked.get(name, []), tables[name], trial, None) for asked in (first, second)]
        advice = [[sketch for sketch, _ in best_sketches(half, budgets[name])] for half in halves]
        indexes += len(advice[0])
        promised.append(halves[0].gain(advice[0], trial.existing).bytes)
        found.append(halves[1].gain(advice[0], trial.existing).bytes)
        possible.append(halves[1].gain(advice[1], trial.existing).bytes)
        for place, half in enumerate(halves):
            read[place].append(half.read_today)
    before = [math.fsum(each) or 1.0 for each in read]
    calls = tuple(float(sum(calls.weight for calls in half.values())) for half in (split.first, split.second))
    return BackTest(
        by=split.by,
        calls=(round(calls[0], 3), round(calls[1], 3)),
        indexes=indexes,
        promised=math.fsum(promised) / before[0],
        found=math.fsum(found) / before[1],
        possible=math.fsum(possible) / before[1],
    )


def _asked(half: Workload, tables: Mapping[str, TableStatistics], trials: Mapping[str, Trial]) -> dict[str, Any]:
    """Of the queries of one half, by table, those that were judged."""
    known = [(each, calls) for each, calls in in_order(half) if all(use.table in tables for use in each.uses)]
    return {name: asked for name, asked in askings(known, tables).items() if name in trials}
