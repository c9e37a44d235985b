"""The verdict on the packs of one file list: what filters keep of them, and what each filter does alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rtfilter.store.bounds.filters import KeyFilter
from rtfilter.store.parquet.arrays import Bools, Int64s


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filled filter on a column: name and type as Spark has them (`int`, `decimal(7,2)`, `string` ...).

    `bloom`: where `keys` are ranges around the real keys, these as the words of a split-block bloom filter; indexes can be held
    against it (docs/index-format.md has its layout).
    """

    column: str
    type: str
    keys: KeyFilter
    bloom: npt.NDArray[np.uint32] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PackFigures:
    """What one filter alone does to the known packs. `value_span`: highest minus lowest bound plus 1, None without bounds
    and for byte strings. `packs_bounded`: those of which footers tell bounds of the column, or that all is null.
    `column_problem`: the first file in which the column can't be understood, and why."""

    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    value_span: int | None
    packs_bounded: int
    column_problem: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The packs of one file list under some filters.

    `counts` (int32): packs per file in list order, -1 for a file that is not known and is read whole. `starts` and `rows` (int64)
    and each mask of `keep` and `bounded` (one per filter, in the order asked) have an entry per pack of the known files, in list
    order. `problem`: what is the matter with the first unknown file whose footer can't be used, empty where none is known to be so.
    `column_problems`: for each filter the same of its column. `whole`: files that count here as one pack, because only bounds
    around all their packs are held (whole_files.py); None where there are none.
    """

    counts: npt.NDArray[np.int32]
    starts: Int64s
    rows: Int64s
    keep: tuple[Bools, ...]
    value_spans: tuple[int | None, ...]
    bounded: tuple[Bools, ...] = ()
    problem: str = ""
    column_problems: tuple[str, ...] = ()
    whole: Bools | None = None

    def for_reading(self, keep: Bools) -> tuple[npt.NDArray[np.int32], Int64s, Bools]:
        """`counts`, `starts` and the mask as a scan goes by them: a whole file that is kept is not known, any other has no pack."""
        if self.whole is None:
            return self.counts, self.starts, keep
        is_whole = np.repeat(self.whole, np.maximum(self.counts, 0))
        counts = self.counts.copy()
        counts[self.whole] = np.where(keep[is_whole], np.int32(-1), np.int32(0))
        return counts, self.starts[~is_whole], keep[~is_whole]

    @property
    def files_unknown(self) -> int:
        return int(np.count_nonzero(self.counts < 0))

    @property
    def packs_total(self) -> int:
        return len(self.starts)

    @property
    def rows_total(self) -> int:
        return int(self.rows.sum())

    def rows_kept(self, keep: Bools) -> int:
        return int(self.rows[keep].sum())

    def files_rejected(self, number: int) -> int:
        """Files that have packs, and none that filter `number` keeps."""
        packs = self.counts[self.counts > 0]
        if not len(packs):
            return 0
        firsts = np.concatenate(([0], np.cumsum(packs[:-1])))
        return int(np.count_nonzero(~np.logical_or.reduceat(self.keep[number], firsts)))

    def keep_all_of(self, filters: Iterable[int]) -> Bools:
        """The packs that every one of these filters (by number) keeps; all packs for no filter."""
        kept: Bools = np.ones(self.packs_total, dtype=np.bool_)
        for number in filters:
            kept &= self.keep[number]
        return kept

    def figures(self, number: int) -> PackFigures:
        """What filter `number` does alone."""
        keep = self.keep[number]
        rows_total = self.rows_total
        packs_kept = int(np.count_nonzero(keep))
        return PackFigures(
            packs_total=self.packs_total,
            packs_rejected=self.packs_total - packs_kept,
            rows_total=rows_total,
            rows_rejected=rows_total - self.rows_kept(keep),
            value_span=self.value_spans[number],
            packs_bounded=int(np.count_nonzero(self.bounded[number])),
            column_problem=self.column_problems[number],
        )


def without_files(verdict: Verdict, files: Sequence[int], paths: Sequence[str]) -> Verdict:
    """The verdict with these files, which have these paths, not known."""
    gone = np.zeros(len(verdict.counts), dtype=np.bool_)
    gone[list(files)] = True
    stays = np.repeat(~gone, np.maximum(verdict.counts, 0))
    counts = np.where(gone, np.int32(-1), verdict.counts)
    keep, bounded = (tuple(mask[stays] for mask in masks) for masks in (verdict.keep, verdict.bounded))
    problem = verdict.problem or f"{os.path.basename(paths[0])}: it is not surely the file that was listed"
    whole = None if verdict.whole is None else verdict.whole & ~gone
    starts, rows = verdict.starts[stays], verdict.rows[stays]
    return replace(verdict, counts=counts, starts=starts, rows=rows, keep=keep, bounded=bounded, problem=problem, whole=whole)
