"""What the packs of a table hold, by file list: footers are read ahead in the background, verdicts use what is there by then."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_all
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rtfilter.store.arrays import Bools, Int64s
from rtfilter.store.file_lists import ColumnKey, FileList, PackLayout, file_list
from rtfilter.store.filters import KeyFilter
from rtfilter.store.footer_cache import FileIdentity, FooterCache
from rtfilter.store.footers import (
    SETTLED_ELSEWHERE_S,
    FileStats,
    FooterProblem,
    is_settled,
    matches_listing,
    parse_footer_tail,
    read_local_footer,
    status_digest,
)
from rtfilter.store.kept_folder import KeptIn
from rtfilter.store.kept_footers import KeptFooters
from rtfilter.store.kept_list import KEPT_FILE_BYTES, KeptList, Recalled
from rtfilter.store.packindex.footer import footer_digest
from rtfilter.store.table_bounds import table_might_match
from rtfilter.store.whole_files import as_whole_files, whole_files

DEFAULT_CACHE_BYTES = 256 << 20
MOST_LISTS = 64
MOST_LISTED_FILES = 1_000_000
# Opening a file waits for a disk, taking a footer apart holds Python's lock: more threads only wait for each other.
READER_THREADS = 4
# Longest time that a footer asked of the bridge counts as being under way.
BRIDGE_ANSWERS_WITHIN_S = 30.0
# Longest time that kept footers are waited for; they may be on a disk that hangs.
MOST_RECALL_S = 5.0
# Few files are read one by one, many in groups: a task costs as much as a small footer.
MOST_FILES_PER_TASK = 32
# Files asked of the bridge that are waited for together.
MOST_ASKED_TOGETHER = 256
# Of the memory bound: what bounds of whole files may take, for when those of their packs have to go.
SHARE_OF_WHOLE_FILES = 0.5
WHOLE_AT_ONCE = 1024
# Checking a file takes microseconds unless its filesystem hangs: that much is allowed even where nothing is waited for.
CHECK_GRACE_S = 0.25

_Read: TypeAlias = tuple[int, tuple[str, ...]]


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


@dataclass(slots=True)
class _UnderWay:
    """Footers that somebody reads: done when `done` is. Of those asked of the bridge: when they expire (monotonic), and how many
    are left."""

    done: Future[None]
    expires: float | None = None
    left: int = 0

    def is_pending(self, now: float) -> bool:
        return not self.done.done() and (self.expires is None or now < self.expires)


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
        self._under_way: dict[tuple[FileIdentity, str], _UnderWay] = {}
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
                under_way = _UnderWay(Future())
                reads = [(i, paths[i], names) for i, names in group]
                try:
                    self._readers.submit(self._read_group, files, reads, under_way.done)
                except RuntimeError:
                    # The store was closed: nobody will ask.
                    return
                # The task can't have put anything yet: it needs the lock for that.
                self._mark(files, group, under_way)

    def needs_bridge(self, digest: str, columns: Iterable[str]) -> list[int]:
        """Positions in the list of the files that only the bridge can read. They count as under way from now on."""
        with self._lock:
            files = self._list(digest)
            if files is None:
                return []
            wanted = _lowered(columns)
            files.asked_columns.update(wanted)
            missing = self._missing(files, wanted, files.remote)
            now = time.monotonic()
            if len(self._under_way) > MOST_LISTED_FILES:
                self._under_way = {read: each for read, each in self._under_way.items() if each.is_pending(now)}
            expires = now + BRIDGE_ANSWERS_WITHIN_S
            for begin in range(0, len(missing), MOST_ASKED_TOGETHER):
                group = missing[begin : begin + MOST_ASKED_TOGETHER]
                self._mark(files, group, _UnderWay(Future(), expires, sum(len(names) for _, names in group)))
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

    def _missing(self, files: FileList, columns: Sequence[str], indices: Iterable[int]) -> list[_Read]:
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
                if not self._is_under_way(file, name, now) and not files.covers(i, name)
            )
            if names:
                missing.append((i, names))
        return missing

    def _is_under_way(self, file: FileIdentity, name: str, now: float) -> bool:
        under_way = self._under_way.get((file, name))
        return under_way is not None and under_way.is_pending(now)

    def _mark(self, files: FileList, reads: Iterable[_Read], under_way: _UnderWay) -> None:
        for i, names in reads:
            for name in names:
                self._under_way[files.files[i], name] = under_way

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
            for name in columns:
                under_way = self._under_way.pop((file, name), None)
                # A group's future is its task's to set.
                if under_way is not None and under_way.expires is not None:
                    under_way.left -= 1
                    if not under_way.left:
                        under_way.done.set_result(None)

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
            pending = self._pending(files, _lowered(key.name for key in keys))
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
        changed, replaced = _changed_files(files, layout, deadline)
        if replaced:
            self._forget(files, layout, replaced)
        return _without_files(verdict, changed, [files.files[i].path for i in changed]) if changed else verdict

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

    def _pending(self, files: FileList, columns: Sequence[str]) -> set[Future[None]]:
        if not self._under_way:
            return set()
        now = time.monotonic()
        columns = [name for name in columns if not files.is_complete(name)]
        found = (self._under_way.get((file, name)) for file in files.files for name in columns)
        return {each.done for each in found if each is not None and each.is_pending(now)}


def _lowered(columns: Iterable[str]) -> list[str]:
    return sorted({name.lower() for name in columns})


def _changed_files(files: FileList, layout: PackLayout, deadline: float) -> tuple[list[int], list[int]]:
    """Known local files that are not (or past the deadline: not surely) as they were read, and those of them that are as listed."""
    changed, replaced = [], []
    statuses = layout.statuses.tolist()
    for i, path in files.local:
        if layout.counts[i] < 0:
            continue
        file = files.files[i]
        try:
            status = os.stat(path) if time.monotonic() < deadline + CHECK_GRACE_S else None
        except OSError:
            status = None
        if status is None or not matches_listing(status, file.size_bytes, file.mtime_ms):
            changed.append(i)
        elif status_digest(status) != statuses[i]:
            changed.append(i)
            replaced.append(i)
    return changed, replaced


def _without_files(verdict: Verdict, files: Sequence[int], paths: Sequence[str]) -> Verdict:
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
