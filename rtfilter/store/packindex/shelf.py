"""The indexes that a table has, kept open between queries."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable

from rtfilter.errors import IndexStorageError
from rtfilter.store.packindex.datafiles import LoadedBatches
from rtfilter.store.packindex.log import read_log
from rtfilter.store.packindex.mirror import Mirror
from rtfilter.store.packindex.reader import STORE_FOLDER, PackIndex, open_index
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


class IndexShelf:
    """Thread-safe. An index is opened anew when its log has gone on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded = LoadedBatches()
        self.mirror = Mirror(self._loaded)
        self._open: OrderedDict[str, tuple[str, PackIndex | None]] = OrderedDict()
        self.problems: dict[str, str] = {}

    def indexes(self, places: Iterable[str]) -> list[PackIndex]:
        """The active indexes in these places; one that can't be used is a problem and not an error."""
        found = []
        for place in places:
            if is_remote(place):
                found += self.mirror.indexes(place)
                continue
            for folder in index_folders(place):
                index = self._index(folder)
                if index is not None:
                    found.append(index)
        return found

    def _index(self, folder: str) -> PackIndex | None:
        storage = LocalStorage(folder)
        try:
            names = storage.names(LOG)
            latest = names[-1] if names else ""
            with self._lock:
                known = self._open.get(folder)
                if known is not None and known[0] == latest:
                    self._open.move_to_end(folder)
                    return known[1]
            opened = self._reopened(storage, None if known is None else known[1])
        except IndexStorageError as error:
            if folder not in self.problems:
                _log.warning("index in %s: %s It is not used.", folder, error)
            self.problems[folder] = str(error)
            return None
        with self._lock:
            self._open[folder] = (latest, opened)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return opened

    def _reopened(self, storage: LocalStorage, known: PackIndex | None) -> PackIndex | None:
        """The index anew, or the known one while an action is under way and the snapshot the same."""
        view = read_log(storage)
        if known is not None and view.stable is not None and view.stable.number == known.number:
            return known
        return open_index(storage, self._loaded)
