"""What Spark itself leaves out of the packs that bounds in footers keep: by dictionaries and Bloom filters of the table's files.

For a condition that it pushes down Spark reads the dictionary of a chunk first, where all of its pages are encoded by one. Where no
value passes, that is all that it reads of the pack. So an index saves the dictionary there, and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.advice.statistics.packs_held import LONGEST_LIST, READ_AT_ONCE
from rtfilter.store.bounds.chunk_filters import ChunkFilter, chunk_filters
from rtfilter.store.parquet.footer_digest import read_tail
from rtfilter.store.sketches.arrays import Bools
from rtfilter.store.sketches.column_tests import ByteKeys, LongKeys
from rtfilter.store.sketches.outcomes import Outcome, agreed, partial
from rtfilter.store.sketches.predicates import Leaf, Predicate, judge_predicate

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SparksOwn:
    """By column what Spark reads of each pack of a sample to find that no value passes, in bytes; infinite where it has nothing."""

    costs: Mapping[str, Floats]


def sparks_own(sample: PackSample) -> SparksOwn:
    """Reads the footers of the sampled packs' files; nothing is known of a file that is gone or damaged."""
    by_file: dict[str, list[dict[str, ChunkFilter]]] = {}
    costs = {column: np.full(len(sample.at), np.inf) for column in sample.table.types}
    for number, place in enumerate(sample.at.tolist()):
        pack = sample.table.packs[place]
        if pack.file.local not in by_file:
            by_file[pack.file.local] = _filters(pack.file.local, pack.file.size_bytes)
        groups = by_file[pack.file.local]
        for column, cost in costs.items():
            found = groups[pack.number].get(column) if pack.number < len(groups) else None
            if found is not None and found.bytes is not None:
                cost[number] = max(found.bytes, READ_AT_ONCE)
    return SparksOwn(costs)


def _filters(path: str, size_bytes: int) -> list[dict[str, ChunkFilter]]:
    try:
        with open(path, "rb") as file:
            return chunk_filters(read_tail(file, size_bytes))
    except (OSError, ValueError, IndexError):
        return []


def left_out(predicate: Predicate, sample: PackSample, own: SparksOwn) -> Floats:
    """What Spark reads of each sampled pack where it leaves the pack out by itself; infinite where it does not.

    Whether a value is in a dictionary is told by the sketches of the column together. They never say that it is not there where it
    is, so this is the least that Spark leaves out.
    """
    cost = np.full(len(sample.at), np.inf)

    def judge(leaf: Leaf) -> Outcome:
        mine = own.costs.get(leaf.column)
        if mine is None or _is_long_list(leaf):
            return partial(len(sample.at))
        outcomes = (
            rows.judge(leaf.test, slice(0, len(mine)), accepts=False)
            for sketch, rows in sample.sketches.items()
            if sketch.column == leaf.column
        )
        rejects = agreed(outcomes, len(mine)).reject & np.isfinite(mine)
        np.minimum(cost, np.where(rejects, mine, np.inf), out=cost)
        return Outcome(rejects, np.zeros_like(rejects))

    rejected: Bools = judge_predicate(predicate, judge, len(sample.at)).reject
    return np.where(rejected, cost, np.inf)


def _is_long_list(leaf: Leaf) -> bool:
    values = leaf.test.values
    return isinstance(values, LongKeys | ByteKeys) and len(values.keys) > LONGEST_LIST
