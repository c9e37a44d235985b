"""The star-trees of tables, kept open between queries."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rtfilter.errors import IndexStorageError
from rtfilter.star_tree.tree_files import CoveredFile, OpenedTree, covered_files, open_segment
from rtfilter.store.footer_cache.footer_memory import FileIdentity
from rtfilter.store.index_files.catalog import stored_path
from rtfilter.store.index_files.file_check import FileTrust
from rtfilter.store.index_files.log import ACTIVE, read_log
from rtfilter.store.index_files.storage import LOG, LocalStorage
from rtfilter.store.index_files.tree_snapshot import TreeSegment, TreeSnapshot
from rtfilter.store.parquet.paths import local_path
from rtfilter.store.tree_places import tree_places, tree_root

# Segments whose nodes and lists of files are in memory.
MOST_OPEN = 256


@dataclass(frozen=True, slots=True)
class FoundTree:
    """A tree in its directory; `problem` says why it can't be read, and is empty where it can."""

    name: str
    place: str
    snapshot: TreeSnapshot | None
    problem: str = ""


class OpenedTrees:
    """Trees by their places; what was opened lately stays open. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trust = FileTrust()
        self._logs: OrderedDict[tuple[str, Hashable], FoundTree] = OrderedDict()
        self._opened: OrderedDict[tuple[str, str, str], Any] = OrderedDict()

    def find(self, stores: Iterable[str]) -> list[FoundTree]:
        """The active trees in these stores (`store_places`), in the order of their names."""
        try:
            places = tree_places(stores)
        except IndexStorageError as error:
            return [FoundTree("", "", None, str(error))]
        found = (self._found(place) for place in places)
        return sorted((each for each in found if each is not None), key=lambda each: (each.name, each.place))

    def _found(self, place: str) -> FoundTree | None:
        storage = LocalStorage(place)
        try:
            names = storage.names(LOG)
            if not names:
                return None
            status = os.stat(os.path.join(place, names[-1]))
            key = (place, (names[-1], status.st_ino, status.st_mtime_ns))
            known = self._get(self._logs, key)
            if known is None:
                known = self._read(storage)
                self._put(self._logs, key, known)
        except (IndexStorageError, OSError) as error:
            return FoundTree(os.path.basename(place), place, None, str(error))
        return known if known.snapshot is not None or known.problem else None

    def _read(self, storage: LocalStorage) -> FoundTree:
        view = read_log(storage)
        name = os.path.basename(storage.place)
        if view.state != ACTIVE or view.tree is None:
            return FoundTree(name, storage.place, None)
        return FoundTree(view.tree.definition.name, storage.place, view.tree)

    def segment(self, tree: FoundTree, segment: TreeSegment) -> OpenedTree:
        """The nodes and values of a segment. Raises IndexStorageError."""
        assert tree.snapshot is not None, "only what was read has segments"
        key = (tree.place, segment.nodes.name, segment.values.name)
        opened: OpenedTree | None = self._get(self._opened, key)
        if opened is None:
            opened = open_segment(LocalStorage(tree.place), tree.snapshot.definition, segment)
            self._put(self._opened, key, opened)
        return opened

    def files(self, tree: FoundTree, segment: TreeSegment) -> tuple[CoveredFile, ...]:
        """The table files of a segment. Raises IndexStorageError."""
        key = (tree.place, segment.files.name, "files")
        found: tuple[CoveredFile, ...] | None = self._get(self._opened, key)
        if found is None:
            found = covered_files(LocalStorage(tree.place), segment)
            self._put(self._opened, key, found)
        return found

    def is_unchanged(self, file: FileIdentity, known: CoveredFile) -> bool:
        """Whether a listed file's footer is as it was. Of files that this process can't open path, size and time have to do."""
        local = local_path(file.path)
        return local is None or self._trust.is_unchanged(local, known.digest)

    def _get(self, kept: OrderedDict[Any, Any], key: Hashable) -> Any:
        with self._lock:
            if key in kept:
                kept.move_to_end(key)
            return kept.get(key)

    def _put(self, kept: OrderedDict[Any, Any], key: Hashable, value: Any) -> None:
        with self._lock:
            kept[key] = value
            while len(kept) > MOST_OPEN:
                kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Covered:
    """A listing against a tree.

    Attributes:
        segments: Those whose files are all listed, and as they were.
        raw: The numbers of listed files that none of these covers, in order.
        changed: Paths of files of other segments that are gone or no longer what they were; the first few.
    """

    segments: tuple[TreeSegment, ...]
    raw: tuple[int, ...]
    changed: tuple[str, ...]


def covered(trees: OpenedTrees, tree: FoundTree, files: Sequence[FileIdentity]) -> Covered:
    """Which segments answer for a listing, and which files are to be read beside them. Raises IndexStorageError."""
    assert tree.snapshot is not None, "only what was read has segments"
    root = tree_root(tree.place, tree.snapshot.definition.root)
    numbers = {stored_path(file.path, root): number for number, file in enumerate(files)}
    usable: list[TreeSegment] = []
    changed: list[str] = []
    told: set[int] = set()
    for segment in tree.snapshot.segments:
        own = trees.files(tree, segment)
        # Rows of a file that is in two segments would count twice.
        others = [each.path for each in own if numbers.get(each.path) in told or not _is_same(each, numbers, files)]
        others = others or [each.path for each in own if not trees.is_unchanged(files[numbers[each.path]], each)]
        if others:
            changed += others
        else:
            usable.append(segment)
            told.update(numbers[each.path] for each in own)
    raw = tuple(number for number in range(len(files)) if number not in told)
    return Covered(tuple(usable), raw, tuple(changed[:3]))


def _is_same(own: CoveredFile, numbers: dict[str, int], files: Sequence[FileIdentity]) -> bool:
    number = numbers.get(own.path)
    return number is not None and (own.size_bytes, own.mtime_ms) == (files[number].size_bytes, files[number].mtime_ms)
