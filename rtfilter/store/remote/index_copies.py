"""Indexes on filesystems that Python can't open, as the planner host has them: copies that the bridge has brought.

A query never waits for them. What is looked at and copied while one query runs is there for the next.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from rtfilter.store.index_files.data_files import LoadedBatches
from rtfilter.store.index_files.index_problems import (
    INDEX_CACHE,
    INDEX_COMING,
    INDEX_DELETED,
    INDEX_UNFINISHED,
    IndexProblem,
    problem_of,
)
from rtfilter.store.index_files.local_cache import LocalCache
from rtfilter.store.index_files.log import ACTIVE, LogView
from rtfilter.store.index_files.storage import LOG
from rtfilter.store.index_reading.background_opening import Openings
from rtfilter.store.index_reading.found_index import TRY_AGAIN_S, ShelvedIndex, problem_of_log, shelved_in
from rtfilter.store.index_reading.logged_once import ToldOnce
from rtfilter.store.index_reading.reader import PackIndex, table_root
from rtfilter.store.remote.index_copy import MirroredFiles, bring, end_of_log, files_in, needed_files
from rtfilter.store.remote.remote_steps import Answer, RemoteEntry, Wish, entries_of, list_wish, proper_folders

# A place is not looked at more often than this.
LOOK_AGAIN_S = 2.0
# A look of which nothing was heard for this time is over; the bridge that asked is gone.
LOOK_LASTS_S = 300.0
MOST_LOOKS = 32
# Places whose indexes are kept open; those that were looked at longest ago go first.
MOST_PLACES = 256
# Of a table in more directories than that, indexes are looked for in the first ones.
MOST_PLACES_AT_ONCE = 16

UNSEEN = IndexProblem(INDEX_COMING, "which there are is found out while queries run; what is there is used by later ones")

# States that somebody has wished for.
_QUIET = (INDEX_DELETED, INDEX_UNFINISHED)

_log = logging.getLogger(__name__)

Look = Generator[list[Wish], Sequence[Answer], None]
# A directory of indexes, and the cache directory that their copies are in: what one session's cache holds is nothing to another's.
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """An index that queries can use, and the columns (lower case) whose sketches are here.

    `opened_s`: when, monotonic. `is_checked`: it has problems, but its copies are what their names say.
    """

    files: MirroredFiles
    index: PackIndex
    columns: frozenset[str]
    opened_s: float
    is_checked: bool = False


@dataclass(slots=True)
class _Place:
    """What is known of a directory of indexes. Times are monotonic; `looked_s` None: not looked at to the end yet.

    `shelved` is what the latest look has found, `indexes` what is here of it, by directory.
    """

    indexes: dict[str, _Mirrored] = field(default_factory=dict)
    shelved: tuple[ShelvedIndex, ...] = ()
    columns: frozenset[str] = frozenset()
    looked_s: float | None = None
    begun_s: float | None = None


class Mirror:
    """Thread-safe. What is wanted goes out as steps, what the bridge has found comes in as their answers."""

    def __init__(self, loaded: LoadedBatches, openings: Openings | None = None) -> None:
        self._lock = threading.Lock()
        self._loaded, self._openings = loaded, openings
        self._places: OrderedDict[_Key, _Place] = OrderedDict()
        self._looks: OrderedDict[str, tuple[Look, tuple[_Key, ...]]] = OrderedDict()
        self._told = ToldOnce()

    def shelved(self, place: str, cache_directory: str) -> tuple[ShelvedIndex, ...]:
        """The indexes of a place by the latest look at it with this cache: those that are here, and what is the matter with them or
        others."""
        with self._lock:
            known = self._places.get((place, cache_directory))
            if known is None or known.looked_s is None:
                return (ShelvedIndex("", place, None, UNSEEN),)
            return known.shelved

    def look(self, places: Iterable[str], columns: Iterable[str], cache: LocalCache) -> tuple[str | None, list[Wish]]:
        """Begins a look at places for the sketches of these columns: its token, and its first steps. None: there is no need."""
        wanted = frozenset(column.lower() for column in columns)
        now = time.monotonic()
        with self._lock:
            keys = ((place, cache.directory) for place in islice(places, MOST_PLACES_AT_ONCE))
            mine = tuple(key for key in keys if self._is_due(key, wanted, now))
            for key in mine:
                self._places.setdefault(key, _Place()).begun_s = now
                self._places.move_to_end(key)
            self._forget_some()
            if not mine:
                return None, []
            token = uuid.uuid4().hex
            self._looks[token] = (self._look_at_all(mine, wanted, cache), mine)
            while len(self._looks) > MOST_LOOKS:
                forgotten, its_places = self._looks.popitem(last=False)[1]
                forgotten.close()
                for key in its_places:
                    self._places[key].begun_s = None
        return self.go_on(token, None)

    def go_on(self, token: str, answers: Sequence[Answer] | None) -> tuple[str | None, list[Wish]]:
        """Takes the answers to a look's latest steps in; gives its next ones, and no token when it is over."""
        with self._lock:
            found = self._looks.pop(token, None)
        if found is None:
            return None, []
        look, places = found
        try:
            wishes = next(look) if answers is None else look.send(answers)
        except StopIteration:
            with self._lock:
                for key in places:
                    self._places[key].begun_s = None
            return None, []
        with self._lock:
            self._looks[token] = found
        return token, wishes

    def _forget_some(self) -> None:
        quiet = [key for key, known in self._places.items() if known.begun_s is None]
        for key in quiet[: max(0, len(self._places) - MOST_PLACES)]:
            del self._places[key]

    def _is_due(self, key: _Key, columns: frozenset[str], now: float) -> bool:
        known = self._places.get(key)
        if known is None:
            return True
        if known.begun_s is not None and now - known.begun_s < LOOK_LASTS_S:
            return False
        return known.looked_s is None or now - known.looked_s >= LOOK_AGAIN_S or not columns <= known.columns

    def _look_at_all(self, places: Sequence[_Key], columns: frozenset[str], cache: LocalCache) -> Look:
        for key in places:
            place, known, problem = key[0], self._places[key], None
            try:
                yield from self._look_at(key, columns, cache)
            except Exception as error:  # whatever the bridge has answered: what was here before is still here
                problem = problem_of(error)
            self._log_once(place, problem, cache)
            with self._lock:
                known.looked_s = time.monotonic()
                if problem is not None:
                    here = tuple(shelved_in(folder, each.index) for folder, each in known.indexes.items())
                    known.shelved = (*here, ShelvedIndex("", place, None, problem))

    def _look_at(self, key: _Key, columns: frozenset[str], cache: LocalCache) -> Look:
        wish = list_wish(key[0])
        answers = yield [wish]
        folders = proper_folders(entries_of(wish, answers[0]))
        wishes = [list_wish(f"{folder}/{LOG}") for folder in folders]
        listings = (yield wishes) if wishes else ()
        with self._lock:
            known = self._places[key]
            before = dict(known.indexes)
            # What was asked for earlier stays wanted: queries alternate.
            columns |= known.columns
        found: dict[str, _Mirrored] = {}
        shelved = []
        for folder, wish, listing in zip(folders, wishes, listings, strict=True):
            mirrored, problem, root = yield from self._look_into(folder, wish, listing, before.get(folder), columns, cache)
            self._log_once(folder, problem, cache)
            if mirrored is not None:
                found[folder] = mirrored
            if mirrored is not None or problem is not None:
                shelved.append(shelved_in(folder, None if mirrored is None else mirrored.index, problem, root))
        with self._lock:
            known.indexes, known.shelved, known.columns = found, tuple(shelved), columns

    def _look_into(
        self, folder: str, wish: Wish, listing: Answer, before: _Mirrored | None, columns: frozenset[str], cache: LocalCache
    ) -> Generator[list[Wish], Sequence[Answer], tuple[_Mirrored | None, IndexProblem | None, str | None]]:
        """One index with all that queries on these columns need of it, what is the matter with it, and where its table is."""
        root = None if before is None else before.index.root
        try:
            entries: list[RemoteEntry] = entries_of(wish, listing)
            files = files_in(folder, entries, None if before is None else before.files, cache)
            view = yield from end_of_log(files)
            root = root if view.snapshot is None else table_root(folder, view.snapshot)
            mirrored = yield from self._mirrored(files, view, before, columns)
        except Exception as error:  # whatever is in its files: an older snapshot stays true of the files that it knows
            return before, problem_of(error), root
        return mirrored, problem_of_log(view), root

    def _mirrored(
        self, files: MirroredFiles, view: LogView, before: _Mirrored | None, columns: frozenset[str]
    ) -> Generator[list[Wish], Sequence[Answer], _Mirrored | None]:
        """An active index with its data files; None for another one."""
        if view.state != ACTIVE or view.stable is None or view.snapshot is None:
            return None
        needed = needed_files(view.snapshot, columns)
        version = view.stable.version
        same = before if before is not None and before.index.version == version and before.columns == columns else None
        problems = [] if same is None else list(same.index.problems.values())
        # A copy may be damaged, or have been away for a while.
        if same is not None and problems and not same.is_checked:
            files.cache.discard_damaged(file.name for file in needed)
        brought = yield from bring(files, needed)
        now = time.monotonic()
        is_coming = any(problem.reason == INDEX_COMING for problem in problems)
        # An index keeps what it could not open as not there, though the copies are well: nothing but a new one tries again.
        if same is None or brought or is_coming or (problems and now - same.opened_s >= TRY_AGAIN_S):
            files.keep_only(view.stable.number)
            if self._openings is not None:
                self._openings.logs.put((files.place, files.cache_directory), None, view.snapshot.bytes + files.entries_bytes)
            return _Mirrored(files, PackIndex(files, view.snapshot, version, self._loaded, self._openings), columns, now)
        if self._openings is not None:
            self._openings.logs.get((files.place, files.cache_directory))
        return replace(same, is_checked=bool(problems))

    def _log_once(self, what: str, problem: IndexProblem | None, cache: LocalCache) -> None:
        if problem is None:
            self._told.forget(what)
        elif problem.reason == INDEX_CACHE:
            # The same for all indexes.
            if self._told.is_news(cache.folder, problem.text):
                _log.warning("indexes on other filesystems: %s They are not used.", problem.text)
        elif problem.reason not in _QUIET and self._told.is_news(what, problem.text):
            _log.warning("index in %s: %s It is not used as it is now.", what, problem.text)
