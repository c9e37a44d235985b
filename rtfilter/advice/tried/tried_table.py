"""A table's queries tried with whatever is built: what they keep of its packs, and what sketches save."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.item import KeptBefore
from rtfilter.advice.packs.kept_share import column_bytes
from rtfilter.advice.sampled.costs import gb_per_day, refresh_seconds
from rtfilter.advice.sampled.intervals import interval
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.join_trials import TriedJoin, tried_joins
from rtfilter.advice.trials.trial import Built, Floats, Question, Trial, bounded_sample
from rtfilter.advice.tried.reading_speed import ms_per_byte
from rtfilter.advice.workload.predicates import leaves
from rtfilter.store.sketches.kinds import Sketch

# Questions for a table in all: each takes some ms. Kinds of queries share them out, with not fewer than these for one.
MOST_QUESTIONS, LEAST_QUESTIONS = 2_000, 2
# Each question has a verdict of a byte on each pack of the table.
MOST_VERDICTS = 128 << 20
# A sketch that rejects nothing for so many kinds of queries, those that read the most, is tried with no further ones.
MOST_SCREENED = 64


@dataclass(slots=True, eq=False)
class TriedAsking:
    """The queries of one kind on a table, and what they keep of its packs. `read`: bytes that all calls would read without
    conditions of their own: those of all packs, less what runtime filters of joins were measured to reject.
    `pack_bytes`: what one call would read of one pack. `columns`: of conditions; `joins`: on whose keys indexes may help filters.
    """

    asking: Asking
    questions: tuple[Question, ...]
    read: float
    pack_bytes: float
    columns: frozenset[str]
    joins: tuple[TriedJoin, ...] = ()
    _shares: dict[Built, Floats] = field(default_factory=dict)
    _read_shares: dict[Built, Floats] = field(default_factory=dict)

    @property
    def touched(self) -> frozenset[str]:
        """The columns whose indexes may help."""
        return self.columns | {join.column for join in self.joins}

    def kept(self, trial: Trial, built: Built) -> Floats:
        """What each sampled pack says of the share that is kept, of what filters of joins leave today; all of it where nothing is
        asked that could be tried."""
        mine = frozenset(sketch for sketch in built if sketch.column in self.touched)
        if mine not in self._shares:
            found = trial.kept_share(self.questions, mine) if self.questions else np.ones(trial.sampled)
            self._shares[mine] = found * self._by_joins(trial, mine)
        return self._shares[mine]

    def reads(self, trial: Trial, built: Built) -> Floats:
        """The same of the share of bytes that is read: of packs that Spark leaves out by itself little, but not nothing."""
        mine = frozenset(sketch for sketch in built if sketch.column in self.touched)
        if mine not in self._read_shares:
            found = trial.read_share(self.questions, mine, self.pack_bytes) if self.questions else np.ones(trial.sampled)
            self._read_shares[mine] = found * self._by_joins(trial, mine)
        return self._read_shares[mine]

    def _by_joins(self, trial: Trial, mine: Built) -> float:
        """As if the joins had nothing to do with each other, nor with the conditions."""
        return math.prod(join.ratio(trial, mine) for join in self.joins)

    def judged(self, trial: Trial) -> float:
        """How many of the sampled packs footers leave to be judged, on average over the calls."""
        return bounded_sample(self.questions, trial.sample) if self.questions else float(trial.sampled)


@dataclass(frozen=True, slots=True)
class TriedGain:
    """What sketches save over what is there: bytes of all calls, ms, the bounds of the gain as shares of it, and who gains."""

    bytes: float
    low: float
    high: float
    ms: float | None
    kept: tuple[KeptBefore, ...]


class TriedTable:
    """A table's queries, ready to be tried with whatever is built. `days`: how many the log is long, None where nobody knows."""

    def __init__(self, asked: Sequence[Asking], table: TableStatistics, trial: Trial, days: int | None = None) -> None:
        self.table, self.trial, self.days = table, trial, days
        self._candidates: list[Sketch] | None = None
        questions = min(MOST_QUESTIONS, MOST_VERDICTS // max(1, trial.packs))
        most = max(LEAST_QUESTIONS, questions // max(1, len(asked)))
        self.asked = [self._tried(each, most) for each in asked]
        self.read_today = math.fsum(each.read * float(each.reads(trial, trial.existing).mean()) for each in self.asked)
        self._ms_per_byte = ms_per_byte([each for asked in self.asked if (each := self._speed(asked)) is not None])

    def _speed(self, each: TriedAsking) -> tuple[float, float, float] | None:
        """Bytes and ms of a call of these queries, and the number of calls."""
        weight, ms = each.asking.weight, each.asking.ms
        if ms is None or not weight:
            return None
        return each.read * float(each.reads(self.trial, self.trial.existing).mean()) / weight, ms / weight, weight

    def saved_ms(self, each: TriedAsking, before: float, now: float) -> float | None:
        """What queries save of their time that read another share of their bytes: at most that share of it, and at most as long as
        such bytes take by the log. None where the log has no times."""
        today = float(each.reads(self.trial, self.trial.existing).mean())
        if each.asking.ms is None:
            return None
        most = each.asking.ms * min(1.0, (before - now) / today) if today else 0.0
        return most if self._ms_per_byte is None else min(most, each.read * (before - now) * self._ms_per_byte)

    def _tried(self, asking: Asking, most: int) -> TriedAsking:
        predicate = asking.use.predicate
        questions = self.trial.questions(predicate, asking.samples, most) if predicate is not None else ()
        columns = frozenset(name for leaf in leaves(predicate) for name in leaf.columns)
        of_call = column_bytes(asking.use, self.table)
        read, pack_bytes = asking.weight * of_call * asking.joined_share, of_call / max(1, self.trial.packs)
        values = {column.name: column.cardinality for column in self.table.columns.values()}
        return TriedAsking(asking, questions, read, pack_bytes, columns, tried_joins(asking.joined_by, self.trial, values))

    def upkeep_ms(self, sketch: Sketch) -> float | None:
        """How long refreshes take over the days of the log, as fast as the table grows; None where one of them is not known."""
        seconds, growth = refresh_seconds(self.trial.sample, sketch), gb_per_day(self.trial.sample.table.listed)
        return None if seconds is None or growth is None or self.days is None else 1_000 * seconds * growth * self.days

    def candidates(self) -> list[Sketch]:
        """The sketches that reject a row group for one of the largest kinds of queries, and that no index has yet."""
        if self._candidates is None:
            self._candidates = [sketch for sketch in self.possible() if self._rejects_some(sketch)]
        return self._candidates

    def _rejects_some(self, sketch: Sketch) -> bool:
        there = self.trial.existing
        touched = [each for each in self.asked if sketch.column in each.touched]
        touched.sort(key=lambda each: (-each.read, each.asking.fingerprint.id))
        shares = ((each.kept(self.trial, there), each.kept(self.trial, there | {sketch})) for each in touched[:MOST_SCREENED])
        return any(bool((after < before).any()) for before, after in shares)

    def possible(self) -> list[Sketch]:
        """The sketches of columns that are asked for, but for those that an index has."""
        asked = {name for each in self.asked for name in each.touched}
        there = {(sketch.column, sketch.kind) for sketch in self.trial.existing}
        mine = [sketch for sketch in self.trial.sample.sketches if sketch.column in asked]
        # Only those that `rtfilter index create` makes without further options: others are there because an index has them.
        mine = [sketch for sketch in mine if type(sketch)(sketch.column) == sketch and (sketch.column, sketch.kind) not in there]
        return sorted(mine, key=lambda sketch: (sketch.column, sketch.kind))

    def gain(self, sketches: Iterable[Sketch], built: Built) -> TriedGain:
        """What these sketches save beside those that are built."""
        added, after = frozenset(sketches), built | frozenset(sketches)
        columns = {sketch.column for sketch in added}
        saved, possible, seen = np.zeros(self.trial.sampled), [0.0], [0.0]
        times: list[float] = []
        kept: list[KeptBefore] = []
        for each in self.asked:
            if not columns & each.touched:
                continue
            before, now = each.reads(self.trial, built), each.reads(self.trial, after)
            difference = float((before - now).mean())
            if difference <= 0:
                continue
            saved += each.read * (before - now)
            sampled = each.judged(self.trial)
            possible.append(each.read * float(before.mean()))
            seen.append(each.read * float(before.mean()) * sampled)
            if (ms := self.saved_ms(each, float(before.mean()), float(now.mean()))) is not None:
                times.append(ms)
            kept.append(self._kept(each, each.kept(self.trial, built), each.kept(self.trial, after), sampled))
        total, whole = float(saved.mean()) if len(saved) else 0.0, math.fsum(possible)
        if not total or not whole:
            return TriedGain(0.0, 0.0, 0.0, None, ())
        low, high = interval(min(1.0, total / whole), math.fsum(seen) / whole, self.trial.packs * math.fsum(seen) / whole / self._m)
        return TriedGain(total, low * whole / total, high * whole / total, math.fsum(times) if times else None, tuple(kept))

    @property
    def _m(self) -> int:
        return max(1, self.trial.sampled)

    def _kept(self, each: TriedAsking, before: Floats, now: Floats, sampled: float) -> KeptBefore:
        least, share = (each.asking.joined_share * float(kept.mean()) for kept in (before, now))
        low, high = interval(min(1.0, share / least) if least else 0.0, sampled, self.trial.packs * sampled / self._m)
        return KeptBefore(each.asking.fingerprint.id, least, share, low * least, high * least)
