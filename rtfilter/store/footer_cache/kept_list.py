"""What kept footers say of the files of one list, in list order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.footer_cache.kept_batch import KeptColumn, KeptFiles
from rtfilter.store.parquet.arrays import Bools, Int64s
from rtfilter.store.parquet.footer_digest import DIGEST_BYTES
from rtfilter.store.parquet.pack_statistics import FileColumn, matches_listing, status_digest

# What a file takes before anything is known of it.
KEPT_FILE_BYTES = 29


@dataclass(frozen=True, slots=True)
class KeptPiece:
    """A column of some files, alike in all of them: `files` are numbers in the list, `firsts` where the packs of each begin.

    `is_whole`: it has one pair of bounds of each file, which are around those of all its packs.
    """

    files: Int64s
    firsts: Int64s
    matching: tuple[FileColumn, ...]
    is_whole: bool = False

    @property
    def memory_bytes(self) -> int:
        bounds = (column.bounds for column in self.matching)
        arrays: list[Any] = [self.files, self.firsts, *(array for each in bounds if each is not None for array in each.arrays)]
        return _bytes_of(arrays)


class KeptList:
    """`counts` is -1 for a file that nothing is kept of; `firsts` is where a file's packs begin in `starts` and `rows`.

    `whole`: files that count as one pack (whole_files.py). `footers`, `statuses`: as in FileStats. Not thread-safe, the owner of
    the list locks.
    """

    def __init__(self, files: int) -> None:
        self.counts = np.full(files, -1, dtype=np.int32)
        self.firsts: Int64s = np.zeros(files, dtype=np.int64)
        self.whole = np.zeros(files, dtype=np.bool_)
        self.starts: Int64s = np.zeros(0, dtype=np.int64)
        self.rows: Int64s = np.zeros(0, dtype=np.int64)
        self.footers = np.zeros(files, dtype=np.uint64)
        self.statuses = np.zeros(files, dtype=np.uint64)
        self.pieces: dict[str, list[KeptPiece]] = {}
        self._has: dict[str, Bools] = {}

    @property
    def memory_bytes(self) -> int:
        arrays: list[Any] = [
            self.counts,
            self.firsts,
            self.whole,
            self.starts,
            self.rows,
            self.footers,
            self.statuses,
            *self._has.values(),
        ]
        return _bytes_of(arrays) + sum(each.memory_bytes for pieces in self.pieces.values() for each in pieces)

    def has(self, name: str) -> Bools:
        """The files of which a column (lower case) is kept."""
        known = self._has.get(name)
        return np.zeros(len(self.counts), dtype=np.bool_) if known is None else known & (self.counts >= 0)

    def holds(self, index: int, name: str) -> bool:
        known = self._has.get(name)
        return known is not None and bool(known[index]) and bool(self.counts[index] >= 0)

    def drop(self, index: int) -> None:
        """Forgets a file, for good: it is another one than it was."""
        self.counts[index] = -1
        for known in self._has.values():
            known[index] = False

    def drop_others(self, counts: npt.NDArray[np.int32], footers: npt.NDArray[np.uint64], statuses: npt.NDArray[np.uint64]) -> None:
        """Forgets files that are known (`counts` from 0) to have another footer, or to be others."""
        differs = (self.footers != footers) | (self.statuses != statuses)
        for index in np.flatnonzero((counts >= 0) & (self.counts >= 0) & differs).tolist():
            self.drop(index)

    def take(self, found: Recalled) -> list[int]:
        """Adds what was found in one batch; gives the files of the list that are known only now.

        A file that is known already gets more columns only from the same footer of the same file. One of which only the whole is
        known has no place for bounds of packs.
        """
        listed, kept, batch = found.listed, found.kept, found.batch
        footers, statuses = batch.footers[kept], batch.statuses[kept]
        new = self.counts[listed] < 0
        same = ~new & (self.footers[listed] == footers) & (self.statuses[listed] == statuses)
        same &= found.is_whole | ~self.whole[listed]
        fresh = listed[new]
        if len(fresh):
            begins = _begins(batch.counts)
            self.counts[fresh], self.footers[fresh] = batch.counts[kept[new]], footers[new]
            self.statuses[fresh], self.firsts[fresh] = statuses[new], begins[kept[new]] + len(self.starts)
            self.whole[fresh] = found.is_whole
            self.starts, self.rows = np.concatenate([self.starts, batch.starts]), np.concatenate([self.rows, batch.rows])
        usable = new | same
        of_batch = np.full(len(batch.counts), -1, dtype=np.int64)
        of_batch[kept[usable]] = listed[usable]
        for name, columns in found.columns.items():
            self._take_column(name, columns, of_batch, batch.counts, found.is_whole)
        return [int(i) for i in fresh]

    def _take_column(
        self, name: str, columns: Sequence[KeptColumn], of_batch: Int64s, counts: npt.NDArray[np.int32], is_whole: bool
    ) -> None:
        known = self._has.setdefault(name, np.zeros(len(self.counts), dtype=np.bool_))
        for column in columns:
            files = of_batch[column.files]
            firsts = _begins(counts[column.files])
            wanted = (files >= 0) & ~known[files]
            if not bool(wanted.any()):
                continue
            known[files[wanted]] = True
            self.pieces.setdefault(name, []).append(KeptPiece(files[wanted], firsts[wanted], column.matching, is_whole))


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one batch has of a list: file `listed[i]` of the list is file `kept[i]` of the batch. `is_whole`: as in KeptPiece."""

    listed: Int64s
    kept: Int64s
    batch: KeptFiles
    columns: dict[str, list[KeptColumn]] = field(default_factory=dict)
    is_whole: bool = False

    @property
    def memory_bytes(self) -> int:
        """What it takes in a list."""
        members = (column.bounds for columns in self.columns.values() for each in columns for column in each.matching)
        return _bytes_of(
            [self.batch.starts, self.batch.rows, *(array for each in members if each is not None for array in each.arrays)]
        )

    def tails(self) -> Iterable[tuple[int, bytes]]:
        """For files of the list, the digest of the tail that the bridge has brought."""
        for listed, kept in zip(self.listed.tolist(), self.kept.tolist(), strict=True):
            tail = self.batch.tails[kept].tobytes()
            if tail != bytes(DIGEST_BYTES):
                yield listed, tail


def places_of(files: Sequence[FileIdentity], by_path: dict[str, int], batch: KeptFiles) -> tuple[Int64s, Int64s]:
    """The files of a list that a batch has with their path, size and time: numbers in the list, and in the batch."""
    pairs = [(i, number) for number, path in enumerate(batch.paths) if (i := by_path.get(path)) is not None]
    listed, kept = (np.array(side, dtype=np.int64) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    sizes = np.array([files[i].size_bytes for i in listed.tolist()], dtype=np.int64)
    mtimes = np.array([files[i].mtime_ms for i in listed.tolist()], dtype=np.int64)
    same = (batch.sizes[kept] == sizes) & (batch.mtimes[kept] == mtimes)
    return listed[same], kept[same]


def still_the_same(file: FileIdentity, local: str, status: int) -> bool:
    """Whether a local file is the one whose footer was kept, by times in ns and inode too, which Spark's listing has not."""
    try:
        found = os.stat(local)
    except OSError:
        return False
    return matches_listing(found, file.size_bytes, file.mtime_ms) and status_digest(found) == status


def expanded(firsts: Int64s, counts: npt.NDArray[Any]) -> Int64s:
    """The numbers firsts[i], firsts[i] + 1, ... firsts[i] + counts[i] - 1, for all i one after the other."""
    numbers: Int64s = np.arange(int(counts.sum()), dtype=np.int64)
    numbers += np.repeat(firsts - _begins(counts), counts)
    return numbers


def _begins(counts: npt.NDArray[Any]) -> Int64s:
    """Where each of some runs begins when they are laid end to end."""
    begins: Int64s = np.cumsum(counts, dtype=np.int64) - counts
    return begins


def _bytes_of(arrays: Iterable[Any]) -> int:
    return sum(int(array.nbytes) for array in arrays)
