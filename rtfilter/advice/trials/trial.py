"""Which packs of a sample the queries of a log keep, with whatever sketches: the verdicts that the layer itself would give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rtfilter.advice.sampled.pack_sample import PackSample, kinds_for, sample_packs
from rtfilter.advice.sampled.smaller_blooms import with_smaller_blooms
from rtfilter.advice.sampled.table_packs import SAMPLE_PACKS, table_packs
from rtfilter.advice.trials.drawn_keys import MOST_KEYS, ColumnKeys, column_keys
from rtfilter.advice.trials.drawn_rows import DRAWN_ROWS, DrawnRow, draw_rows, drawn_calls
from rtfilter.advice.trials.existing_indexes import ExistingIndex, existing_indexes
from rtfilter.advice.trials.questions import question
from rtfilter.advice.trials.sparks_own import SparksOwn, left_out, sparks_own
from rtfilter.advice.workload.literals import Literals
from rtfilter.advice.workload.predicates import Predicate
from rtfilter.store.sketches.arrays import Bools, Int64s
from rtfilter.store.sketches.kinds import Bloom, Sketch
from rtfilter.store.sketches.outcomes import Outcome, agreed, partial
from rtfilter.store.sketches.predicates import Leaf, judge_predicate
from rtfilter.store.sketches.predicates import Predicate as SketchPredicate
from rtfilter.store.sketches.rows import SketchRows

Floats: TypeAlias = npt.NDArray[np.float64]
Built: TypeAlias = frozenset[Sketch]
NOTHING: Built = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One call: its predicate, the share of its kind's calls that it stands for, and the packs of the sample that its own values
    were drawn from, if they were. `bounded`: the packs of the table that the bounds in footers keep."""

    predicate: SketchPredicate
    weight: float
    drawn_from: Int64s
    bounded: Bools


class Trial:
    """The trials on one table. `indexes`: those that it has."""

    def __init__(self, sample: PackSample, indexes: tuple[ExistingIndex, ...] = ()) -> None:
        self.sample, self.indexes = sample, indexes
        # Smaller filters tell nothing of what is in a dictionary that the others do not.
        self._built = sample
        self._smaller: dict[Bloom, tuple[Bloom, ...]] = {}
        self._rows: tuple[DrawnRow, ...] | None = None
        self._of_calls: dict[tuple[Predicate, tuple[Literals | None, ...]], Question] = {}
        self._of_rows: dict[tuple[Predicate, int], tuple[Question, ...]] = {}
        self._keys: dict[str, ColumnKeys | None] = {}
        self._of_keys: dict[tuple[str, int], tuple[Question, ...]] = {}
        self._joined_shares: dict[tuple[int, Built], float] = {}
        self._own: SparksOwn | None = None
        # By the identity of a predicate, which stays alive beside it.
        self._left_out: dict[int, tuple[SketchPredicate, Floats]] = {}
        # By the identity of a leaf, which stays alive beside its verdicts.
        self._rejects: dict[tuple[int, Sketch], tuple[Leaf, Bools]] = {}

    @property
    def existing(self) -> Built:
        """The sketches of the indexes that know all files."""
        return frozenset(sketch for index in self.indexes if index.is_whole for sketch in index.sketches)

    @property
    def packs(self) -> int:
        return len(self.sample.table.packs)

    @property
    def sampled(self) -> int:
        return len(self.sample.at)

    def smaller_blooms(self, sketch: Bloom) -> tuple[Bloom, ...]:
        """Filters of the same column that take fewer bytes, the largest first; they can be tried from now on."""
        if sketch not in self._smaller:
            self.sample, self._smaller[sketch] = with_smaller_blooms(self.sample, sketch)
        return self._smaller[sketch]

    def questions(
        self, predicate: Predicate, samples: Mapping[tuple[Literals | None, ...], float], most: int = DRAWN_ROWS
    ) -> tuple[Question, ...]:
        """Up to so many calls of a kind of query: those of the log, by their literals; else calls with values of drawn rows."""
        if not samples:
            return self._drawn(predicate, most)
        ordered = sorted(samples.items(), key=lambda each: (-each[1], repr(each[0])))[:most]
        total = math.fsum(weight for _, weight in ordered)
        return tuple(self._of_log(predicate, asked, part / total) for asked, part in ordered)

    def _drawn(self, predicate: Predicate, most: int) -> tuple[Question, ...]:
        """The same for all kinds of queries that ask the same of the table."""
        if self._rows is None:
            self._rows = draw_rows(self.sample, sorted(self.sample.table.types))
        if (predicate, most) not in self._of_rows:
            calls = drawn_calls(predicate, self._rows)[:most]
            asked = ((question(predicate, call.literals, self.sample.table.types), call.places) for call in calls)
            self._of_rows[predicate, most] = tuple(self._question(each, 1 / len(calls), places) for each, places in asked)
        return self._of_rows[predicate, most]

    def joined(self, column: str, count: int, distinct: float | None) -> tuple[Question, ...]:
        """Whether packs have one of so many keys of a join, which are drawn from the column. `distinct`: how many values it has.

        Empty where there are too many keys to say, or values can't be read.
        """
        if count > MOST_KEYS or column not in self.sample.table.types:
            return ()
        if column not in self._keys:
            self._keys[column] = column_keys(self.sample, column, distinct)
        keys = self._keys[column]
        if (column, count) not in self._of_keys:
            draws = [] if keys is None else keys.draws(count)
            self._of_keys[column, count] = tuple(self._question(each, 1 / len(draws), ()) for each in draws)
        return self._of_keys[column, count]

    def joined_share(self, asked: tuple[Question, ...], built: Built) -> float:
        """The share of packs that filters with the keys of `joined` leave; many kinds of queries ask for the same."""
        # By the identity of the questions, which stay alive.
        key = id(asked), built
        if key not in self._joined_shares:
            self._joined_shares[key] = float(self.kept_share(asked, built).mean())
        return self._joined_shares[key]

    def _of_log(self, predicate: Predicate, literals: tuple[Literals | None, ...], weight: float) -> Question:
        """One call of the log, made once: both halves of a back-test ask it again."""
        key = predicate, literals
        if key not in self._of_calls:
            self._of_calls[key] = self._question(question(predicate, literals, self.sample.table.types), 1.0, ())
        return replace(self._of_calls[key], weight=weight)

    def _question(self, asked: SketchPredicate, weight: float, places: Iterable[int]) -> Question:
        bounds = self.sample.table.bounds

        def by_bounds(leaf: Leaf) -> Outcome:
            return bounds[leaf.column].judge(leaf.test, slice(0, self.packs), accepts=False)

        kept = ~judge_predicate(asked, by_bounds, self.packs).reject
        return Question(asked, weight, np.array(sorted(set(places)), dtype=np.int64), kept)

    def kept(self, asked: Question, built: Built) -> Bools:
        """The packs of the sample that a call keeps with these sketches and the footers."""
        within = asked.bounded[self.sample.at]

        def judge(leaf: Leaf) -> Outcome:
            mine = [sketch for sketch in built if sketch.column == leaf.column and sketch in self.sample.sketches]
            said = (self._rejected(leaf, sketch, within) for sketch in mine)
            return agreed((Outcome(reject, np.zeros_like(reject)) for reject in said), self.sampled)

        kept: Bools = within & ~judge_predicate(asked.predicate, judge, self.sampled).reject
        return kept

    def _rejected(self, leaf: Leaf, sketch: Sketch, within: Bools) -> Bools:
        """The packs that a sketch rejects, of those that the footers leave to the question that the leaf is of."""
        key = id(leaf), sketch
        if key not in self._rejects:
            rejects = np.zeros(self.sampled, dtype=np.bool_)
            at = np.flatnonzero(within)
            rejects[at] = _judge(self.sample.sketches[sketch], leaf, at)
            self._rejects[key] = leaf, rejects
        return self._rejects[key][1]

    def kept_share(self, questions: Sequence[Question], built: Built) -> Floats:
        """For each pack of the sample what it says of the share of the table's packs that the calls keep; the mean is the share."""
        return self._share(questions, built, None)

    def read_share(self, questions: Sequence[Question], built: Built, pack_bytes: float) -> Floats:
        """The same of the bytes that the calls read, where they read so many of a pack: of one that Spark leaves out by itself only
        what tells it to."""
        return self._share(questions, built, pack_bytes)

    def _share(self, questions: Sequence[Question], built: Built, pack_bytes: float | None) -> Floats:
        """Packs that footers reject are known of the whole table. Of the others the sampled ones speak. Of the pack that a literal
        was drawn from it is known that it is kept; the others speak for the others.
        """
        shares = np.zeros(self.sampled)
        for asked in questions:
            others = asked.bounded[self.sample.at].copy()
            others[asked.drawn_from] = False
            bounded = float(np.count_nonzero(asked.bounded)) - len(asked.drawn_from)
            certain, seen = len(asked.drawn_from) / self.packs, int(np.count_nonzero(others))
            if seen:
                kept = self.kept(asked, built) * others * self._part_read(asked, pack_bytes)
                shares += asked.weight * (certain + kept * (bounded / self.packs * self.sampled / seen))
            else:
                shares += asked.weight * (certain + max(0.0, bounded) / self.packs)
        return shares

    def _part_read(self, asked: Question, pack_bytes: float | None) -> Floats | float:
        """Which part of each sampled pack is read where no index rejects it."""
        if not pack_bytes:
            return 1.0
        predicate = asked.predicate
        if id(predicate) not in self._left_out:
            self._own = self._own or sparks_own(self._built)
            self._left_out[id(predicate)] = predicate, left_out(predicate, self._built, self._own)
        return np.minimum(1.0, self._left_out[id(predicate)][1] / pack_bytes)


def _judge(rows: SketchRows, leaf: Leaf, at: Int64s) -> Bools:
    at_once = rows.packs_at_once(leaf.test)
    parts = [at[begin : begin + at_once] for begin in range(0, len(at), at_once)]
    rejects = [rows.judge(leaf.test, part, accepts=False).reject for part in parts]
    return np.concatenate(rejects) if rejects else partial(0).reject


def bounded_sample(questions: Sequence[Question], sample: PackSample) -> float:
    """How many packs of the sample, on average over the calls, the footers leave to be judged."""
    return math.fsum(each.weight * float(np.count_nonzero(each.bounded[sample.at])) for each in questions)


def try_table(name: str, path: str, columns: Sequence[str], most_packs: int = SAMPLE_PACKS) -> Trial:
    """Builds every sketch of these columns on a sample of the table's packs.

    Raises:
        AdviceError: the table can't be read.
    """
    table = table_packs(name, path, columns)
    indexes = existing_indexes(table.listed)
    sketches = [sketch for column, type_ in table.types.items() for sketch in kinds_for(column, type_)]
    there = [sketch for index in indexes for sketch in index.sketches]
    return Trial(sample_packs(table, [*sketches, *there], table.sampled(most_packs)), indexes)
