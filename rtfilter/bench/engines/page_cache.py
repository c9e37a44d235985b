"""Takes files out of the operating system's page cache, so that a run has to read them from the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rtfilter.bench.engines.execution import Engine, Execution
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError


def files_below(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The files themselves, and those in the directories."""
    return tuple(sorted(file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()))


def drop_from_page_cache(files: Iterable[Path]) -> None:
    """Asks the system to forget the content of files. Pages that were never written back are written first.

    Raises:
        BenchError: the system has no posix_fadvise (it is not Linux), or a file can't be opened.
    """
    if not hasattr(os, "posix_fadvise"):
        raise BenchError("this system has no posix_fadvise: the page cache can't be dropped, so I/O can only be measured on Linux.")
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError as error:
            raise BenchError(f"{file} can't be dropped from the page cache: {error.strerror or error}.") from error
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


class ColdEngine:
    """An engine whose every run begins without the files of its tables in memory; the time for dropping them does not count."""

    def __init__(self, engine: Engine, files: Iterable[Path]) -> None:
        self._engine = engine
        self._files = tuple(files)

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        """As the engine does. Raises QueryFailedError as it does, BenchError where nothing can be dropped."""
        drop_from_page_cache(self._files)
        return self._engine.run(query, count_bytes)
