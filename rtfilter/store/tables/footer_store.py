"""What the packs of a table hold, by file list: footers are read ahead in the background, verdicts use what is there by then."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_all
from dataclasses import replace

from rtfilter.store.bounds.table_bounds import table_might_match
from rtfilter.store.footer_cache.footer_memory import FileIdentity, FooterCache
from rtfilter.store.footer_cache.kept_folder import KeptIn
from rtfilter.store.footer_cache.kept_footers import KeptFooters
from rtfilter.store.footer_cache.kept_list import KEPT_FILE_BYTES, KeptList, Recalled
from rtfilter.store.parquet.footer_digest import footer_digest
from rtfilter.store.parquet.pack_statistics import (
    SETTLED_ELSEWHERE_S,
    FileStats,
    FooterProblem,
    is_settled,
    parse_footer_tail,
    read_local_footer,
)
from rtfilter.store.tables.changed_files import changed_files
from rtfilter.store.tables.file_lists import ColumnKey, FileList, PackLayout, file_list
from rtfilter.store.tables.reads_under_way import Read, ReadsUnderWay
from rtfilter.store.tables.verdict import ColumnFilter, Verdict, without_files
from rtfilter.store.tables.whole_files import as_whole_files, whole_files

DEFAULT_CACHE_BYTES = 256 << 20
MOST_LISTS = 64
MOST_LISTED_FILES = 1_000_000
# Opening a file waits for a disk, taking a footer apart holds Python's lock: more threads only wait for each other.
READER_THREADS = 4
# Longest time that kept footers are waited for; they may be on a disk that hangs.
MOST_RECALL_S = 5.0
# Few files are read one by one, many in groups: a task costs as much as a small footer.
MOST_FILES_PER_TASK = 32
# Of the memory bound: what bounds of whole files may take, for when those of their packs have to go.
SHARE_OF_WHOLE_FILES = 0.5
WHOLE_AT_ONCE = 1024


class FooterStore:
    """Thread-safe. File lists by digest, statistics by file identity, both bounded, least recently used first out.

    A file of which nothing is known (yet) is never an error: verdicts mark it, and it is read whole.
    """

    def __init__(
        self,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        most_lists: int = MOST_LISTS,
        threads: int = READER_THREADS,
    ) -> None:
        self._lock = threading.Lock()
        self._cache_bytes = cache_bytes
        self._cache = FooterCache(cache_bytes)
        self._most_lists = most_lists
        self._lists: OrderedDict[str, FileList] = OrderedDict()
        self._under_way = ReadsUnderWay()
        self.kept = KeptFooters()
        # How many footers were read in this application, and of how many files they were found kept.
        self.footers_read = 0
        self.footers_recalled = 0
        self._readers = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="footers")

    def close(self) -> None:
        """Ends the reading threads; what they have not begun is dropped."""
        self._readers.shutdown(wait=False, cancel_futures=True)
        self.kept.close()

    def limit_cache(self, cache_bytes: int) -> None:
        """Sets the memory bound (`rtfilter.footers.cacheBytes`)."""
        with self._lock:
            self._cache_bytes = cache_bytes
            self._shrink(None)

    @property
    def used_bytes(self) -> int:
        """Memory that statistics take, of single files and laid out."""
        with self._lock:
            return self._cache.used_bytes + sum(files.memory_bytes for files in self._lists.values())

    # File lists

    def knows(self, digest: str, columns: Iterable[str]) -> bool:
        """Whether the list is there and nothing would have to be asked of the bridge for these columns."""
        with self._lock:
            files = self._list(digest)
            return files is not None and not self._missing(files, _lowered(columns), files.remote)

    def add_list(self, digest: str, paths: Sequence[str], sizes: Sequence[int], mtimes: Sequence[int]) -> tuple[FileIdentity, ...]:
        """Makes a file list known: Hadoop path texts, sizes in bytes, modification times in ms. Gives its files.

        Raises:
            ValueError: the three are not of one length.
        """
        with self._lock:
            known = self._lists.get(digest)
        files = file_list(paths, sizes, mtimes) if known is None else known
        with self._lock:
            files = self._lists.setdefault(digest, files)
            self._lists.move_to_end(digest)
            while len(self._lists) > 1 and (len(self._lists) > self._most_lists or self._listed_files() > MOST_LISTED_FILES):
                self._lists.popitem(last=False)
        return files.files

    def _listed_files(self) -> int:
        return sum(len(files.files) for files in self._lists.values())

    def _list(self, digest: str, cache_directory: str | None = None) -> FileList | None:
        """A list, without what another cache directory than this one has of its files."""
        files = self._lists.get(digest)
        if files is None:
            return None
        if cache_directory is not None and not files.serves(cache_directory):
            files = self._lists[digest] = files.without_kept()
        self._lists.move_to_end(digest)
        return files

    # Footers

    def recall(
        self, digest: str, place: KeptIn, columns: Iterable[str], wait_s: float, told: Callable[[FileIdentity, bytes], None]
    ) -> bool:
        """Looks in a cache directory for what earlier applications have read of a list, waiting at most so many seconds.

        False while it is worth to wait longer.

        What comes later counts from then on, and what is read of the list from now on is kept there. `told`: hears the digest of
        the tail of each file that only the bridge can read.
        """
        with self._lock:
            files = self._list(digest, place.directory)
            if files is None:
                return True
            files.place = place
            wanted = {name for name in _lowered(columns) if name not in files.recalled}
            files.recalled |= wanted

        def found(recalled: Recalled) -> None:
            for i, tail in recalled.tails():
                told(files.files[i], tail)
            with self._lock:
                self.footers_recalled += self._take(files, recalled)
                if files.kept is not None and files.layout is not None:
                    files.kept.drop_others(files.layout.counts, files.layout.footers, files.layout.statuses)

        recall = self.kept.recall(place, files.files, dict(files.local), wanted, found) if wanted else None
        now = time.monotonic()
        with self._lock:
            if recall is not None:
                files.recalls.append((recall, now))
            recalls = [each for each, _ in files.recalls]
        wait_for_all(recalls, wait_s)
        with self._lock:
            files.recalls = [(each, since) for each, since in files.recalls if not each.done() and now - since < MOST_RECALL_S]
            return not files.recalls

    def prefetch(self, digest: str, columns: Iterable[str]) -> None:
        """Starts to read, in the background, what is missing of these columns in local files. Unknown digest: nothing."""
        with self._lock:
            files = self._list(digest)
            if files is None:
                return
            wanted = _lowered(columns)
            files.asked_columns.update(wanted)
            paths = dict(files.local)
            missing = self._missing(files, wanted, paths)
            per_task = max(1, min(MOST_FILES_PER_TASK, len(missing) // (4 * READER_THREADS)))
            for begin in range(0, len(missing), per_task):
                group = missing[begin : begin + per_task]
                done: Future[None] = Future()
                reads = [(i, paths[i], names) for i, names in group]
                try:
                    self._readers.submit(self._read_group, files, reads, done)
                except RuntimeError:
                    # The store was closed: nobody will ask.
                    return
                # The task can't have put anything yet: it needs the lock for that.
                self._under_way.begin(files.files, group, done)

    def needs_bridge(self, digest: str, columns: Iterable[str]) -> list[int]:
        """Positions in the list of the files that only the bridge can read. They count as under way from now on."""
        with self._lock:
            files = self._list(digest)
            if files is None:
                return []
            wanted = _lowered(columns)
            files.asked_columns.update(wanted)
            missing = self._missing(files, wanted, files.remote)
            self._under_way.expect_of_bridge(files.files, missing, time.monotonic())
            return [i for i, _ in missing]

    def put_footer_bytes(self, digest: str, index: int, tail: bytes) -> None:
        """A footer from the bridge: the raw end of file `index` of the list. What does not fit a list is dropped."""
        with self._lock:
            files = self._lists.get(digest)
            if files is None or not 0 <= index < len(files.files):
                return
            file, columns = files.files[index], sorted(files.asked_columns)
        found = parse_footer_tail(bytes(tail), columns)
        if isinstance(found, FileStats):
            # A filesystem without times has nothing to tell two files of one size and path apart.
            settled = file.mtime_ms > 0 and is_settled(file.mtime_ms * 1_000_000, time.time_ns(), SETTLED_ELSEWHERE_S)
            found = replace(found, settled=settled, tail=footer_digest(bytes(tail)))
        self._put(files, index, columns, found)

    def put_footer_error(self, digest: str, index: int, error: str) -> None:
        """The bridge could not read file `index` of the list."""
        with self._lock:
            files = self._lists.get(digest)
            if files is None or not 0 <= index < len(files.files):
                return
            columns = sorted(files.asked_columns)
        self._put(files, index, columns, FooterProblem(f"Spark can't read the footer: {error}"))

    def problems(self, digest: str) -> dict[str, str]:
        """Path and reason of the files of a list that could not be read lately."""
        with self._lock:
            files = self._lists.get(digest)
            known = [] if files is None else [(file.path, self._cache.problem(file)) for file in files.files]
        return {path: problem.reason for path, problem in known if problem is not None}

    def _missing(self, files: FileList, columns: Sequence[str], indices: Iterable[int]) -> list[Read]:
        """Of these files, the columns that are neither known nor under way."""
        columns = [name for name in columns if not files.is_complete(name)]
        if not columns:
            return []
        now = time.monotonic()
        missing = []
        for i in indices:
            file = files.files[i]
            names = tuple(
                name
                for name in self._cache.lacks(file, columns)
                if not self._under_way.has(file, name, now) and not files.covers(i, name)
            )
            if names:
                missing.append((i, names))
        return missing

    def _read_group(self, files: FileList, group: list[tuple[int, str, tuple[str, ...]]], done: Future[None]) -> None:
        try:
            for i, path, names in group:
                file = files.files[i]
                self._put(files, i, names, read_local_footer(path, file.size_bytes, file.mtime_ms, names))
        finally:
            done.set_result(None)

    def _put(self, files: FileList, index: int, columns: Iterable[str], found: FileStats | FooterProblem) -> None:
        file = files.files[index]
        if files.place is not None and isinstance(found, FileStats):
            self.kept.note(files.place, file, found)
        with self._lock:
            self.footers_read += 1
            if isinstance(found, FileStats):
                self._hold_whole(files, index, found)
            self._cache.put(file, found)
            self._under_way.end(file, columns)

    def _hold_whole(self, files: FileList, index: int, stats: FileStats) -> None:
        """Where memory is short: keeps bounds of files that were read, now and before, for when those of their packs have to go."""
        if not files.is_short:
            if self._cache.used_bytes + stats.memory_bytes <= self._cache.limit_bytes // 2:
                return
            files.is_short = True
            files.to_condense = [(i, known) for i, file in enumerate(files.files) if (known := self._cache.peek(file)) is not None]
        files.to_condense.append((index, stats))
        if len(files.to_condense) >= WHOLE_AT_ONCE:
            self._condense(files)

    def _condense(self, files: FileList) -> None:
        waiting, files.to_condense = files.to_condense, []
        for begin in range(0, len(waiting), WHOLE_AT_ONCE):
            group = [(i, files.files[i], stats) for i, stats in waiting[begin : begin + WHOLE_AT_ONCE]]
            self._take(files, whole_files(group))

    def _take(self, files: FileList, recalled: Recalled) -> int:
        """Adds kept files to a list, as far as memory allows; how many are known only now."""
        held = len(files.files) * KEPT_FILE_BYTES if files.kept is None else files.kept.memory_bytes
        room = self._cache_bytes * SHARE_OF_WHOLE_FILES - held
        if not recalled.is_whole and recalled.memory_bytes > room:
            recalled = as_whole_files(recalled)
        if recalled.memory_bytes > room:
            return 0
        if files.kept is None:
            files.kept = KeptList(len(files.files))
        taken = len(files.kept.take(recalled))
        self._shrink(files)
        return taken

    def _shrink(self, current: FileList | None) -> None:
        """Holds the memory bound: layouts of tables not used for long go first when they take over half of it."""
        laid_out = sum(files.memory_bytes for files in self._lists.values())
        for files in self._lists.values():
            if laid_out <= self._cache_bytes // 2:
                break
            if files is not current:
                laid_out -= files.memory_bytes
                files.drop_all()
        self._cache.limit_bytes = max(0, self._cache_bytes - laid_out)
        self._cache.shrink()

    # Verdicts

    def lay_out(self, digest: str, types: Mapping[str, str], case_sensitive: bool = False) -> None:
        """Lays out columns, which have these types by Spark, before a verdict on them is asked for.

        Nothing where the list or a footer is still to come: what is laid out of some files has to be made anew with the others.
        """
        keys = [ColumnKey(name, type, case_sensitive) for name, type in types.items()]
        with self._lock:
            files = self._list(digest)
            if files is None or not keys or not all(files.is_complete(key.name.lower()) for key in keys):
                return
            files.laid_out(keys, self._cache)
            self._shrink(files)

    def verdict(
        self,
        digest: str,
        filters: Sequence[ColumnFilter],
        case_sensitive: bool = False,
        wait_s: float = 1.0,
        cache_directory: str | None = None,
    ) -> Verdict | None:
        """Which packs each filter keeps; None when the digest is not known.

        Waits at most `wait_s` seconds in all for footers under way. What was kept counts if it is from `cache_directory`. A local
        file counts only while its size and time are as listed, and it is the very file whose footer was read.
        """
        deadline = time.monotonic() + wait_s
        keys = [ColumnKey(each.column, each.type, case_sensitive) for each in filters]
        with self._lock:
            files = self._list(digest, cache_directory)
            if files is None:
                return None
            unknown = [name for name in _lowered(key.name for key in keys) if not files.is_complete(name)]
            pending = self._under_way.pending(files.files, unknown, time.monotonic())
        if pending:
            wait_for_all(pending, timeout=max(0.0, deadline - time.monotonic()))
        with self._lock:
            self._condense(files)
            layout, columns = files.laid_out(keys, self._cache)
            self._shrink(files)
        keep = tuple(table_might_match(column.bounds, each.keys) for column, each in zip(columns, filters, strict=True))
        spans = tuple(column.bounds.value_span for column in columns)
        bounded = tuple(~column.bounds.unknown for column in columns)
        of_columns = tuple(column.problem for column in columns)
        whole = layout.whole if bool(layout.whole.any()) else None
        problem = self._problem(files, layout)
        verdict = Verdict(layout.counts, layout.starts, layout.rows, keep, spans, bounded, problem, of_columns, whole)
        changed, replaced = changed_files(files, layout, deadline)
        if replaced:
            self._forget(files, layout, replaced)
        return without_files(verdict, changed, [files.files[i].path for i in changed]) if changed else verdict

    def _problem(self, files: FileList, layout: PackLayout) -> str:
        """What is the matter with the first file that could not be read lately."""
        with self._lock:
            if not self._cache.has_problems:
                return ""
            known = ((files.files[i].path, self._cache.problem(files.files[i])) for i in layout.unread)
            return next((f"{os.path.basename(path)}: {found.reason}" for path, found in known if found is not None), "")

    def _forget(self, files: FileList, layout: PackLayout, replaced: Iterable[int]) -> None:
        """Has the footers of files read again that others with their size and time have taken the place of."""
        statuses = layout.statuses.tolist()
        with self._lock:
            for i in replaced:
                known = self._cache.get(files.files[i])
                if known is not None and known.status == statuses[i]:
                    self._cache.drop(files.files[i])
                if files.kept is not None and files.kept.statuses[i] == statuses[i]:
                    files.kept.drop(i)
            if files.layout is layout:
                files.drop_layout()


def _lowered(columns: Iterable[str]) -> list[str]:
    return sorted({name.lower() for name in columns})
