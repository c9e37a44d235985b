"""Sketches of one kind and column over many packs: making rows of them, reading rows back, and the verdict on a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches import bloom, cmap, histogram, min_max, value_set
from rtfilter.store.sketches.arrays import Bools, Int64s
from rtfilter.store.sketches.asked import AnyValue, NoValue, Values, ValueTest
from rtfilter.store.sketches.columns import int64_column
from rtfilter.store.sketches.domain import PackValues
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from rtfilter.store.sketches.outcomes import Outcome

_FIELDS = {MinMax: min_max.FIELDS, Bloom: bloom.FIELDS, CMap: cmap.FIELDS, ValueSet: value_set.FIELDS, Histogram: histogram.FIELDS}


class PackSketch(Protocol):
    """What every kind answers about packs (by number) that have values; `valid` is false where its row says nothing."""

    @property
    def valid(self) -> Bools: ...

    def might_hold(self, values: Values, at: Int64s) -> Bools: ...

    def holds_only(self, values: Values, at: Int64s) -> Bools: ...


def sketch_schema(sketch: Sketch, domain: str) -> Any:
    """The Parquet schema of a sketch file. Every kind has rows and nulls of the pack; both null: nothing is known of it."""
    return pa.schema([("rows", pa.int64()), ("nulls", pa.int64()), *_FIELDS[type(sketch)][domain]])


def sketch_row(sketch: Sketch, values: PackValues | None) -> dict[str, Any]:
    """The row of one pack; None: nothing is known of it."""
    if values is None:
        return {}
    return {"rows": values.rows, "nulls": values.nulls, **_built(sketch, values)}


def _built(sketch: Sketch, values: PackValues) -> dict[str, Any]:
    if isinstance(sketch, MinMax):
        return min_max.build(values)
    if isinstance(sketch, Bloom):
        return bloom.build(values, sketch.fpp)
    if isinstance(sketch, CMap):
        return cmap.build(values)
    if isinstance(sketch, ValueSet):
        return value_set.build(values, sketch.max)
    return histogram.build(values)


@dataclass(frozen=True, slots=True)
class SketchRows:
    """The packs of some record batches. `known`: rows and nulls are there and possible."""

    rows: Int64s
    nulls: Int64s
    known: Bools
    sketch: PackSketch

    def judge(self, test: ValueTest, at: Int64s) -> Outcome:
        """The verdict on the packs numbered `at`."""
        known, rows, nulls = self.known[at], self.rows[at], self.nulls[at]
        no_value = known & (nulls == rows)
        may_pass, all_pass = self._values(test, at, known & ~no_value)
        passing_null: Bools = (nulls > 0) if test.nulls else np.zeros(len(at), dtype=np.bool_)
        nulls_pass: Bools = np.ones(len(at), dtype=np.bool_) if test.nulls else (nulls == 0)
        reject = known & ~passing_null & (no_value | ~may_pass)
        accept = known & nulls_pass & (no_value | all_pass)
        return Outcome(reject, accept)

    def _values(self, test: ValueTest, at: Int64s, some: Bools) -> tuple[Bools, Bools]:
        """For packs with values: whether one of them may pass, and whether all of them surely do."""
        if isinstance(test.values, NoValue):
            return np.zeros(len(at), dtype=np.bool_), np.zeros(len(at), dtype=np.bool_)
        if isinstance(test.values, AnyValue):
            return np.ones(len(at), dtype=np.bool_), np.full(len(at), test.exact, dtype=np.bool_)
        may_pass, all_pass = np.ones(len(at), dtype=np.bool_), np.zeros(len(at), dtype=np.bool_)
        told = np.flatnonzero(some & self.sketch.valid[at])
        may_pass[told] = self.sketch.might_hold(test.values, at[told])
        if test.exact:
            all_pass[told] = may_pass[told] & self.sketch.holds_only(test.values, at[told])
        return may_pass, all_pass


def load_rows(sketch: Sketch, domain: str, batches: Sequence[Any]) -> SketchRows:
    """Sketches out of record batches of their file.

    Raises:
        ValueError, KeyError, pa.ArrowException: the batches are not what docs/index-format.md says.
    """
    table = pa.Table.from_batches(batches)
    rows, has_rows = int64_column(table["rows"])
    nulls, has_nulls = int64_column(table["nulls"])
    known = has_rows & has_nulls & (rows >= 0) & (nulls >= 0) & (nulls <= rows)
    return SketchRows(rows, nulls, known, _loaded(sketch, domain, batches))


def _loaded(sketch: Sketch, domain: str, batches: Sequence[Any]) -> PackSketch:
    if isinstance(sketch, MinMax):
        return min_max.load(batches, domain)
    if isinstance(sketch, Bloom):
        return bloom.load(batches, domain, sketch.fpp)
    if isinstance(sketch, CMap):
        return cmap.load(batches, domain)
    if isinstance(sketch, ValueSet):
        return value_set.load(batches, domain)
    return histogram.load(batches, domain)
