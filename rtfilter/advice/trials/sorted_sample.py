"""The rows of sampled packs in another order: which packs the bounds in footers would leave to a query if the table were sorted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.advice.trials.trial import Question
from rtfilter.store.sketches.domain import LONG, domain_of, pack_values
from rtfilter.store.sketches.kinds import MinMax
from rtfilter.store.sketches.outcomes import Outcome, partial
from rtfilter.store.sketches.predicates import Leaf, judge_predicate
from rtfilter.store.sketches.rows import SketchRows, load_rows, sketch_row, sketch_schema

# Rows in all; and of each pack in the new order, so that its bounds are about those of a whole one.
MOST_ROWS, PACK_ROWS = 131_072, 512


@dataclass(frozen=True, slots=True, eq=False)
class SortedSample:
    """Bounds, by column, of the packs that a sorted copy would have; `packs`: how many these are."""

    packs: int
    bounds: Mapping[str, SketchRows]

    def kept_share(self, questions: Sequence[Question]) -> float:
        """The share of the copy's packs that its footers leave to some calls; 1 for none."""
        if not questions or not self.packs:
            return 1.0

        def judge(leaf: Leaf) -> Outcome:
            known = self.bounds.get(leaf.column)
            return partial(self.packs) if known is None else known.judge(leaf.test, slice(0, self.packs), accepts=False)

        rejects = (each.weight * float(judge_predicate(each.predicate, judge, self.packs).reject.mean()) for each in questions)
        return 1.0 - math.fsum(rejects)


def sample_rows(sample: PackSample, columns: Sequence[str]) -> Any | None:
    """Rows of all sampled packs, about equally many of each; None where one can't be read."""
    if not len(sample.at):
        return None
    most = max(1, MOST_ROWS // len(sample.at))
    parts = []
    try:
        for place in sample.at.tolist():
            pack = sample.table.packs[place]
            with pq.ParquetFile(pack.file.local, coerce_int96_timestamp_unit="us") as file:
                table = file.read_row_group(pack.number, columns=list(columns), use_threads=False).select(list(columns))
            # Spread over the pack: those next to each other are alike.
            rows = np.unique(np.linspace(0, max(0, len(table) - 1), min(most, len(table))).astype(np.int64))
            parts.append(table.take(pa.array(rows)))
        return pa.concat_tables(parts)
    except (pa.ArrowException, OSError, KeyError):
        return None


def sorted_by(rows: Any, column: str, types: Mapping[str, str], packs: int, ends: Mapping[str, Ends]) -> SortedSample:
    """The rows sorted by a column and cut into as many packs as the table has, or fewer, of some hundred rows each."""
    order = pc.sort_indices(rows, sort_keys=[(column, "ascending")])
    ordered = rows.take(order)
    count = _pack_count(rows, packs)
    cuts = [i * len(rows) // count for i in range(count + 1)]
    # Of the column that they are sorted by, packs have the values that they have.
    widest = {name: None if name == column else ends.get(name) for name in types}
    bounds = {name: _bounds(ordered.column(name), type_, cuts, widest[name]) for name, type_ in types.items()}
    return SortedSample(count, bounds)


def _bounds(column: Any, type_: str, cuts: Sequence[int], ends: Ends | None) -> SketchRows:
    sketch, domain = MinMax("bounds"), domain_of(type_) or LONG
    rows = [
        sketch_row(sketch, pack_values(column.slice(begin, end - begin), type_, distinct=False)) for begin, end in pairwise(cuts)
    ]
    if ends is not None:
        rows = [ends.widened(row) for row in rows]
    return load_rows(sketch, domain, [pa.RecordBatch.from_pylist(rows, schema=sketch_schema(sketch, domain))])


@dataclass(frozen=True, slots=True)
class Ends:
    """Of all values of a column the lowest and the highest, and how far from them those of a pack may lie to be taken for them."""

    lowest: Any
    near_lowest: Any
    near_highest: Any
    highest: Any

    def widened(self, row: dict[str, Any]) -> dict[str, Any]:
        """Whole packs have more rows than those here, so their bounds lie further out.

        A pack whose lowest value is among the lowest of all, as it is where values lie at random, is given the lowest of all; the
        same with the highest. Of a column that goes with the order only the outer packs change.
        """
        if row.get("low") is None:
            return row
        low = self.lowest if row["low"] <= self.near_lowest else row["low"]
        return {**row, "low": low, "high": self.highest if row["high"] >= self.near_highest else row["high"]}


def ends_of(rows: Any, types: Mapping[str, str], packs: int) -> dict[str, Ends]:
    """The ends of each column. Of 512 values at random the lowest is among the lowest 4 / 512 of all in 98 of 100 cases."""
    found = {}
    place = 4 * _pack_count(rows, packs)
    for name, type_ in types.items():
        values = pack_values(rows.column(name), type_, distinct=False)
        known = None if values is None else values.longs if values.longs is not None else list(values.strings or ())
        if known is not None and len(known):
            ordered = sorted(known) if isinstance(known, list) else np.sort(known).tolist()
            at = min(place, len(ordered) - 1)
            found[name] = Ends(ordered[0], ordered[at], ordered[-1 - at], ordered[-1])
    return found


def _pack_count(rows: Any, packs: int) -> int:
    return max(1, min(packs, len(rows) // PACK_ROWS))
