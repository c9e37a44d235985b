"""Keys of joins: a log tells how many a runtime filter had, not which. As many values of the column stand for them.

They are drawn from all distinct values alike, since the other side of a join has each key once. Where only some packs were looked
at they hold a part of the values: so many of the keys are drawn from them, and the others are values that these packs do not have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.column_tests import ValueTest, byte_keys, long_keys
from rtfilter.store.sketches.domain import LONG, domain_of, pack_values
from rtfilter.store.sketches.predicates import Leaf

# Of more keys nothing is said: an index finds one of them in nearly every pack, if only by mistake.
MOST_KEYS = 4_096
# Few keys are drawn several times.
KEYS_IN_ALL, MOST_DRAWS = 256, 16


@dataclass(frozen=True, slots=True, eq=False)
class ColumnKeys:
    """The distinct values of a column in the sampled packs. `longs`: they as sorted keys, None for texts. `share`: which part of
    the table's distinct values they are."""

    column: str
    type: str
    values: Any
    longs: Int64s | None
    share: float

    def draws(self, count: int) -> list[Leaf]:
        """So many keys, some times over; none where values have no keys."""
        random = np.random.default_rng(count)
        times = max(1, min(MOST_DRAWS, KEYS_IN_ALL // count))
        found = (self._draw(count, random) for _ in range(times))
        return [each for each in found if each is not None]

    def _draw(self, count: int, random: np.random.Generator) -> Leaf | None:
        known = len(self.values) if self.longs is None else len(self.longs)
        expected = min(float(known), count * self.share)
        # Of one key and a half there are now one, now two.
        there = math.floor(expected) + int(random.random() < expected % 1)
        others = max(0, count - there)
        at = np.sort(random.choice(known, min(known, max(1, there)), replace=False))
        if self.longs is not None:
            strange = _strange(self.longs, others, random)
            keys = np.concatenate([self.longs[at][:there], strange])
            return Leaf(self.column, self.type, ValueTest(long_keys(keys.tolist()))) if len(keys) else None
        drawn = pack_values(pa.chunked_array([self.values.take(pa.array(at))]), self.type)
        if drawn is None or drawn.strings is None:
            return None
        texts = list(drawn.strings)
        strange_texts = [texts[i % len(texts)] + b"~" + str(i).encode() for i in range(others)]
        return Leaf(self.column, self.type, ValueTest(byte_keys([*texts[:there], *strange_texts])))


def _strange(known: Int64s, count: int, random: np.random.Generator) -> Int64s:
    """Numbers between the least and the greatest known one that are not among these; fewer where there are none left."""
    tried = np.unique(random.integers(int(known[0]), int(known[-1]), 8 * count, endpoint=True, dtype=np.int64))
    strange = tried[known[np.searchsorted(known, tried)] != tried]
    return random.permutation(strange)[:count]


def column_keys(sample: PackSample, column: str, distinct: float | None) -> ColumnKeys | None:
    """The values of the sampled packs. `distinct`: how many the table has. None where they can't be read, or have no keys."""
    parts = []
    type_ = sample.table.types[column]
    try:
        for place in sample.at.tolist():
            pack = sample.table.packs[place]
            with pq.ParquetFile(pack.file.local, coerce_int96_timestamp_unit="us") as file:
                read = file.read_row_group(pack.number, columns=[column], use_threads=False).column(column)
            parts.append(pc.unique(read).drop_null())
        values = pc.unique(pa.chunked_array(parts).combine_chunks()) if parts else []
        is_long = domain_of(type_) == LONG
        found = pack_values(pa.chunked_array([values]), type_) if is_long and len(values) else None
    except (pa.ArrowException, OSError, KeyError):
        return None
    longs = None if found is None or found.longs is None else np.sort(found.longs)
    if not len(values) or (is_long and longs is None):
        return None
    whole = len(sample.at) == len(sample.table.packs)
    share = 1.0 if whole or not distinct else min(1.0, len(values) / distinct)
    return ColumnKeys(column, type_, values, longs, share)
