"""What footers said, kept in the cache directory for the next application: docs/protocol.md tells of it, `array_file` has the form.

Nothing here is waited for without a limit, and nothing is needed: what is missing, damaged or somebody else's is read from footers.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.footer_cache.kept_batch import packed_batch, read_columns, read_files
from rtfilter.store.footer_cache.kept_folder import NAME, KeptFile, KeptFolder, KeptIn
from rtfilter.store.footer_cache.kept_list import Recalled, places_of, still_the_same
from rtfilter.store.parquet.array_file import ArrayFile, DamagedFileError
from rtfilter.store.parquet.pack_statistics import FileStats

# Writing begins when no footer has come for this time, or so many have.
QUIET_S = 1.0
MOST_AT_ONCE = 50_000
# Lists that are looked for at a time; where so many hang, no other is.
MOST_READERS = 4
# Batches that are looked into for one list, newest first.
MOST_BATCHES = 512
# Directories of files that are kept in one batch each; where there are more, their parents.
MOST_ROOTS = 16
# What decides how a footer is understood: what one of another making said is not believed.
_READERS = (
    *(f"parquet/{name}" for name in (
        "array_file", "byte_words", "column_bounds", "cut_strings", "file_origin", "footer_digest", "key_values",
        "pack_statistics", "statistics_check", "stored_types", "table_footer", "thrift",
    )),
    "footer_cache/kept_batch",
)  # fmt: skip

_log = logging.getLogger(__name__)


class KeptFooters:
    """Reads and writes kept footers in threads of its own; thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._fresh: dict[KeptIn, dict[FileIdentity, FileStats]] = {}
        self._latest = 0.0
        self._hurry = False
        self._writing = False
        self._writer: threading.Thread | None = None
        self._readers = ThreadPoolExecutor(max_workers=MOST_READERS, thread_name_prefix="kept-footers")
        self._stuck = 0
        self._warned = False

    # Writing

    def note(self, place: KeptIn, file: FileIdentity, stats: FileStats) -> None:
        """A footer that was read. It is kept in the background, unless the file is too young to be told from its successor."""
        if not stats.settled or "\0" in file.path:
            return
        with self._changed:
            fresh = self._fresh.setdefault(place, {})
            before = fresh.get(file)
            fresh[file] = stats if before is None else stats.with_columns_of(before)
            self._latest = time.monotonic()
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_on, name="keep-footers", daemon=True)
                self._writer.start()
            elif len(fresh) in (1, MOST_AT_ONCE):
                self._changed.notify_all()

    def flush(self, within_s: float) -> bool:
        """Writes what is noted at once; false when that takes longer."""
        deadline = time.monotonic() + within_s
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while (self._fresh or self._writing) and time.monotonic() < deadline:
                self._changed.wait(max(0.0, min(0.05, deadline - time.monotonic())))
            self._hurry = False
            return not self._fresh and not self._writing

    def close(self) -> None:
        self._readers.shutdown(wait=False, cancel_futures=True)

    def _write_on(self) -> None:
        while True:
            with self._changed:
                while not self._fresh or not self._is_due():
                    self._changed.wait(QUIET_S / 4 if self._fresh else None)
                fresh, self._fresh, self._writing = self._fresh, {}, True
            try:
                for place, found in fresh.items():
                    self._try_to_write(place, found)
            finally:
                with self._changed:
                    self._writing = False
                    self._changed.notify_all()

    def _is_due(self) -> bool:
        most = max(map(len, self._fresh.values()))
        return self._hurry or most >= MOST_AT_ONCE or time.monotonic() - self._latest >= QUIET_S

    def _try_to_write(self, place: KeptIn, fresh: Mapping[FileIdentity, FileStats]) -> None:
        try:
            self._write(place, fresh)
        except Exception as error:  # a full disk, somebody else's folder: nothing is lost but time
            self._warn(f"footers can't be kept in {place.directory}: {error}")

    def _write(self, place: KeptIn, fresh: Mapping[FileIdentity, FileStats]) -> None:
        roots = _roots([file.path for file in fresh])
        by_root: dict[str, dict[FileIdentity, FileStats]] = {}
        for file, root in zip(fresh, roots, strict=True):
            by_root.setdefault(root, {})[file] = fresh[file]
        folder = place.folder
        folder.make()
        for root, found in by_root.items():
            batch = packed_batch(root, found, {"made": _made_by()})
            if sum(map(len, batch.parts)) <= place.limit_bytes:
                folder.put(f"{_named(root)}-{time.time_ns():016x}-{batch.digest}.footers", batch.parts)
        folder.hold_bound(place.limit_bytes)

    # Reading

    def recall(
        self,
        place: KeptIn,
        files: Sequence[FileIdentity],
        local: Mapping[int, str],
        columns: Iterable[str],
        found: Callable[[Recalled], None],
    ) -> Future[None] | None:
        """Looks for what is kept of these files and columns (lower case), and hands over each batch, in a thread of its own.

        `local`: by number, the paths of those files that this process can open.
        The future is done at the end of it. None where nothing is to be expected: many such threads hang already.
        """
        if not files or self._stuck >= MOST_READERS:
            return None
        wanted = frozenset(columns)
        return self._submit(lambda: self._read(place, files, local, wanted, found))

    def _submit(self, read: Callable[[], None]) -> Future[None] | None:
        def counted() -> None:
            try:
                read()
            finally:
                with self._changed:
                    self._stuck -= 1

        with self._changed:
            self._stuck += 1
        try:
            return self._readers.submit(counted)
        except RuntimeError:
            # Closed: nobody will ask.
            return None

    def _read(
        self,
        place: KeptIn,
        files: Sequence[FileIdentity],
        local: Mapping[int, str],
        columns: frozenset[str],
        found: Callable[[Recalled], None],
    ) -> None:
        try:
            folder = place.folder
            folder.check()
            by_path = {file.path: i for i, file in enumerate(files)}
            wanted = {_named(root) for root in _ancestors(files)}
            batches = [entry for entry in folder.files() if entry.name[:32] in wanted]
            # Of two batches that have a file, the later one is right.
            for entry in sorted(batches, key=lambda each: each.name[33:49], reverse=True)[:MOST_BATCHES]:
                if (recalled := self._read_batch(folder, entry, files, local, by_path, columns)) is not None:
                    found(recalled)
        except FileNotFoundError:
            return
        except Exception as error:  # whatever is wrong with a cache, footers can be read
            self._warn(f"kept footers in {place.directory} can't be used: {error}")

    def _read_batch(
        self,
        folder: KeptFolder,
        entry: KeptFile,
        files: Sequence[FileIdentity],
        local: Mapping[int, str],
        by_path: dict[str, int],
        columns: frozenset[str],
    ) -> Recalled | None:
        match = NAME.fullmatch(entry.name)
        assert match is not None
        try:
            with folder.opened(entry.name) as opened:
                file = ArrayFile(opened, match[3])
                if file.facts.get("made") != _made_by() or _named(str(file.facts["root"])) != match[1]:
                    return None
                batch = read_files(file)
                listed, kept = places_of(files, by_path, batch)
                same = np.fromiter(_still_same(files, local, listed.tolist(), batch.statuses[kept].tolist()), np.bool_, len(listed))
                listed, kept = listed[same], kept[same]
                return Recalled(listed, kept, batch, read_columns(file, columns)) if len(listed) else None
        except FileNotFoundError:
            # Another process has removed it to hold the bound.
            return None
        except (DamagedFileError, ValueError, KeyError, TypeError, IndexError) as error:
            self._warn(f"kept footers in {entry.name} are damaged and will be read anew: {error}")
            folder.remove(entry.name)
            return None

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s", text)


def _still_same(
    files: Sequence[FileIdentity], local: Mapping[int, str], listed: Sequence[int], statuses: Sequence[int]
) -> Iterator[bool]:
    """Whether each file may be the one that was kept; of other filesystems Spark's listing is all that there is to go by."""
    for i, status in zip(listed, statuses, strict=True):
        path = local.get(i)
        yield (status == 0) if path is None else still_the_same(files[i], path, status)


def _roots(paths: Sequence[str]) -> list[str]:
    """For each file the directory under which it is kept: its table's, or one above where there are too many."""
    roots = [_table_root(path.rpartition("/")[0]) for path in paths]
    while len(set(roots)) > MOST_ROOTS:
        above = {root: root.rpartition("/")[0] for root in set(roots)}
        roots = [above[root] for root in roots]
    return roots


@functools.lru_cache(maxsize=4096)
def _table_root(directory: str) -> str:
    """A directory without those of partitions (`year=2024`) at its end."""
    parts = directory.split("/")
    first = next((i for i, part in enumerate(parts) if i and "=" in part), len(parts))
    return "/".join(parts[:first])


def _ancestors(files: Iterable[FileIdentity]) -> set[str]:
    """All directories that hold one of these files, themselves or further down."""
    found: set[str] = set()
    for directory in {file.path.rpartition("/")[0] for file in files}:
        above = directory
        while above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _named(root: str) -> str:
    return hashlib.blake2b(root.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@functools.cache
def _made_by() -> dict[str, Any]:
    """What has understood the footers: this source, this pyarrow, and a Python whose status digests are alike."""
    sources = hashlib.blake2b(digest_size=16)
    for name in _READERS:
        sources.update(Path(__file__).parents[1].joinpath(f"{name}.py").read_bytes())
    return {"source": sources.hexdigest(), "pyarrow": pa.__version__, "python": sys.implementation.cache_tag}
