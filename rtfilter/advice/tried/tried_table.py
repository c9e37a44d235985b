"""A table's queries tried with whatever is built: what they keep of its packs, and what sketches save."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.item import KeptBefore
from rtfilter.advice.packs.kept_share import column_bytes
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.costs import gb_per_day, refresh_seconds
from rtfilter.advice.trials.intervals import interval
from rtfilter.advice.trials.trial import Built, Floats, Question, Trial, bounded_sample
from rtfilter.advice.workload.predicates import EQUALITIES, leaves
from rtfilter.store.sketches.kinds import Sketch

# Questions for a table in all: each takes some ms. Kinds of queries share them out, with not fewer than these for one.
MOST_QUESTIONS, LEAST_QUESTIONS = 2_000, 2


@dataclass(slots=True, eq=False)
class TriedAsking:
    """The queries of one kind on a table, and what they keep of its packs. `read`: bytes that all calls would read without
    conditions of their own: those of all packs, less what runtime filters of joins were measured to reject. `page_share`: what
    dictionary pages of columns that are asked for values are of that."""

    asking: Asking
    questions: tuple[Question, ...]
    read: float
    columns: frozenset[str]
    page_share: float = 1.0
    _shares: dict[tuple[Built, float], Floats] = field(default_factory=dict)

    def kept(self, trial: Trial, built: Built) -> Floats:
        """What each sampled pack says of the share of packs that is kept, all where nothing is asked that could be tried."""
        return self._share(trial, built, 1.0)

    def bytes_read(self, trial: Trial, built: Built) -> Floats:
        """The same of the share of bytes that is read: of packs whose dictionaries lack what is asked for Spark reads no more."""
        return self._share(trial, built, self.page_share)

    def _share(self, trial: Trial, built: Built, page_share: float) -> Floats:
        mine = frozenset(sketch for sketch in built if sketch.column in self.columns)
        if (mine, page_share) not in self._shares:
            tried = trial.kept_share(self.questions, mine, page_share) if self.questions else np.ones(trial.sampled)
            self._shares[mine, page_share] = tried
        return self._shares[mine, page_share]


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
        most = max(LEAST_QUESTIONS, MOST_QUESTIONS // max(1, len(asked)))
        self.asked = [self._tried(each, most) for each in asked]
        self.read_today = math.fsum(each.read * float(each.bytes_read(trial, trial.existing).mean()) for each in self.asked)

    def _tried(self, asking: Asking, most: int) -> TriedAsking:
        predicate = asking.use.predicate
        questions = self.trial.questions(predicate, asking.samples, most) if predicate is not None else ()
        columns = frozenset(name for leaf in leaves(predicate) for name in leaf.columns)
        size = column_bytes(asking.use, self.table)
        listed = {leaf.column for leaf in leaves(predicate) if leaf.operator in EQUALITIES}
        pages = math.fsum(self.trial.dictionary_bytes(name) for name in sorted(listed)) * self.trial.packs
        page_share = min(1.0, pages / size) if size else 1.0
        return TriedAsking(asking, questions, asking.weight * size * asking.joined_share, columns, page_share)

    def upkeep_ms(self, sketch: Sketch) -> float | None:
        """How long refreshes take over the days of the log, as fast as the table grows; None where one of them is not known."""
        seconds, growth = refresh_seconds(self.trial.sample, sketch), gb_per_day(self.trial.sample.table.listed)
        return None if seconds is None or growth is None or self.days is None else 1_000 * seconds * growth * self.days

    def candidates(self) -> list[Sketch]:
        """The sketches that some query may use and no index has yet."""
        asked = {name for each in self.asked for name in each.columns}
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
            if not columns & each.columns:
                continue
            before, now = each.bytes_read(self.trial, built), each.bytes_read(self.trial, after)
            difference = float((before - now).mean())
            if difference <= 0:
                continue
            saved += each.read * (before - now)
            sampled = bounded_sample(each.questions, self.trial.sample)
            possible.append(each.read * float(before.mean()))
            seen.append(each.read * float(before.mean()) * sampled)
            if each.asking.ms is not None:
                today = float(each.bytes_read(self.trial, self.trial.existing).mean())
                times.append(each.asking.ms * min(1.0, difference / today) if today else 0.0)
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
        least, share = float(before.mean()), float(now.mean())
        low, high = interval(min(1.0, share / least) if least else 0.0, sampled, self.trial.packs * sampled / self._m)
        return KeptBefore(each.asking.fingerprint.id, least, share, low * least, high * least)
