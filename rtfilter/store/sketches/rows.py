"""Sketches of one kind and column over many packs: making rows of them, reading rows back, and the verdict on a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches import bloom, cmap, histogram, min_max, value_set
from rtfilter.store.sketches.arrays import At, Bools, Int64s
from rtfilter.store.sketches.column_tests import AnyValue, NoValue, Values, ValueTest, key_count
from rtfilter.store.sketches.columns import int64_column
from rtfilter.store.sketches.domain import PackValues
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from rtfilter.store.sketches.min_max import LongBounds, StringBounds
from rtfilter.store.sketches.outcomes import Outcome

_FIELDS = {MinMax: min_max.FIELDS, Bloom: bloom.FIELDS, CMap: cmap.FIELDS, ValueSet: value_set.FIELDS, Histogram: histogram.FIELDS}
# Histograms and character maps may look at every key for every pack, at 15 to 500 ns each.
_KEYS_BY_PACKS = 2_000_000


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
    if isinstance(sketch, Histogram):
        return histogram.build(values)
    assert_never(sketch)


@dataclass(frozen=True, slots=True)
class SketchRows:
    """The packs of some record batches.

    `known`: rows and nulls are there and possible. `no_value`: known, and all rows null or none there. `some_null`: known, with a
    null. `told`: known, with values, and the sketch says something of them.
    """

    known: Bools
    no_value: Bools
    some_null: Bools
    told: Bools
    sketch: PackSketch

    def __len__(self) -> int:
        return len(self.known)

    def packs_at_once(self, test: ValueTest) -> int:
        """How many packs can be asked about such that the answer takes no longer than some tenths of a second."""
        if not isinstance(self.sketch, histogram.Histograms | cmap.CMaps):
            return max(1, len(self))
        return max(1, _KEYS_BY_PACKS // key_count(test.values))

    def judge(self, test: ValueTest, at: At, *, accepts: bool = True) -> Outcome:
        """The verdict on the packs numbered `at`; without `accepts` none is found to be accepted, which saves half of the time."""
        may_pass, all_pass = self._values(test, at, accepts and test.exact)
        known, no_value, some_null = self.known[at], self.no_value[at], self.some_null[at]
        reject: Bools = ~may_pass
        reject |= no_value
        reject &= known
        if test.nulls:
            reject &= ~some_null
        if all_pass is None:
            return Outcome(reject, np.zeros(len(reject), dtype=np.bool_))
        accept: Bools = known & (no_value | all_pass)
        if not test.nulls:
            accept &= ~some_null
        return Outcome(reject, accept)

    def _values(self, test: ValueTest, at: At, accepts: bool) -> tuple[Bools, Bools | None]:
        """Whether a value of a pack may pass, and (None: not asked) whether all of them surely do."""
        told = self.told[at]
        if isinstance(test.values, NoValue):
            return np.zeros(len(told), dtype=np.bool_), np.zeros(len(told), dtype=np.bool_) if accepts else None
        if isinstance(test.values, AnyValue):
            return np.ones(len(told), dtype=np.bool_), np.ones(len(told), dtype=np.bool_) if accepts else None
        if isinstance(self.sketch, LongBounds | StringBounds):
            # Cheaper for all packs, next to each other as they are, than for some of them.
            may_pass = self.sketch.might_hold(test.values, at)
            may_pass |= ~told
            return may_pass, told & may_pass & self.sketch.holds_only(test.values, at) if accepts else None
        places = np.flatnonzero(told)
        asked = places + at.start if isinstance(at, slice) else at[places]
        may_pass, all_pass = np.ones(len(told), dtype=np.bool_), np.zeros(len(told), dtype=np.bool_)
        may_pass[places] = self.sketch.might_hold(test.values, asked)
        if accepts:
            all_pass[places] = may_pass[places] & self.sketch.holds_only(test.values, asked)
        return may_pass, all_pass if accepts else None


def load_rows(sketch: Sketch, domain: str, batches: Sequence[Any]) -> SketchRows:
    """Sketches out of record batches of their file.

    Raises:
        ValueError, KeyError, pa.ArrowException: the batches are not what docs/index-format.md says.
    """
    table = pa.Table.from_batches(batches)
    rows, has_rows = int64_column(table["rows"])
    nulls, has_nulls = int64_column(table["nulls"])
    known = has_rows & has_nulls & (rows >= 0) & (nulls >= 0) & (nulls <= rows)
    no_value = known & (nulls == rows)
    loaded = _loaded(sketch, domain, batches)
    told = known & ~no_value & loaded.valid
    return SketchRows(known, no_value, known & (nulls > 0), told, loaded)


def _loaded(sketch: Sketch, domain: str, batches: Sequence[Any]) -> PackSketch:
    if isinstance(sketch, MinMax):
        return min_max.load(batches, domain)
    if isinstance(sketch, Bloom):
        return bloom.load(batches, domain, sketch.fpp)
    if isinstance(sketch, CMap):
        return cmap.load(batches, domain)
    if isinstance(sketch, ValueSet):
        return value_set.load(batches, domain)
    if isinstance(sketch, Histogram):
        return histogram.load(batches, domain)
    assert_never(sketch)
