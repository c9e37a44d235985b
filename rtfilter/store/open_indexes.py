"""The indexes that a table has, kept open between queries."""

from __future__ import annotations

import functools
import logging
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_actions.made_indexes import lost_from
from rtfilter.store.index_files.data_files import LoadedBatches
from rtfilter.store.index_files.index_problems import GONE, INDEX_TOO_LARGE, INDEX_UNREACHABLE, IndexProblemError, problem_of
from rtfilter.store.index_files.log import ACTIVE, read_log
from rtfilter.store.index_files.open_limits import Allowance
from rtfilter.store.index_files.storage import LOG, LocalStorage
from rtfilter.store.index_files.tree_snapshot import is_index_name
from rtfilter.store.index_reading.background_opening import MOST_CATALOGS_BYTES, WAIT_S, Openings
from rtfilter.store.index_reading.found_index import TRY_AGAIN_S, ShelvedIndex, problem_of_log, shelved_in
from rtfilter.store.index_reading.logged_once import ToldOnce
from rtfilter.store.index_reading.reader import STORE_FOLDER, PackIndex, table_root
from rtfilter.store.index_reading.reading_journal import ReadingJournal
from rtfilter.store.parquet.paths import absolute, is_remote, local_path
from rtfilter.store.remote.index_copies import Mirror
from rtfilter.store.remote.remote_steps import MOST_INDEXES_IN_A_PLACE

# More than a place may hold: looking at all of them in turn must not close what the next query needs.
MOST_OPEN = 2 * MOST_INDEXES_IN_A_PLACE
# Listed with every query, in some hundredths of a second.
MOST_LOG_FILES = 50_000

_log = logging.getLogger(__name__)


def store_places(paths: Iterable[str], location: str) -> tuple[str, ...]:
    """The directories that may hold indexes of a table with these files (Hadoop's texts): `location`, or in its roots."""
    if location:
        return (absolute(location),)
    a_file_of_each = {path.rpartition("/")[0]: path for path in paths}
    folders = {os.path.dirname(local_path(path) or path) for path in a_file_of_each.values()}
    return tuple(sorted({os.path.join(without_partitions(folder), STORE_FOLDER) for folder in folders}))


def index_folders(place: str) -> list[str]:
    """The directories of indexes in a place that holds some; none when it is not there.

    Raises:
        IndexStorageError: it can't be listed.
    """
    try:
        with os.scandir(place) as entries:
            found = sorted(each.path for each in entries if each.is_dir(follow_symlinks=False) and is_index_name(each.name))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise IndexProblemError(INDEX_UNREACHABLE, f"can't list {place}: {error.strerror}.") from error
    return found


def _too_many(place: str, count: int) -> str:
    return (
        f"{place} holds {count} indexes; queries look at the first {MOST_INDEXES_IN_A_PLACE} by name. Leave "
        "rtfilter.store.location empty, so that each table keeps its own, or give groups of tables places of their own."
    )


def _latest_entry(storage: LocalStorage) -> str:
    """A log's latest entry by name and file: an index that was removed and made again has the same names. Empty without one."""
    names = storage.names(LOG)
    if not names:
        return ""
    try:
        found = os.stat(os.path.join(storage.place, names[-1]))
    except OSError:
        return f"{names[-1]} is gone"
    return f"{names[-1]} {found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns}"


def without_partitions(folder: str) -> str:
    """The directory above all that are named like a partition."""
    while "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    return folder


@dataclass(frozen=True, slots=True)
class _Opened:
    """What was found when the log's latest entry was `latest` (`_latest_entry`); `at_s` is monotonic. None: there is no index."""

    latest: str
    found: ShelvedIndex | None
    at_s: float

    @property
    def is_over(self) -> bool:
        """Whether there was something the matter, and that is a while ago."""
        return self.found is not None and bool(self.found.problems) and time.monotonic() - self.at_s >= TRY_AGAIN_S


class IndexShelf:
    """Thread-safe. An index is opened anew when its log has gone on."""

    def __init__(self, journal: ReadingJournal | None = None) -> None:
        self._lock = threading.Lock()
        self._loaded = LoadedBatches()
        self._openings = Openings(journal)
        self.mirror = Mirror(self._loaded, self._openings)
        self._open: OrderedDict[str, _Opened] = OrderedDict()
        self._told = ToldOnce()

    def shelved(self, places: Iterable[str], cache_directory: str = "", deadline_s: float = math.inf) -> list[ShelvedIndex]:
        """All indexes in these places; of those that can't be used, and of a place that can't be listed, what is the matter.

        What is known of places elsewhere is that of one cache directory. Indexes that are not open by `deadline_s` (monotonic), or
        after half a second, are left for later queries.
        """
        found: list[ShelvedIndex] = []
        deadline_s = min(deadline_s, time.monotonic() + WAIT_S)
        for place in places:
            found += self.mirror.shelved(place, cache_directory) if is_remote(place) else self._in_place(place, deadline_s)
        return found

    def _in_place(self, place: str, deadline_s: float) -> list[ShelvedIndex]:
        try:
            folders = index_folders(place)
        except IndexStorageError as error:
            self._log_once(place, error)
            return [ShelvedIndex("", place, None, problem_of(error))]
        if len(folders) > MOST_INDEXES_IN_A_PLACE:
            self._log_once(place, IndexProblemError(INDEX_UNREACHABLE, _too_many(place, len(folders))))
        else:
            self._told.forget(place)
        if not folders and not os.path.isdir(place):
            return self._gone(place)
        mine = (self._shelved(folder, deadline_s) for folder in folders[:MOST_INDEXES_IN_A_PLACE])
        return [found for found in mine if found is not None]

    def _gone(self, place: str) -> list[ShelvedIndex]:
        """The indexes that were open or made in a place that is not there any more: somebody has overwritten its table."""
        with self._lock:
            before = [(folder, each.found) for folder, each in self._open.items() if os.path.dirname(folder) == place]
        roots = dict.fromkeys(lost_from([place]), os.path.dirname(place))
        for folder, found in before:
            if found is not None:
                roots[folder] = (found.root if found.index is None else found.index.root) or os.path.dirname(place)
        return [shelved_in(folder, None, GONE, root) for folder, root in roots.items()]

    def _shelved(self, folder: str, deadline_s: float) -> ShelvedIndex | None:
        storage = LocalStorage(folder, MOST_LOG_FILES)
        with self._lock:
            known = self._open.get(folder)
        try:
            self._openings.check(folder)
            latest = _latest_entry(storage)
            with self._lock:
                if known is not None and known.latest == latest and not known.is_over:
                    if folder in self._open:
                        self._open.move_to_end(folder)
                    self._openings.logs.get(folder)
                    return known.found
            before = None if known is None or known.found is None or known.is_over else known.found.index
            opened = self._openings.run(folder, "log", functools.partial(self._open_anew, storage, latest, before), deadline_s)
        except IndexStorageError as error:
            problem = problem_of(error)
            if problem.reason == INDEX_TOO_LARGE:
                self._openings.leave_alone(folder, problem)
            self._log_once(folder, error)
            before_it = None if known is None else known.found
            root = None if before_it is None else before_it.root if before_it.index is None else before_it.index.root
            return shelved_in(folder, None, problem, root)
        self._told.forget(folder)
        return opened

    def _open_anew(self, storage: LocalStorage, latest: str, before: PackIndex | None, allowance: Allowance) -> ShelvedIndex | None:
        opened = self._opened(storage, before, allowance)
        if opened is not None and opened.index is not None:
            self._openings.logs.put(storage.place, None, opened.index.snapshot.bytes)
        with self._lock:
            self._open[storage.place] = _Opened(latest, opened, time.monotonic())
            while len(self._open) > MOST_OPEN:
                self._openings.logs.forget(self._open.popitem(last=False)[0])
        return opened

    def limit_memory(self, footers_bytes: int) -> None:
        """Indexes may take more where footers may (`rtfilter.footers.cacheBytes`)."""
        self._openings.catalogs.most_bytes = max(MOST_CATALOGS_BYTES, footers_bytes // 2)

    def _opened(self, storage: LocalStorage, known: PackIndex | None, allowance: Allowance) -> ShelvedIndex | None:
        """The index anew, or the known one while an action is under way and the snapshot the same; None: there is none."""
        view = read_log(storage, allowance)
        problem = problem_of_log(view)
        if view.state == ACTIVE and view.stable is not None and view.snapshot is not None:
            same = known is not None and view.stable.version == known.version
            index = known if same else PackIndex(storage, view.snapshot, view.stable.version, self._loaded, self._openings)
            return shelved_in(storage.place, index, problem)
        root = None if view.snapshot is None else table_root(storage.place, view.snapshot)
        return None if problem is None else shelved_in(storage.place, None, problem, root)

    def _log_once(self, folder: str, error: IndexStorageError) -> None:
        if self._told.is_news(folder, str(error)):
            _log.warning("index in %s: %s What it can't say is read.", folder, error)
