"""A table's file list, and its packs laid end to end once they are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rtfilter.store.bounds.probe_types import ProbeType, SeenBounds, probe_type
from rtfilter.store.bounds.table_bounds import Part, TableBounds, parts_of, table_bounds
from rtfilter.store.footer_cache.footer_memory import FileIdentity, FooterCache
from rtfilter.store.footer_cache.kept_folder import KeptIn
from rtfilter.store.footer_cache.kept_list import KeptList, KeptPiece, expanded
from rtfilter.store.parquet.arrays import Bools, Int64s, Levels
from rtfilter.store.parquet.byte_words import words_for_many
from rtfilter.store.parquet.column_bounds import ColumnBounds
from rtfilter.store.parquet.pack_statistics import FileColumn, FileStats
from rtfilter.store.parquet.paths import local_paths

# What is known of files of a list, by their numbers in it.
_Found: TypeAlias = list[tuple[int, FileStats]]


@dataclass(frozen=True, slots=True)
class PackLayout:
    """The packs of all known files, in list order.

    `counts` is -1 for a file that is not known; `unread` are those files. `whole`: files that count as one pack (whole_files.py).
    `footers`: the digest of each file's footer, and `statuses` its `status_digest`, 0 for a file that is not known.
    """

    counts: npt.NDArray[np.int32]
    starts: Int64s
    rows: Int64s
    unread: tuple[int, ...]
    footers: npt.NDArray[np.uint64]
    statuses: npt.NDArray[np.uint64]
    whole: Bools

    @property
    def memory_bytes(self) -> int:
        arrays: list[Any] = [self.counts, self.starts, self.rows, self.footers, self.statuses, self.whole]
        return sum(int(array.nbytes) for array in arrays)


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """A column as a query means it: name and type by Spark, and whether names tell case apart."""

    name: str
    type: str
    case_sensitive: bool


@dataclass(frozen=True, slots=True)
class LaidOutColumn:
    """One column over all packs of a layout; `unread` are files of the layout of which this column was not read.

    `problem`: the first file of which it can't be understood, and why; empty where there is none.
    """

    bounds: TableBounds
    unread: tuple[int, ...]
    problem: str = ""


@dataclass(slots=True)
class FileList:
    """The files of one digest. The layout and its columns are derived from single files, and kept because that takes time.

    `kept`: what the cache directory `place` has of them, of the columns `recalled` (lower case); `recalls` are under way, since
    then (monotonic). `is_short`: memory is, so that bounds of whole files are held too; `to_condense`: of these.
    """

    files: tuple[FileIdentity, ...]
    local: tuple[tuple[int, str], ...]
    remote: tuple[int, ...]
    asked_columns: set[str] = field(default_factory=set)
    layout: PackLayout | None = None
    columns: dict[ColumnKey, LaidOutColumn] = field(default_factory=dict)
    kept: KeptList | None = None
    recalled: set[str] = field(default_factory=set)
    recalls: list[tuple[Future[None], float]] = field(default_factory=list)
    place: KeptIn | None = None
    is_short: bool = False
    to_condense: list[tuple[int, FileStats]] = field(default_factory=list)

    @property
    def memory_bytes(self) -> int:
        layout_bytes = 0 if self.layout is None else self.layout.memory_bytes
        kept_bytes = 0 if self.kept is None else self.kept.memory_bytes
        return layout_bytes + kept_bytes + sum(column.bounds.memory_bytes for column in self.columns.values())

    def serves(self, cache_directory: str) -> bool:
        """Whether nothing in it is from another cache directory."""
        return self.place is None or self.place.directory == cache_directory

    def without_kept(self) -> FileList:
        """The same files, with nothing known of them yet."""
        return FileList(self.files, self.local, self.remote, set(self.asked_columns))

    def drop_layout(self) -> None:
        self.layout = None
        self.columns = {}

    def drop_all(self) -> None:
        """Gives memory back; what is kept in the cache directory may be recalled again."""
        self.drop_layout()
        self.kept = None
        self.recalled = set()
        self.is_short, self.to_condense = False, []

    def laid_out(self, wanted: Sequence[ColumnKey], cache: FooterCache) -> tuple[PackLayout, list[LaidOutColumn]]:
        """The layout and the wanted columns, made anew only where a file has become known since, or another one."""
        layout = self.layout
        is_old = layout is None or any(self._knows(i, cache) for i in layout.unread)
        lacking = [key for key in wanted if self._lacks(key, cache)]
        if layout is None or is_old or lacking:
            found = self._found(cache)
            if layout is None or is_old or _has_other_files(layout, found):
                self.drop_layout()
                layout = self.layout = self._lay_out(found)
                lacking = list(wanted)
            for key in lacking:
                self.columns[key] = self._lay_out_column(layout, key, found)
        return layout, [self.columns[key] for key in wanted]

    def is_complete(self, name: str) -> bool:
        """Whether nothing is left to find out about a column (lower case) of any file."""
        laid_out = (column for key, column in self.columns.items() if key.name.lower() == name)
        if self.layout is not None and not self.layout.unread and any(not column.unread for column in laid_out):
            return True
        return self.kept is not None and bool(self.kept.has(name).all())

    def covers(self, index: int, name: str) -> bool:
        """Whether a column of a file is in the layout already, or kept, so that the file's footer need not be read."""
        if self.kept is not None and self.kept.holds(index, name):
            return True
        if self.layout is None or self.layout.counts[index] < 0:
            return False
        return any(key.name.lower() == name and index not in column.unread for key, column in self.columns.items())

    def _knows(self, index: int, cache: FooterCache) -> bool:
        return cache.get(self.files[index]) is not None or (self.kept is not None and bool(self.kept.counts[index] >= 0))

    def _found(self, cache: FooterCache) -> _Found:
        if not len(cache):
            return []
        return [(i, stats) for i, file in enumerate(self.files) if (stats := cache.get(file)) is not None]

    def _lacks(self, key: ColumnKey, cache: FooterCache) -> bool:
        column, name = self.columns.get(key), key.name.lower()
        return column is None or any(
            _has_column(cache.get(self.files[i]), name) or (self.kept is not None and self.kept.holds(i, name))
            for i in column.unread
        )

    def _lay_out(self, read: _Found) -> PackLayout:
        """What was read in this application counts where it is another file than the one that was kept."""
        count, kept = len(self.files), self.kept
        counts = np.full(count, -1, dtype=np.int32)
        footers, statuses = (np.zeros(count, dtype=np.uint64) for _ in range(2))
        for i, stats in read:
            counts[i], footers[i], statuses[i] = len(stats.starts), stats.footer, stats.status
        mine = counts >= 0
        whole = np.zeros(count, dtype=np.bool_)
        if kept is not None:
            kept.drop_others(counts, footers, statuses)
            theirs = ~mine & (kept.counts >= 0)
            counts[theirs], footers[theirs], statuses[theirs] = kept.counts[theirs], kept.footers[theirs], kept.statuses[theirs]
            whole[theirs] = kept.whole[theirs]
        starts, rows = (_end_to_end([getattr(stats, name) for _, stats in read]) for name in ("starts", "rows"))
        if kept is not None:
            from_kept = expanded(kept.firsts[theirs], counts[theirs])
            # Packs of what was read are in list order, and so are those of what was kept.
            is_mine = np.repeat(mine, np.maximum(counts, 0))
            starts, rows = _merged(is_mine, starts, kept.starts[from_kept]), _merged(is_mine, rows, kept.rows[from_kept])
        return PackLayout(counts, starts, rows, tuple(np.flatnonzero(counts < 0).tolist()), footers, statuses, whole)

    def _lay_out_column(self, layout: PackLayout, key: ColumnKey, found: _Found) -> LaidOutColumn:
        packs = len(layout.starts)
        has_bounds, all_null = np.zeros(packs, dtype=np.bool_), np.zeros(packs, dtype=np.bool_)
        nulls = np.ones(packs, dtype=np.bool_)
        type = probe_type(key.type)
        placed: list[tuple[Any, SeenBounds]] = []
        firsts = np.cumsum(np.maximum(layout.counts, 0), dtype=np.int64) - np.maximum(layout.counts, 0)
        unread = layout.counts >= 0
        problem = ""
        for i, stats in found:
            if not unread[i]:
                continue
            if not problem and (reason := stats.problem_of(key.name, key.case_sensitive)):
                problem = f"{os.path.basename(self.files[i].path)}: {reason}"
            if not _has_column(stats, key.name):
                continue
            unread[i] = False
            count = int(layout.counts[i])
            seen = None if type is None else _seen_bounds(stats, key, type, count)
            if seen is not None:
                placed.append((slice(int(firsts[i]), int(firsts[i]) + count), seen))
        for piece in self.kept.pieces.get(key.name.lower(), ()) if self.kept is not None else ():
            usable = unread[piece.files] & self._kept_as_laid_out(layout, piece)
            files = piece.files[usable]
            unread[files] = False
            bounds = _meant(piece.matching, key)
            seen = None if type is None or bounds is None else type.sees(bounds)
            if seen is not None:
                firsts_of = piece.firsts[usable]
                # What holds for a file holds for each of its packs.
                of_piece = (
                    np.repeat(firsts_of, layout.counts[files]) if piece.is_whole else expanded(firsts_of, layout.counts[files])
                )
                placed.append((expanded(firsts[files], layout.counts[files]), _of_packs(seen, of_piece)))
        for span, seen in placed:
            has_bounds[span], all_null[span], nulls[span] = seen.has_bounds, seen.all_null, seen.nulls
        lows, highs = _levels(packs, type, placed)
        hidden = None if type is None else type.hidden
        unread_files = tuple(np.flatnonzero(unread).tolist())
        whole = Part(np.maximum(layout.counts, 0), lows, highs, has_bounds, all_null, nulls)
        return LaidOutColumn(table_bounds(parts_of(whole), hidden), unread_files, problem)

    def _kept_as_laid_out(self, layout: PackLayout, piece: KeptPiece) -> Bools:
        assert self.kept is not None
        files, kept = piece.files, self.kept
        same: Bools = (kept.counts[files] >= 0) & (kept.footers[files] == layout.footers[files])
        same &= kept.statuses[files] == layout.statuses[files]
        # A file of which only the whole is laid out has no place for its packs.
        same &= piece.is_whole | ~layout.whole[files]
        return same


def file_list(paths: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int]) -> FileList:
    """A list out of Hadoop path texts, sizes in bytes, times in ms.

    Raises:
        ValueError: the three are not of one length.
    """
    if not len(paths) == len(sizes) == len(mtimes):
        raise ValueError(f"a file list needs a size and a time per path, not {len(paths)}, {len(sizes)} and {len(mtimes)}")
    files = tuple(FileIdentity(path, size, mtime) for path, size, mtime in zip(paths, sizes, mtimes, strict=True))
    opened = list(enumerate(local_paths(paths)))
    return FileList(
        files,
        local=tuple((i, path) for i, path in opened if path is not None),
        remote=tuple(i for i, path in opened if path is None),
    )


def _has_other_files(layout: PackLayout, found: _Found) -> bool:
    """Whether a file was replaced, between two readings of its footer, by one of the same size and time."""
    footers = layout.footers.tolist()
    return any(stats.footer != footers[i] for i, stats in found)


def _has_column(stats: FileStats | None, name: str) -> bool:
    return stats is not None and name.lower() in stats.columns


def _merged(is_first: Bools, first: Int64s, second: Int64s) -> Int64s:
    """One array of two: where it is true the next of the first."""
    merged = np.empty(len(is_first), dtype=np.int64)
    merged[is_first], merged[~is_first] = first, second
    return merged


def _end_to_end(arrays: list[Int64s]) -> Int64s:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _meant(matching: tuple[FileColumn, ...], key: ColumnKey) -> ColumnBounds | None:
    """The bounds of the one column that a query means; None where there is none, or more than one."""
    meant = [column for column in matching if column.name == key.name] if key.case_sensitive else list(matching)
    return meant[0].bounds if len(meant) == 1 else None


def _of_packs(seen: SeenBounds, packs: Int64s) -> SeenBounds:
    lows, highs = (tuple(level[packs] for level in levels) for levels in (seen.lows, seen.highs))
    return SeenBounds(lows, highs, seen.has_bounds[packs], seen.all_null[packs], seen.nulls[packs])


def _seen_bounds(stats: FileStats | None, key: ColumnKey, type: ProbeType, count: int) -> SeenBounds | None:
    if stats is None or len(stats.starts) != count:
        return None
    bounds = stats.bounds_of(key.name, key.case_sensitive)
    return None if bounds is None else type.sees(bounds)


def _levels(packs: int, type: ProbeType | None, placed: Sequence[tuple[Any, SeenBounds]]) -> tuple[Levels, Levels]:
    """Lows and highs of all packs in as many levels as the file with the most has, as far as memory allows for that many packs.

    The levels that a file lacks are zero.
    """
    count = min(max((len(seen.lows) for _, seen in placed), default=1), words_for_many(2 * packs))
    dtype = np.int64 if type is None or type.is_number else np.uint64
    lows, highs = (tuple(np.zeros(packs, dtype=dtype) for _ in range(count)) for _ in range(2))
    for span, seen in placed:
        for whole, part in (*zip(lows, seen.lows, strict=False), *zip(highs, seen.highs, strict=False)):
            whole[span] = part
    return lows, highs
