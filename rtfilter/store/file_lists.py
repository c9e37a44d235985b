"""A table's file list, and its packs laid end to end once they are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rtfilter.store.arrays import Int64s, Levels
from rtfilter.store.byte_words import words_for_many
from rtfilter.store.footer_cache import FileIdentity
from rtfilter.store.footers import FileStats
from rtfilter.store.paths import local_path
from rtfilter.store.probe_types import ProbeType, SeenBounds, probe_type
from rtfilter.store.verdicts import PackBounds, pack_bounds

StatsOf = Callable[[FileIdentity], FileStats | None]


@dataclass(frozen=True, slots=True)
class PackLayout:
    """The packs of all known files, in list order.

    `counts` is -1 for a file that is not known; `unread` are those files. `footers`: the digest of each file's footer, and
    `statuses` its `status_digest`, 0 for a file that is not known.
    """

    counts: npt.NDArray[np.int32]
    starts: Int64s
    rows: Int64s
    unread: tuple[int, ...]
    footers: npt.NDArray[np.uint64]
    statuses: npt.NDArray[np.uint64]

    @property
    def memory_bytes(self) -> int:
        return self.counts.nbytes + self.starts.nbytes + self.rows.nbytes + self.footers.nbytes + self.statuses.nbytes


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

    bounds: PackBounds
    unread: tuple[int, ...]
    problem: str = ""


@dataclass(slots=True)
class FileList:
    """The files of one digest. The layout and its columns are derived from single files, and kept because that takes time."""

    files: tuple[FileIdentity, ...]
    local: tuple[tuple[int, str], ...]
    remote: tuple[int, ...]
    asked_columns: set[str] = field(default_factory=set)
    layout: PackLayout | None = None
    columns: dict[ColumnKey, LaidOutColumn] = field(default_factory=dict)

    @property
    def memory_bytes(self) -> int:
        layout_bytes = 0 if self.layout is None else self.layout.memory_bytes
        return layout_bytes + sum(column.bounds.memory_bytes for column in self.columns.values())

    def drop_layout(self) -> None:
        self.layout = None
        self.columns = {}

    def laid_out(self, wanted: Sequence[ColumnKey], stats_of: StatsOf) -> tuple[PackLayout, list[LaidOutColumn]]:
        """The layout and the wanted columns, made anew only where a file has become known since, or another one."""
        layout = self.layout
        if (
            layout is None
            or any(stats_of(self.files[i]) is not None for i in layout.unread)
            or (any(self._lacks(key, stats_of) for key in wanted) and self._has_other_files(layout, stats_of))
        ):
            self.drop_layout()
            layout = self.layout = _lay_out(self.files, stats_of)
        return layout, [self._column(layout, key, stats_of) for key in wanted]

    def _column(self, layout: PackLayout, key: ColumnKey, stats_of: StatsOf) -> LaidOutColumn:
        if self._lacks(key, stats_of):
            self.columns[key] = _lay_out_column(self.files, layout, key, stats_of)
        return self.columns[key]

    def _lacks(self, key: ColumnKey, stats_of: StatsOf) -> bool:
        column = self.columns.get(key)
        return column is None or any(_has_column(stats_of(self.files[i]), key.name) for i in column.unread)

    def _has_other_files(self, layout: PackLayout, stats_of: StatsOf) -> bool:
        """Whether a file was replaced, between two readings of its footer, by one of the same size and time."""
        found = ((stats_of(file), footer) for file, footer in zip(self.files, layout.footers.tolist(), strict=True))
        return any(stats is not None and stats.footer != footer for stats, footer in found)

    def covers(self, index: int, name: str) -> bool:
        """Whether the layout has this column of a file already, so that the file itself need not be kept."""
        if self.layout is None or self.layout.counts[index] < 0:
            return False
        return any(key.name.lower() == name and index not in column.unread for key, column in self.columns.items())


def file_list(paths: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int]) -> FileList:
    """A list out of Hadoop path texts, sizes in bytes, times in ms.

    Raises:
        ValueError: the three are not of one length.
    """
    if not len(paths) == len(sizes) == len(mtimes):
        raise ValueError(f"a file list needs a size and a time per path, not {len(paths)}, {len(sizes)} and {len(mtimes)}")
    files = tuple(FileIdentity(path, size, mtime) for path, size, mtime in zip(paths, sizes, mtimes, strict=True))
    opened = [(i, local_path(path)) for i, path in enumerate(paths)]
    return FileList(
        files,
        local=tuple((i, path) for i, path in opened if path is not None),
        remote=tuple(i for i, path in opened if path is None),
    )


def _has_column(stats: FileStats | None, name: str) -> bool:
    return stats is not None and name.lower() in stats.columns


def _lay_out(files: Sequence[FileIdentity], stats_of: StatsOf) -> PackLayout:
    found = [stats_of(file) for file in files]
    known = [stats for stats in found if stats is not None]
    return PackLayout(
        counts=np.array([-1 if stats is None else len(stats.starts) for stats in found], dtype=np.int32),
        starts=_end_to_end([stats.starts for stats in known]),
        rows=_end_to_end([stats.rows for stats in known]),
        unread=tuple(i for i, stats in enumerate(found) if stats is None),
        footers=np.array([0 if stats is None else stats.footer for stats in found], dtype=np.uint64),
        statuses=np.array([0 if stats is None else stats.status for stats in found], dtype=np.uint64),
    )


def _end_to_end(arrays: list[Int64s]) -> Int64s:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _lay_out_column(files: Sequence[FileIdentity], layout: PackLayout, key: ColumnKey, stats_of: StatsOf) -> LaidOutColumn:
    packs = len(layout.starts)
    has_bounds, all_null = np.zeros(packs, dtype=np.bool_), np.zeros(packs, dtype=np.bool_)
    nulls = np.ones(packs, dtype=np.bool_)
    type = probe_type(key.type)
    placed: list[tuple[slice, SeenBounds]] = []
    unread = []
    problem = ""
    at = 0
    for i, count in enumerate(layout.counts.tolist()):
        if count < 0:
            continue
        stats = stats_of(files[i])
        if not _has_column(stats, key.name):
            unread.append(i)
        if not problem and stats is not None and (reason := stats.problem_of(key.name, key.case_sensitive)):
            problem = f"{os.path.basename(files[i].path)}: {reason}"
        seen = None if type is None else _seen_bounds(stats, key, type, count)
        if seen is not None:
            span = slice(at, at + count)
            placed.append((span, seen))
            has_bounds[span], all_null[span], nulls[span] = seen.has_bounds, seen.all_null, seen.nulls
        at += count
    lows, highs = _levels(packs, type, placed)
    hidden = None if type is None else type.hidden
    return LaidOutColumn(pack_bounds(lows, highs, has_bounds, all_null, nulls, hidden), tuple(unread), problem)


def _seen_bounds(stats: FileStats | None, key: ColumnKey, type: ProbeType, count: int) -> SeenBounds | None:
    if stats is None or len(stats.starts) != count:
        return None
    bounds = stats.bounds_of(key.name, key.case_sensitive)
    return None if bounds is None else type.sees(bounds)


def _levels(packs: int, type: ProbeType | None, placed: Sequence[tuple[slice, SeenBounds]]) -> tuple[Levels, Levels]:
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
