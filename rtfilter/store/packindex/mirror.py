"""Indexes on filesystems that Python can't open, as the planner host has them: copies that the bridge has brought.

A query never waits for them. What is looked at and copied while one query runs is there for the next.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rtfilter.errors import IndexStorageError
from rtfilter.store.packindex.datafiles import LoadedBatches
from rtfilter.store.packindex.local_cache import LocalCache, discard
from rtfilter.store.packindex.log import ACTIVE, LogView, read_log
from rtfilter.store.packindex.reader import PackIndex
from rtfilter.store.packindex.remote import (
    Answer,
    RemoteEntry,
    Wish,
    checked,
    down_wish,
    entries_of,
    list_wish,
    proper_folders,
    text_wish,
)
from rtfilter.store.packindex.snapshot import DataFile, Snapshot
from rtfilter.store.packindex.storage import LOG, checked_name, proper_names

# A place is not looked at more often than this.
LOOK_AGAIN_S = 2.0
# A look of which nothing was heard for this time is over; the bridge that asked is gone.
LOOK_LASTS_S = 300.0
MOST_LOOKS = 32
# Of a table in more directories than that, indexes are looked for in the first ones.
MOST_PLACES_AT_ONCE = 16
# Entries of a log that are read, from its end, in search of a stable one.
MOST_ENTRIES_READ = 64
FILES_AT_ONCE = 16

_log = logging.getLogger(__name__)

Look = Generator[list[Wish], Sequence[Answer], None]


class EntryNeededError(LookupError):
    """A log entry that is not here yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True)
class MirroredFiles:
    """An index's files as they are here: the names and the read entries of its log, and its data files in the cache."""

    place: str
    log_names: tuple[str, ...]
    cache: LocalCache
    entries: dict[str, bytes] = field(default_factory=dict)

    def names(self, folder: str) -> list[str]:
        return list(self.log_names) if folder == LOG else []

    def read(self, name: str) -> bytes:
        if name not in self.entries:
            raise EntryNeededError(name)
        return self.entries[name]

    def local_file(self, name: str) -> str:
        found = self.cache.find(name)
        if found is None:
            raise IndexStorageError(f"{self.place}/{checked_name(name)} is not on this machine; it is fetched for the next query.")
        return found


@dataclass(frozen=True, slots=True)
class _Mirrored:
    """An index that queries can use, and the columns (lower case) whose sketches are here."""

    files: MirroredFiles
    index: PackIndex
    columns: frozenset[str]


@dataclass(slots=True)
class _Place:
    """What is known of a directory of indexes. Times are monotonic; `looked_s` None: not looked at to the end yet."""

    indexes: dict[str, _Mirrored] = field(default_factory=dict)
    columns: frozenset[str] = frozenset()
    looked_s: float | None = None
    begun_s: float | None = None


class Mirror:
    """Thread-safe. What is wanted goes out as steps, what the bridge has found comes in as their answers."""

    def __init__(self, loaded: LoadedBatches) -> None:
        self._lock = threading.Lock()
        self._loaded = loaded
        self._places: dict[str, _Place] = {}
        self._looks: OrderedDict[str, tuple[Look, tuple[str, ...]]] = OrderedDict()
        self.problems: dict[str, str] = {}

    def indexes(self, place: str) -> list[PackIndex]:
        """The active indexes of a place, as far as they are here."""
        with self._lock:
            known = self._places.get(place)
            return [] if known is None else [each.index for each in known.indexes.values()]

    def is_coming(self, place: str) -> bool:
        """Whether nothing is known of a place yet, but somebody looks at it."""
        with self._lock:
            known = self._places.get(place)
            return known is not None and known.looked_s is None and known.begun_s is not None

    def look(self, places: Iterable[str], columns: Iterable[str], cache: LocalCache) -> tuple[str | None, list[Wish]]:
        """Begins a look at places for the sketches of these columns: its token, and its first steps. None: there is no need."""
        wanted = frozenset(column.lower() for column in columns)
        now = time.monotonic()
        with self._lock:
            mine = tuple(place for place in islice(places, MOST_PLACES_AT_ONCE) if self._is_due(place, wanted, now))
            for place in mine:
                self._places.setdefault(place, _Place()).begun_s = now
            if not mine:
                return None, []
            token = uuid.uuid4().hex
            self._looks[token] = (self._look_at_all(mine, wanted, cache), mine)
            while len(self._looks) > MOST_LOOKS:
                self._looks.popitem(last=False)[1][0].close()
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
                for place in places:
                    self._places[place].begun_s = None
            return None, []
        with self._lock:
            self._looks[token] = found
        return token, wishes

    def _is_due(self, place: str, columns: frozenset[str], now: float) -> bool:
        known = self._places.get(place)
        if known is None:
            return True
        if known.begun_s is not None and now - known.begun_s < LOOK_LASTS_S:
            return False
        return known.looked_s is None or now - known.looked_s >= LOOK_AGAIN_S or not columns <= known.columns

    def _look_at_all(self, places: Sequence[str], columns: frozenset[str], cache: LocalCache) -> Look:
        for place in places:
            try:
                yield from self._look_at(place, columns, cache)
            except IndexStorageError as error:
                self._tell(place, error)
                with self._lock:
                    self._places[place].looked_s = time.monotonic()

    def _look_at(self, place: str, columns: frozenset[str], cache: LocalCache) -> Look:
        wish = list_wish(place)
        answers = yield [wish]
        folders = proper_folders(entries_of(wish, answers[0]))
        wishes = [list_wish(f"{folder}/{LOG}") for folder in folders]
        listings = (yield wishes) if wishes else ()
        with self._lock:
            known = self._places[place]
            before = dict(known.indexes)
            # What was asked for earlier stays wanted: queries alternate.
            columns |= known.columns
        now = {}
        for folder, wish, listing in zip(folders, wishes, listings, strict=True):
            try:
                found = yield from self._mirrored(folder, entries_of(wish, listing), before.get(folder), columns, cache)
            except IndexStorageError as error:
                self._tell(folder, error)
                # An older snapshot stays true of the files that it knows.
                found = before.get(folder)
            if found is not None:
                now[folder] = found
        with self._lock:
            known.indexes, known.columns, known.looked_s = now, columns, time.monotonic()

    def _mirrored(
        self, folder: str, entries: Iterable[RemoteEntry], before: _Mirrored | None, columns: frozenset[str], cache: LocalCache
    ) -> Generator[list[Wish], Sequence[Answer], _Mirrored | None]:
        """An index with all that queries on these columns need of it; None when there is none that readers may use."""
        names = proper_names(LOG, (each.name for each in entries))
        files = MirroredFiles(folder, tuple(names), cache)
        if before is not None:
            files.entries.update({name: content for name, content in before.files.entries.items() if name in names})
        view = yield from _read(files)
        if view.state != ACTIVE or view.stable is None or view.snapshot is None:
            return None
        needed = needed_files(view.snapshot, columns)
        brought = yield from _bring(files, needed)
        is_known = before is not None and before.index.number == view.stable.number and before.columns == columns
        if before is not None and is_known and not brought:
            return before
        files.entries = {f"{LOG}/{view.stable.number:020d}.json": files.read(f"{LOG}/{view.stable.number:020d}.json")}
        return _Mirrored(files, PackIndex(files, view.snapshot, view.stable.number, self._loaded), columns)

    def _tell(self, what: str, error: IndexStorageError) -> None:
        if what not in self.problems:
            _log.warning("index in %s: %s It is not used as it is now.", what, error)
        self.problems[what] = str(error)


def needed_files(snapshot: Snapshot, columns: Collection[str]) -> list[DataFile]:
    """The data files that verdicts on these columns (lower case) look at."""
    needed: dict[str, DataFile] = {}
    for segment in snapshot.segments:
        mine = [
            file
            for sketch, file in zip(snapshot.definition.sketches, segment.sketches, strict=True)
            if sketch.column.lower() in columns
        ]
        if mine:
            needed.update({file.name: file for file in (segment.files, segment.packs, *mine)})
    return list(needed.values())


def _read(files: MirroredFiles) -> Generator[list[Wish], Sequence[Answer], LogView]:
    """The end of a log, whose entries come one by one until a stable one is found."""
    for _ in range(MOST_ENTRIES_READ):
        try:
            return read_log(files)
        except EntryNeededError as needed:
            name, wish = needed.name, text_wish(f"{files.place}/{needed.name}")
        answers = yield [wish]
        files.entries[name] = str(checked(wish, answers[0])["text"]).encode()
    raise IndexStorageError(f"none of the latest {MOST_ENTRIES_READ} entries of the log is a stable one; run cancel.")


def _bring(files: MirroredFiles, needed: Sequence[DataFile]) -> Generator[list[Wish], Sequence[Answer], bool]:
    """Copies the data files that are not here; gives whether there were any. Raises IndexStorageError."""
    total = sum(file.bytes for file in needed)
    if total > files.cache.limit_bytes:
        raise IndexStorageError(
            f"the sketches that a query needs have {total} bytes, rtfilter.store.cacheBytes is {files.cache.limit_bytes}; raise it."
        )
    missing = [file for file in needed if files.cache.find(file.name) is None]
    for begin in range(0, len(missing), FILES_AT_ONCE):
        part = [(file, files.cache.scratch()) for file in missing[begin : begin + FILES_AT_ONCE]]
        wishes = [down_wish(f"{files.place}/{file.name}", scratch, file.bytes) for file, scratch in part]
        try:
            answers = yield wishes
            for (file, scratch), wish, answer in zip(part, wishes, answers, strict=True):
                checked(wish, answer)
                files.cache.admit(scratch, file.name)
        finally:
            for _, scratch in part:
                discard(scratch)
    return bool(missing)
