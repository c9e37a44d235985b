"""What is known of files, by identity, within a bound of memory."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem

# A file that could not be read is tried again after this time.
PROBLEM_KEPT_S = 60.0
MOST_PROBLEMS = 100_000


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """A file as Spark listed it."""

    path: str
    size_bytes: int
    mtime_ms: int


class FooterCache:
    """Statistics per file, least recently used first out; not thread-safe, its owner locks."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._stats: OrderedDict[FileIdentity, FileStats] = OrderedDict()
        self._problems: OrderedDict[FileIdentity, tuple[FooterProblem, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._stats)

    def get(self, file: FileIdentity) -> FileStats | None:
        stats = self._stats.get(file)
        if stats is not None:
            self._stats.move_to_end(file)
        return stats

    def peek(self, file: FileIdentity) -> FileStats | None:
        """The same without counting as a use."""
        return self._stats.get(file)

    def lacks(self, file: FileIdentity, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns (lower case) that would have to be read; none while a problem with the file is fresh."""
        if self.problem(file) is not None:
            return ()
        stats = self._stats.get(file)
        return tuple(columns) if stats is None else tuple(name for name in columns if name not in stats.columns)

    @property
    def has_problems(self) -> bool:
        return bool(self._problems)

    def problem(self, file: FileIdentity) -> FooterProblem | None:
        entry = self._problems.get(file)
        if entry is None:
            return None
        if time.monotonic() - entry[1] < PROBLEM_KEPT_S:
            return entry[0]
        del self._problems[file]
        return None

    def put(self, file: FileIdentity, found: FileStats | FooterProblem) -> None:
        """Adds what was read; columns that are there already stay."""
        if isinstance(found, FooterProblem):
            self._problems[file] = (found, time.monotonic())
            while len(self._problems) > MOST_PROBLEMS:
                self._problems.popitem(last=False)
            return
        self._problems.pop(file, None)
        before = self._stats.pop(file, None)
        if before is not None:
            self.used_bytes -= before.memory_bytes
            found = found.with_columns_of(before)
        self._stats[file] = found
        self.used_bytes += found.memory_bytes
        self.shrink()

    def drop(self, file: FileIdentity) -> None:
        """Forgets what was read of a file."""
        stats = self._stats.pop(file, None)
        if stats is not None:
            self.used_bytes -= stats.memory_bytes

    def shrink(self) -> None:
        """Drops the longest unused files until the bound holds."""
        while self.used_bytes > self.limit_bytes and self._stats:
            self.used_bytes -= self._stats.popitem(last=False)[1].memory_bytes
