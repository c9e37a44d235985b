"""How many packs hold a value of a column, and which of them Spark itself leaves out by their dictionaries: of sampled packs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.store.bounds.chunk_filters import ChunkFilter, chunk_filters
from rtfilter.store.parquet.footer_digest import read_tail

MOST_POINTS = 2_000
# Spark reads from Hadoop's streams through a buffer of so many bytes (io.file.buffer.size).
READ_AT_ONCE = 65_536
# spark.sql.parquet.pushdown.inFilterThreshold: of a longer list only its least and greatest value are pushed down.
LONGEST_LIST = 10


def points_of(values: Sequence[pa.Array]) -> list[pa.Array]:
    """Values that are spread over the rows of each pack, as often as they are there: of all packs about `MOST_POINTS`."""
    each = max(1, MOST_POINTS // max(1, len(values)))
    found = []
    for pack in values:
        known = pack.drop_null()
        count = min(each, len(known))
        found.append(known.take(pa.array([(2 * i + 1) * len(known) // (2 * count) for i in range(count)], pa.int64())))
    return found


def held_by(values: Sequence[pa.Array], packs: int) -> float | None:
    """How many of all packs hold a value, on average over sampled rows; None where one pack of many was looked at.

    The pack of the row itself does, and the other sampled ones speak for the rest.
    """
    points = [each for each in points_of(values) if len(each)]
    if not points or (len(values) < 2 and packs > 1):
        return None
    asked = pa.chunked_array(points).combine_chunks()
    holding = np.zeros(len(asked))
    try:
        for pack in values:
            holding += np.asarray(pc.is_in(asked, value_set=pack.drop_null()))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    others = (float(holding.mean()) - 1) / (len(values) - 1) if len(values) > 1 else 0.0
    return round(1 + others * (packs - 1), 3)


def dictionaries(sample: Iterable[tuple[Path, int]]) -> dict[str, tuple[float, int | None]]:
    """By column the share of sampled packs, as (file, number), whose dictionary or Bloom filter Spark asks before it reads, and the
    bytes of one on average. Columns of which nothing can be told are left out."""
    footers: dict[Path, list[dict[str, ChunkFilter]]] = {}
    found: list[dict[str, ChunkFilter]] = []
    for file, number in sample:
        if file not in footers:
            footers[file] = _filters(file)
        if number >= len(footers[file]):
            return {}
        found.append(footers[file][number])
    columns = set[str]().union(*found) if found else set()
    return {column: _share([each[column].bytes if column in each else None for each in found]) for column in sorted(columns)}


def _share(sizes: Sequence[int | None]) -> tuple[float, int | None]:
    known = [size for size in sizes if size is not None]
    return round(len(known) / len(sizes), 4), round(sum(known) / len(known)) if known else None


def _filters(file: Path) -> list[dict[str, ChunkFilter]]:
    try:
        with file.open("rb") as content:
            return chunk_filters(read_tail(content, file.stat().st_size))
    except (OSError, ValueError, IndexError):
        return []
