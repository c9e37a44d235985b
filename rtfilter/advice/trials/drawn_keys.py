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
from rtfilter.store.sketches.domain import pack_values
from rtfilter.store.sketches.predicates import Leaf

# Of more keys nothing is said: an index finds one of them in nearly every pack, if only by mistake.
MOST_KEYS = 4_096
# Few keys are drawn several times.
KEYS_IN_ALL, MOST_DRAWS = 256, 16


@dataclass(frozen=True, slots=True, eq=False)
class ColumnKeys:
    """The distinct values of a column in the sampled packs. `share`: which part of the table's distinct values they are."""

    column: str
    type: str
    values: Any
    share: float

    def draws(self, count: int) -> list[Leaf]:
        """So many keys, some times over; none where values have no keys."""
        random = np.random.default_rng(count)
        times = max(1, min(MOST_DRAWS, KEYS_IN_ALL // count))
        found = (self._draw(count, random) for _ in range(times))
        return [each for each in found if each is not None]

    def _draw(self, count: int, random: np.random.Generator) -> Leaf | None:
        expected = min(float(len(self.values)), count * self.share)
        # Of one key and a half there are now one, now two.
        there = math.floor(expected) + int(random.random() < expected % 1)
        at = np.sort(random.choice(len(self.values), min(len(self.values), max(1, there)), replace=False))
        drawn = pack_values(pa.chunked_array([self.values.take(pa.array(at))]), self.type)
        if drawn is None:
            return None
        others = max(0, count - there)
        if drawn.strings is not None:
            texts = list(drawn.strings)
            strange = [texts[i % len(texts)] + b"~" + str(i).encode() for i in range(others)]
            return Leaf(self.column, self.type, ValueTest(byte_keys([*(texts if there else []), *strange])))
        longs = drawn.longs if drawn.longs is not None else np.zeros(0, np.int64)
        keys = np.concatenate([longs if there else longs[:0], self._strange_longs(others, random)])
        return Leaf(self.column, self.type, ValueTest(long_keys(keys.tolist()))) if len(keys) else None

    def _strange_longs(self, count: int, random: np.random.Generator) -> Int64s:
        """Numbers between the least and the greatest value that the sampled packs do not have; fewer where there are none left."""
        known = pack_values(pa.chunked_array([self.values]), self.type) if count else None
        if known is None or known.longs is None or not len(known.longs):
            return np.zeros(0, np.int64)
        low, high = int(known.longs.min()), int(known.longs.max())
        tried = np.unique(random.integers(low, high, 8 * count, endpoint=True, dtype=np.int64))
        strange = tried[~np.isin(tried, known.longs)]
        return random.permutation(strange)[:count]


def column_keys(sample: PackSample, column: str, distinct: float | None) -> ColumnKeys | None:
    """The values of the sampled packs. `distinct`: how many the table has. None where they can't be read, or there is none."""
    parts = []
    try:
        for place in sample.at.tolist():
            pack = sample.table.packs[place]
            with pq.ParquetFile(pack.file.local, coerce_int96_timestamp_unit="us") as file:
                read = file.read_row_group(pack.number, columns=[column], use_threads=False).column(column)
            parts.append(pc.unique(read).drop_null())
        values = pc.unique(pa.chunked_array(parts).combine_chunks()) if parts else []
    except (pa.ArrowException, OSError, KeyError):
        return None
    if not len(values):
        return None
    whole = len(sample.at) == len(sample.table.packs)
    share = 1.0 if whole or not distinct else min(1.0, len(values) / distinct)
    return ColumnKeys(column, sample.table.types[column], values, share)
