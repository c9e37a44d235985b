"""The packs of a file list laid end to end, where no footer was read: an index knows them too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rtfilter.store.index_files.catalog import Located
from rtfilter.store.parquet.arrays import Bools
from rtfilter.store.tables.verdict import Verdict


def completed(packs: Verdict, located: Sequence[Located]) -> Verdict:
    """The verdict, with packs of files whose footers are not known, or only as a whole, taken from the first index that has them.

    Every filter keeps them, unless it rejects the whole file; whether the file is still the indexed one is for the reader of the
    verdict to find out.
    """
    counts, source = packs.counts.copy(), np.zeros(len(packs.counts), dtype=np.int64)
    whole = np.zeros(len(counts), dtype=np.bool_) if packs.whole is None else packs.whole
    for number, each in enumerate(located, start=1):
        taken = ((counts < 0) | whole) & (source == 0) & (each.counts >= 0)
        counts[taken], source[taken] = each.counts[taken], number
    if not source.any():
        return packs
    source_of = np.repeat(source, np.maximum(counts, 0))
    starts, rows = np.empty(len(source_of), dtype=np.int64), np.empty(len(source_of), dtype=np.int64)
    seen = source_of == 0
    stays = np.repeat(source == 0, np.maximum(packs.counts, 0))
    starts[seen], rows[seen] = packs.starts[stays], packs.rows[stays]
    for number, each in enumerate(located, start=1):
        own = np.repeat(source == number, np.maximum(each.counts, 0))
        starts[source_of == number], rows[source_of == number] = each.starts[own], each.rows[own]
    # What was known of a whole file holds for each of its packs.
    widened = whole & (source > 0)
    in_widened = np.repeat(widened, np.maximum(counts, 0))
    of_widened = np.repeat(widened, np.maximum(packs.counts, 0))

    def spread(mask: Bools) -> Bools:
        spread: Bools = np.ones(len(seen), dtype=np.bool_)
        spread[seen] = mask[stays]
        spread[in_widened] = np.repeat(mask[of_widened], counts[widened])
        return spread

    keep = tuple(map(spread, packs.keep))
    bounded = tuple(spread(mask) & (seen | in_widened) for mask in packs.bounded)
    left = whole & ~widened
    return replace(packs, counts=counts, starts=starts, rows=rows, keep=keep, bounded=bounded, whole=left if left.any() else None)
