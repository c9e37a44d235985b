"""One column over all packs of a table: file by file, and pack by pack in blocks. Only blocks with undecided files are looked into.

A file's bounds are around those of its packs, so what rejects a file rejects every pack of it: the verdict is the one that packs
alone would give. A table of one block has no bounds of files: its packs are judged at once.

Measured: 20 bytes a pack for whole numbers and strings of up to 8 bytes, 18 where no pack is unknown or none may hold a null, 16
where neither is so; and 40 bytes a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rtfilter.store.bounds.filters import KeyFilter
from rtfilter.store.bounds.verdicts import PackBounds, might_match, pack_bounds
from rtfilter.store.parquet.arrays import Bools, Int64s, Levels

# Packs of a block: their numbers in it take two bytes each, and its arrays stay in the processor's cache.
BLOCK_PACKS = 1 << 16
# Packs of a part, about: what is needed to make the bounds of its files is a few times as much as its arrays.
PART_PACKS = 16 * BLOCK_PACKS
_FLAGS = ("has_bounds", "all_null", "nulls")


@dataclass(frozen=True, slots=True)
class Part:
    """Some files of a table, whole: the packs of each, and all their packs in list order as `pack_bounds` has them."""

    counts: npt.NDArray[np.int32]
    lows: Levels
    highs: Levels
    has_bounds: Bools
    all_null: Bools
    nulls: Bools

    def packs(self, span: slice, hidden: int | None) -> PackBounds:
        lows, highs = (tuple(level[span] for level in levels) for levels in (self.lows, self.highs))
        return pack_bounds(lows, highs, self.has_bounds[span], self.all_null[span], self.nulls[span], hidden)


@dataclass(frozen=True, slots=True)
class TableBounds:
    """`first_packs`: where each block begins, and the number of all packs at the end. `files`: None for a table of one block.

    A file of `files` is unknown where one of its packs is; one without packs holds nothing. `first_blocks`, `last_blocks`: where
    the packs of each file are.
    """

    blocks: tuple[PackBounds, ...]
    first_packs: Int64s
    files: PackBounds | None
    first_blocks: npt.NDArray[np.int32]
    last_blocks: npt.NDArray[np.int32]
    value_span: int | None

    @property
    def unknown(self) -> Bools:
        """The packs of which nothing is known."""
        return self.blocks[0].unknown if self.files is None else np.concatenate([block.unknown for block in self.blocks])

    @property
    def memory_bytes(self) -> int:
        of_files = 0 if self.files is None else self.files.memory_bytes + self.first_blocks.nbytes + self.last_blocks.nbytes
        return of_files + self.first_packs.nbytes + sum(block.memory_bytes for block in self.blocks)


def parts_of(whole: Part) -> Iterator[Part]:
    """A table cut into parts of whole files, about PART_PACKS packs each; at least one."""
    ends = np.cumsum(whole.counts, dtype=np.int64)
    packs = len(whole.has_bounds)
    # A part ends with the file that has a part's last pack.
    last_files = np.searchsorted(ends, np.arange(PART_PACKS, packs, PART_PACKS))
    borders = [0, *np.unique(last_files + 1).tolist(), len(ends)]
    for first, end in itertools.pairwise(borders):
        if end == first and first:
            continue
        span = slice(int(ends[first - 1]) if first else 0, int(ends[end - 1]) if end else 0)
        lows, highs = (tuple(level[span] for level in levels) for levels in (whole.lows, whole.highs))
        yield Part(whole.counts[first:end], lows, highs, whole.has_bounds[span], whole.all_null[span], whole.nulls[span])


def table_bounds(parts: Iterable[Part], hidden: int | None = None) -> TableBounds:
    """The bounds of a table out of its parts, in list order; at least one. `hidden`: as PackBounds has it."""
    blocks: list[PackBounds] = []
    first_packs = [0]
    of_files: list[Part] = []
    for part in parts:
        packs = len(part.has_bounds)
        for begin in range(0, packs, BLOCK_PACKS):
            end = min(begin + BLOCK_PACKS, packs)
            block = part.packs(slice(begin, end), hidden)
            blocks.append(replace(block, bounded=block.bounded.astype(np.uint16)))
            first_packs.append(first_packs[-1] + end - begin)
        of_files.append(bounds_of_files(part))
    return _table(blocks, np.array(first_packs, dtype=np.int64), of_files, hidden)


def _table(blocks: list[PackBounds], first_packs: Int64s, of_files: list[Part], hidden: int | None) -> TableBounds:
    files = _end_to_end(of_files)
    if len(blocks) <= 1:
        blocks = blocks or [files.packs(slice(0), hidden)]
        none = np.zeros(0, dtype=np.int32)
        return TableBounds(tuple(blocks), first_packs, None, none, none, blocks[0].value_span)
    ends = np.cumsum(files.counts, dtype=np.int64)
    first_blocks, last_blocks = (
        (np.searchsorted(first_packs, packs, "right") - 1).astype(np.int32) for packs in (ends - files.counts, ends - 1)
    )
    bounds = files.packs(slice(None), hidden)
    bounds = replace(bounds, bounded=bounds.bounded.astype(np.int32))
    return TableBounds(tuple(blocks), first_packs, bounds, first_blocks, last_blocks, _span(blocks))


def table_might_match(table: TableBounds, keys: KeyFilter) -> Bools:
    """For each pack, whether it may hold a value that the filter lets through. Always a new array.

    Raises:
        ValueError: packs with bounds in one domain of keys, a filter in the other.
    """
    if table.files is None:
        return might_match(table.blocks[0], keys)
    kept = np.zeros(int(table.first_packs[-1]), dtype=np.bool_)
    for number in _undecided_blocks(table, might_match(table.files, keys)):
        kept[table.first_packs[number] : table.first_packs[number + 1]] = might_match(table.blocks[number], keys)
    return kept


def _span(blocks: list[PackBounds]) -> int | None:
    with_span = [block for block in blocks if block.value_span is not None]
    if not with_span:
        return None
    return max(int(block.highs[0].max()) for block in with_span) - min(int(block.lows[0][0]) for block in with_span) + 1


def _undecided_blocks(table: TableBounds, undecided: Bools) -> list[int]:
    """The blocks that hold a pack of these files."""
    count = len(table.blocks)
    begun = np.bincount(table.first_blocks[undecided], minlength=count + 1)
    ended = np.bincount(table.last_blocks[undecided] + 1, minlength=count + 1)
    found: list[int] = np.flatnonzero(np.cumsum(begun - ended)[:count] > 0).tolist()
    return found


def bounds_of_files(part: Part) -> Part:
    """The bounds of a part's files, in the form of packs: a file stands for one."""
    ends = np.cumsum(part.counts, dtype=np.int64)
    begins = ends - part.counts
    is_unknown = ~(part.has_bounds | part.all_null)
    bounded, unknown, nulls = (_any(mask, begins, ends) for mask in (part.has_bounds, is_unknown, part.nulls))
    lows, highs = (tuple(np.zeros(len(ends), dtype=level.dtype) for level in levels) for levels in (part.lows, part.highs))
    files, packs = np.flatnonzero(bounded), np.flatnonzero(part.has_bounds)
    if len(files):
        # Where the packs with bounds of each of these files begin among all that have some.
        firsts = np.searchsorted(packs, begins[files])
        for whole, levels, end in ((lows, part.lows, np.minimum), (highs, part.highs, np.maximum)):
            for level, found in zip(whole, _extremes(tuple(level[packs] for level in levels), firsts, end), strict=True):
                level[files] = found
    return Part(part.counts, lows, highs, bounded & ~unknown, ~bounded & ~unknown, nulls)


def _any(mask: Bools, begins: Int64s, ends: Int64s) -> Bools:
    """For each span of the mask whether it is true anywhere in it."""
    running = np.zeros(len(mask) + 1, dtype=np.int64)
    np.cumsum(mask, out=running[1:])
    found: Bools = running[begins] != running[ends]
    return found


def _extremes(levels: Levels, firsts: npt.NDArray[np.intp], end: np.ufunc) -> Levels:
    """The least or the greatest (`end`: minimum or maximum) of each run of values; a run ends where the next one begins."""
    found = [end.reduceat(levels[0], firsts)]
    if len(levels) > 1:
        lengths = np.diff(firsts, append=len(levels[0]))
        limits = np.iinfo(levels[0].dtype)
        worst = limits.max if end is np.minimum else limits.min
        tied: Bools = np.ones(len(levels[0]), dtype=np.bool_)
        for before, level in itertools.pairwise(levels):
            tied &= before == np.repeat(found[-1], lengths)
            found.append(end.reduceat(np.where(tied, level, worst), firsts))
    return tuple(found)


def _end_to_end(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    lows, highs = (
        tuple(np.concatenate(level) for level in zip(*levels, strict=True))
        for levels in ([part.lows for part in parts], [part.highs for part in parts])
    )
    has_bounds, all_null, nulls = (np.concatenate([getattr(part, name) for part in parts]) for name in _FLAGS)
    return Part(np.concatenate([part.counts for part in parts]), lows, highs, has_bounds, all_null, nulls)
