"""The indexes that a table has, kept open between queries."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from rtfilter.errors import IndexStorageError
from rtfilter.store.index_use import INDEX_CORRUPT, INDEX_DELETED, INDEX_UNFINISHED, INDEX_VERSION
from rtfilter.store.packindex.datafiles import LoadedBatches
from rtfilter.store.packindex.log import ACTIVE, DELETED, OTHER_VERSION, UNREADABLE, LogView, read_log
from rtfilter.store.packindex.mirror import Mirror
from rtfilter.store.packindex.reader import STORE_FOLDER, PackIndex
from rtfilter.store.packindex.remote import MOST_INDEXES_IN_A_PLACE
from rtfilter.store.packindex.storage import LOG, LocalStorage
from rtfilter.store.paths import absolute, is_remote, local_path

MOST_OPEN = 64

_log = logging.getLogger(__name__)


def store_places(paths: Iterable[str], location: str) -> tuple[str, ...]:
    """The directories that may hold indexes of a table with these files (Hadoop's texts): `location`, or in its roots."""
    if location:
        return (absolute(location),)
    folders = {os.path.dirname(local_path(path) or path) for path in paths}
    return tuple(sorted({os.path.join(_without_partitions(folder), STORE_FOLDER) for folder in folders}))


def index_folders(place: str) -> list[str]:
    """The directories of indexes in a place that holds some; none when it is not there."""
    try:
        with os.scandir(place) as entries:
            found = sorted(each.path for each in entries if each.is_dir(follow_symlinks=False) and not each.name.startswith("."))
    except OSError:
        return []
    return found[:MOST_INDEXES_IN_A_PLACE]


def _without_partitions(folder: str) -> str:
    while "=" in os.path.basename(folder):
        folder = os.path.dirname(folder)
    return folder


@dataclass(frozen=True, slots=True)
class ShelvedIndex:
    """An index that is there: open, or with the reason (a code of index_use.py) and problem that keep it from being used."""

    name: str
    index: PackIndex | None
    reason: str = ""
    problem: str = ""


class IndexShelf:
    """Thread-safe. An index is opened anew when its log has gone on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded = LoadedBatches()
        self.mirror = Mirror(self._loaded)
        self._open: OrderedDict[str, tuple[str, ShelvedIndex | None]] = OrderedDict()
        self.problems: dict[str, str] = {}

    def indexes(self, places: Iterable[str]) -> list[PackIndex]:
        """The active indexes in these places; one that can't be used is a problem and not an error."""
        return [each.index for each in self.shelved(places) if each.index is not None]

    def shelved(self, places: Iterable[str]) -> list[ShelvedIndex]:
        """All indexes in these places, those that can't be used too."""
        found: list[ShelvedIndex | None] = []
        for place in places:
            if is_remote(place):
                found += [ShelvedIndex(os.path.basename(index.storage.place), index) for index in self.mirror.indexes(place)]
            else:
                found += [self._shelved(folder) for folder in index_folders(place)]
        return [each for each in found if each is not None]

    def _shelved(self, folder: str) -> ShelvedIndex | None:
        storage = LocalStorage(folder)
        try:
            names = storage.names(LOG)
            latest = names[-1] if names else ""
            with self._lock:
                known = self._open.get(folder)
                if known is not None and known[0] == latest:
                    self._open.move_to_end(folder)
                    return known[1]
            opened = self._reopened(storage, None if known is None or known[1] is None else known[1].index)
        except IndexStorageError as error:
            if folder not in self.problems:
                _log.warning("index in %s: %s It is not used.", folder, error)
            self.problems[folder] = str(error)
            return ShelvedIndex(os.path.basename(folder), None, INDEX_CORRUPT, str(error))
        with self._lock:
            self._open[folder] = (latest, opened)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return opened

    def _reopened(self, storage: LocalStorage, known: PackIndex | None) -> ShelvedIndex | None:
        """The index anew, or the known one while an action is under way and the snapshot the same; None: there is none."""
        view, name = read_log(storage), os.path.basename(storage.place)
        if view.state == ACTIVE and view.stable is not None and view.snapshot is not None:
            same = known is not None and view.stable.number == known.number
            return ShelvedIndex(name, known if same else PackIndex(storage, view.snapshot, view.stable.number, self._loaded))
        reason = _unusable(view)
        return None if reason is None else ShelvedIndex(name, None, reason)


def _unusable(view: LogView) -> str | None:
    """Why no reader may use an index; None for a directory in which there is none, or no more."""
    if view.state == DELETED:
        return INDEX_DELETED
    if view.latest is None or view.latest.is_stable:
        return None
    return {UNREADABLE: INDEX_CORRUPT, OTHER_VERSION: INDEX_VERSION}.get(view.latest.state, INDEX_UNFINISHED)
