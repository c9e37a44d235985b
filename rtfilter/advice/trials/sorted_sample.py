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

from rtfilter.advice.trials.pack_sample import PackSample
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


def sorted_by(rows: Any, column: str, types: Mapping[str, str], packs: int) -> SortedSample:
    """The rows sorted by a column and cut into as many packs as the table has, or fewer, of some hundred rows each."""
    order = pc.sort_indices(rows, sort_keys=[(column, "ascending")])
    ordered = rows.take(order)
    count = max(1, min(packs, len(rows) // PACK_ROWS))
    cuts = [i * len(rows) // count for i in range(count + 1)]
    return SortedSample(count, {name: _bounds(ordered.column(name), type_, cuts) for name, type_ in types.items()})


def _bounds(column: Any, type_: str, cuts: Sequence[int]) -> SketchRows:
    sketch, domain = MinMax("bounds"), domain_of(type_) or LONG
    rows = [
        sketch_row(sketch, pack_values(column.slice(begin, end - begin), type_, distinct=False)) for begin, end in pairwise(cuts)
    ]
    return load_rows(sketch, domain, [pa.RecordBatch.from_pylist(rows, schema=sketch_schema(sketch, domain))])
