"""The packs of a file list laid end to end, where no footer was read: an index knows them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rtfilter.store.arrays import Bools
from rtfilter.store.packindex.catalog import Located
from rtfilter.store.tables import Verdict


def completed(packs: Verdict, located: Sequence[Located]) -> Verdict:
    """The verdict, with the packs of files whose footers are not known taken from the first index that knows the file.

    Every filter keeps them; whether the file is still the indexed one is for the reader of the verdict to find out.
    """
    counts, source = packs.counts.copy(), np.zeros(len(packs.counts), dtype=np.int64)
    for number, each in enumerate(located, start=1):
        taken = (counts < 0) & (each.counts >= 0)
        counts[taken], source[taken] = each.counts[taken], number
    if not source.any():
        return packs
    source_of = np.repeat(source, np.maximum(counts, 0))
    starts, rows = np.empty(len(source_of), dtype=np.int64), np.empty(len(source_of), dtype=np.int64)
    seen = source_of == 0
    starts[seen], rows[seen] = packs.starts, packs.rows
    for number, each in enumerate(located, start=1):
        own = np.repeat(source == number, np.maximum(each.counts, 0))
        starts[source_of == number], rows[source_of == number] = each.starts[own], each.rows[own]
    keep = tuple(_spread(mask, seen) for mask in packs.keep)
    bounded = tuple(_spread(mask, seen) & seen for mask in packs.bounded)
    return replace(packs, counts=counts, starts=starts, rows=rows, keep=keep, bounded=bounded)


def _spread(mask: Bools, seen: Bools) -> Bools:
    whole: Bools = np.ones(len(seen), dtype=np.bool_)
    whole[seen] = mask
    return whole
