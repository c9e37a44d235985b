"""What to build, by trials: every kind of sketch on sampled packs, the best for its bytes first, as many as the budget allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.counted import counted
from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.by_formulas import LEAST_GAIN
from rtfilter.advice.packs.commands import create_command
from rtfilter.advice.packs.item import Item, KeptBefore, path_of
from rtfilter.advice.packs.kept_share import column_bytes
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.costs import build_seconds, refresh_seconds, sketch_bytes
from rtfilter.advice.trials.intervals import interval
from rtfilter.advice.trials.trial import NOTHING, Built, Floats, Question, Trial, bounded_sample, try_table
from rtfilter.advice.workload.predicates import leaves
from rtfilter.store.sketches.kinds import Sketch

# Questions for a table in all: each takes some ms. Kinds of queries share them out, with not fewer than these for one.
MOST_QUESTIONS, LEAST_QUESTIONS = 2_000, 2


@dataclass(slots=True, eq=False)
class TriedAsking:
    """The queries of one kind on a table, and what they keep of its packs. `read`: bytes of all packs that all calls would read."""

    asking: Asking
    questions: tuple[Question, ...]
    read: float
    columns: frozenset[str]
    _shares: dict[Built, Floats] = field(default_factory=dict)

    def kept(self, trial: Trial, built: Built) -> Floats:
        """What each sampled pack says of the share that is kept; all of it where nothing is asked that could be tried."""
        mine = frozenset(sketch for sketch in built if sketch.column in self.columns)
        if mine not in self._shares:
            self._shares[mine] = trial.kept_share(self.questions, mine) if self.questions else np.ones(trial.sampled)
        return self._shares[mine]


@dataclass(frozen=True, slots=True)
class TriedGain:
    """What sketches save over what is there: bytes of all calls, ms, the bounds of the gain as shares of it, and who gains."""

    bytes: float
    low: float
    high: float
    ms: float | None
    kept: tuple[KeptBefore, ...]


class TriedTable:
    """A table's queries, ready to be tried with whatever is built."""

    def __init__(self, asked: Sequence[Asking], table: TableStatistics, trial: Trial) -> None:
        self.table, self.trial = table, trial
        most = max(LEAST_QUESTIONS, MOST_QUESTIONS // max(1, len(asked)))
        self.asked = [self._tried(each, most) for each in asked]
        self.read_today = math.fsum(each.read * float(each.kept(trial, NOTHING).mean()) for each in self.asked)

    def _tried(self, asking: Asking, most: int) -> TriedAsking:
        predicate = asking.use.predicate
        questions = self.trial.questions(predicate, asking.samples, most) if predicate is not None else ()
        columns = frozenset(name for leaf in leaves(predicate) for name in leaf.columns)
        return TriedAsking(asking, questions, asking.weight * column_bytes(asking.use, self.table), columns)

    def candidates(self) -> list[Sketch]:
        """The sketches that some query may use and no index has yet."""
        asked = {name for each in self.asked for name in each.columns}
        mine = [sketch for sketch in self.trial.sample.sketches if sketch.column in asked and sketch not in self.trial.existing]
        return sorted(mine, key=lambda sketch: (sketch.column, sketch.kind))

    def gain(self, sketches: Iterable[Sketch], built: Built) -> TriedGain:
        """What these sketches save beside those that are built."""
        added, after = frozenset(sketches), built | frozenset(sketches)
        columns = {sketch.column for sketch in added}
        saved, possible, seen = np.zeros(self.trial.sampled), [0.0], [0.0]
        times: list[float] = []
        kept: list[KeptBefore] = []
        for each in self.asked:
            if not columns & each.columns:
                continue
            before, now = each.kept(self.trial, built), each.kept(self.trial, after)
            difference = float((before - now).mean())
            if difference <= 0:
                continue
            saved += each.read * (before - now)
            sampled = bounded_sample(each.questions, self.trial.sample)
            possible.append(each.read * float(before.mean()))
            seen.append(each.read * float(before.mean()) * sampled)
            if each.asking.ms is not None:
                today = float(each.kept(self.trial, NOTHING).mean())
                times.append(each.asking.ms * min(1.0, difference / today) if today else 0.0)
            kept.append(self._kept(each, before, now, sampled))
        total, whole = float(saved.mean()) if len(saved) else 0.0, math.fsum(possible)
        if not total or not whole:
            return TriedGain(0.0, 0.0, 0.0, None, ())
        low, high = interval(min(1.0, total / whole), math.fsum(seen) / whole, self.trial.packs * math.fsum(seen) / whole / self._m)
        return TriedGain(total, low * whole / total, high * whole / total, math.fsum(times) if times else None, tuple(kept))

    @property
    def _m(self) -> int:
        return max(1, self.trial.sampled)

    def _kept(self, each: TriedAsking, before: Floats, now: Floats, sampled: float) -> KeptBefore:
        least, share = float(before.mean()), float(now.mean())
        low, high = interval(min(1.0, share / least) if least else 0.0, sampled, self.trial.packs * sampled / self._m)
        return KeptBefore(each.asking.fingerprint.id, least, share, low * least, high * least)


def trial_of(asked: Sequence[Asking], table: TableStatistics) -> Trial | None:
    """Sketches of the columns that are asked for, tried on a sample; None where there is nothing to try."""
    columns = sorted({name for each in asked for leaf in leaves(each.use.predicate) for name in leaf.columns})
    known = [column.name for name in columns if (column := table.column(name)) is not None]
    return try_table(table.name, table.path, known) if known and table.path and table.has_bytes else None


def advised_by_trials(asked: Sequence[Asking], table: TableStatistics, trial: Trial, most_bytes: float) -> list[Item]:
    """The indexes that save the most within a budget, each with what it saves beside those before it."""
    tried = TriedTable(asked, table, trial)
    costs = {sketch: max(1, sketch_bytes(trial.sample, sketch)) for sketch in tried.candidates()}
    ways = [_grown(tried, costs, most_bytes, by) for by in (lambda gain, cost: gain / cost, lambda gain, cost: gain)]
    chosen = max(ways, key=lambda each: (round(math.fsum(gain.bytes for _, gain in each), 3), -sum(costs[one] for one, _ in each)))
    return [_item(sketch, gain, costs[sketch], tried) for sketch, gain in chosen]


def _grown(
    tried: TriedTable, costs: dict[Sketch, int], most_bytes: float, worth: Callable[[float, int], float]
) -> list[tuple[Sketch, TriedGain]]:
    """Sketches one after the other, that of the greatest worth first, while one is left that surely saves something."""
    built: Built = NOTHING
    left, candidates = most_bytes, list(costs)
    chosen: list[Sketch] = []
    while candidates:
        gains = [(tried.gain([sketch], built), sketch) for sketch in candidates if costs[sketch] <= left]
        sure = [each for each in gains if each[0].bytes * each[0].low > LEAST_GAIN * tried.read_today]
        # What saves nothing now may do so with others only in an OR; it is not looked at again, which saves most of the time.
        candidates = [sketch for gain, sketch in gains if gain.bytes > 0]
        if not sure:
            break
        _, best = min(sure, key=lambda each: (-round(worth(each[0].bytes, costs[each[1]]), 6), each[1].column, each[1].kind))
        candidates.remove(best)
        chosen.append(best)
        left -= costs[best]
        built = built | {best}
    return _with_gains(tried, _without_idle(tried, chosen))


def _without_idle(tried: TriedTable, chosen: list[Sketch]) -> list[Sketch]:
    """Without those that save nothing any more beside those that came after them."""
    kept = list(chosen)
    for sketch in chosen:
        others = [each for each in kept if each != sketch]
        if tried.gain([sketch], frozenset(others)).bytes <= LEAST_GAIN * tried.read_today:
            kept = others
    return kept


def _with_gains(tried: TriedTable, chosen: list[Sketch]) -> list[tuple[Sketch, TriedGain]]:
    return [(sketch, tried.gain([sketch], frozenset(chosen[:place]))) for place, sketch in enumerate(chosen)]


def _item(sketch: Sketch, gain: TriedGain, cost: int, tried: TriedTable) -> Item:
    kind, sample = sketch.kind.replace("_", ""), tried.trial.sample
    share = gain.bytes / tried.read_today if tried.read_today else 0.0
    packs = f"{tried.trial.sampled} of {counted(tried.trial.packs, 'row group')}"
    reason = f"Tried on {packs}. {counted(len(gain.kept), 'kind', 'kinds')} of queries would read {share:.1%} less of the table."
    return Item(
        kind=kind,
        table=tried.table.name,
        columns=(sketch.column,),
        queries=tuple(each.query for each in gain.kept),
        gain_bytes=gain.bytes,
        gain_ms=gain.ms,
        cost_bytes=cost,
        reason=reason,
        command=create_command(kind, path_of(tried.table), sketch.column),
        bounds=(gain.low, gain.high),
        build_s=build_seconds(sample, sketch),
        refresh=refresh_seconds(sample, sketch),
        kept=gain.kept,
    )
