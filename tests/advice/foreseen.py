"""Packs that a sample foresees against packs that the built index keeps: cases are (layout, kind of sketch, query).

Three layouts of one table: rows as they arrive (values drift), sorted by what is asked for with some stragglers, and shuffled.
Footers have no bounds, so that every verdict comes from sketches.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.advice.trials.questions import question
from rtfilter.advice.trials.trial import Built, Question, Trial, try_table
from rtfilter.advice.workload.literals import BETWEEN, LIKE, Literals
from rtfilter.advice.workload.predicates import Leaf, Operator
from rtfilter.store.index_actions.actions import create
from rtfilter.store.index_actions.build import LocalRunner
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_files.snapshot import Definition
from rtfilter.store.index_files.storage import LocalStorage
from rtfilter.store.index_reading.reader import PackIndex, open_index
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from rtfilter.store.sketches.outcomes import Outcome
from rtfilter.store.sketches.predicates import Leaf as Asked
from rtfilter.store.sketches.predicates import judge_predicate

LAYOUTS = ("arrival", "clustered", "shuffled")
KINDS: tuple[type[Sketch], ...] = (MinMax, Bloom, ValueSet, Histogram, CMap)
# A share of packs is foreseen within this factor, or within so many packs.
FACTOR, NEAR = 1.5, 2


@dataclass(frozen=True, slots=True)
class Case:
    """One query, with the packs that were foreseen and those that the index keeps, of all."""

    layout: str
    kind: str
    query: str
    foreseen: float
    kept: int
    packs: int

    @property
    def is_between(self) -> bool:
        """Whether 1 to 90 % of the packs are kept: with none or all of them there is nothing to foresee."""
        return 0.01 * self.packs <= self.kept <= 0.9 * self.packs

    @property
    def is_right(self) -> bool:
        return abs(self.foreseen - self.kept) <= NEAR or self.kept / FACTOR <= self.foreseen <= self.kept * FACTOR


def cases(folder: Path, packs: int, pack_rows: int, sampled: int, queries: int) -> Iterator[Case]:
    """The cases of all layouts and kinds; tables and indexes are made in the folder, one after the other."""
    for layout in LAYOUTS:
        place = folder / layout
        for column, values in _columns(layout, packs, pack_rows).items():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            part = len(values) // 4
            for i in range(4):
                table = pa.table({column: values.slice(i * part, part)})
                pq.write_table(table, place / f"{i}.parquet", row_group_size=pack_rows, write_statistics=False)
            trial = try_table("t", str(place), [column], sampled)
            for sketch in trial.sample.sketches:
                index = _built(place, sketch, trial)
                for name, literals, operator in _queries(column, values, type(sketch), queries):
                    yield _case(layout, sketch, name, Leaf((column,), operator, literals=literals), trial, index)


def _columns(layout: str, packs: int, pack_rows: int) -> dict[str, Any]:
    random = np.random.default_rng(5)
    rows = packs * pack_rows
    # Popularity falls as in most tables; some values are in every pack, most in few.
    popular = random.zipf(1.3, rows) % 50_000
    even = random.integers(0, 20_000, rows)
    time = np.arange(rows)
    near = (time + random.normal(0, rows / 20, rows)).astype(np.int64)
    if layout == "arrival":
        # Values come and go: each pack has those of its time.
        popular, even = (popular * 7 + time // (rows // 60) * 311) % 50_000, (even // 40 + time // (rows // 25) * 700) % 20_000
    elif layout == "clustered":
        strays = random.random(rows) < 0.0005
        popular, even, near = (np.where(strays, random.permutation(each), np.sort(each)) for each in (popular, even, near))
    else:
        near = random.permutation(near)
    few = (time // pack_rows * 13 % 97) * 3 + even % 9 if layout != "shuffled" else even % 400 * 5
    return {
        "popular": pa.array(popular),
        "even": pa.array(even),
        "near": pa.array(near),
        "few": pa.array(few),
        "code": pa.array([f"{'XYZ'[int(v) % 3]}{int(v) // 50:03d}-{int(v) % 50:02d}" for v in even]),
    }


def _built(place: Path, sketch: Sketch, trial: Trial) -> PackIndex:
    shutil.rmtree(place / "_rtfilter", ignore_errors=True)
    storage = LocalStorage(str(place / "_rtfilter" / "built"))
    listed = list_directory(str(place))
    create(storage, Definition("built", listed.name, None, (sketch,), dict(trial.sample.table.types)), listed, LocalRunner(2))
    index = open_index(storage)
    assert index is not None
    return index


def _queries(column: str, values: Any, kind: type[Sketch], count: int) -> Iterator[tuple[str, Literals, Operator]]:
    random = np.random.default_rng(17)
    drawn = values.take(pa.array(random.integers(0, len(values), 4 * count))).to_pylist()
    for i in range(count):
        value, others = drawn[4 * i], drawn[4 * i : 4 * i + 4]
        form = i % 4
        if form == 0:
            yield f"{column} = {value}", Literals((value,)), Operator.EQUAL
        elif form == 1:
            yield f"{column} in {others}", Literals(tuple(dict.fromkeys(others[: 2 + i % 3]))), Operator.IN
        elif form == 2 and column == "code":
            yield f"{column} like {value[: 2 + i % 3]}%", Literals((f"{value[: 2 + i % 3]}%",), LIKE), Operator.LIKE
        elif form == 2 and kind is not Bloom:
            high = value + int(random.integers(1, 1_001)) if column != "near" else value + len(values) // 50
            yield f"{column} between {value} and {high}", Literals((value, high), BETWEEN), Operator.RANGE
        else:
            yield f"{column} in {others[:2]}", Literals(tuple(dict.fromkeys(others[:2]))), Operator.IN


def foreseen_packs(trial: Trial, asked: Question, built: Built) -> float:
    """Packs of the whole table that one call keeps: those of the sample for sure, of the others the same share."""
    within = asked.bounded[trial.sample.at]
    seen, kept = int(np.count_nonzero(within)), int(np.count_nonzero(trial.kept(asked, built)))
    rest = int(np.count_nonzero(asked.bounded)) - seen
    return kept + rest * (kept / seen if seen else 1.0)


def _case(layout: str, sketch: Sketch, name: str, leaf: Leaf, trial: Trial, index: PackIndex) -> Case:
    packs = trial.packs
    (asked,) = trial.questions(leaf, {(leaf.literals,): 1.0})
    foreseen = foreseen_packs(trial, asked, frozenset((sketch,)))

    def judge(each: Asked) -> Outcome:
        return index.judge(each.column, each.test, np.arange(packs, dtype=np.int64), accepts=False)

    predicate = question(leaf, (leaf.literals,), trial.sample.table.types)
    kept = packs - int(np.count_nonzero(judge_predicate(predicate, judge, packs).reject))
    return Case(layout, type(sketch).__name__, name, foreseen, kept, packs)
