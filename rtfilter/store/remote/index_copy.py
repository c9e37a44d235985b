"""One index of a filesystem that Python can't open: its log and its copied files, and the steps by which they come."""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rtfilter.store.index_files.index_problems import INDEX_COMING, INDEX_TOO_LARGE, INDEX_UNFINISHED, IndexProblemError
from rtfilter.store.index_files.local_cache import LocalCache, discard
from rtfilter.store.index_files.log import LogView, read_log
from rtfilter.store.index_files.open_limits import Allowance
from rtfilter.store.index_files.snapshot import DataFile, Snapshot
from rtfilter.store.index_files.storage import LOG, checked_name, proper_names
from rtfilter.store.remote.remote_steps import Answer, RemoteEntry, Wish, checked, down_wish, text_wish

# Entries of a log that are read, from its end, in search of a stable one.
MOST_ENTRIES_READ = 64
FILES_AT_ONCE = 16


class EntryNeededError(LookupError):
    """A log entry that is not here yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(slots=True)
class MirroredFiles:
    """An index's files as they are here: its log's files, by name with size and time, those that were read, and the data files in
    the cache."""

    place: str
    log_files: Mapping[str, tuple[int, int]]
    cache: LocalCache
    entries: dict[str, bytes] = field(default_factory=dict)

    @property
    def cache_directory(self) -> str:
        return self.cache.directory

    def names(self, folder: str) -> list[str]:
        return list(self.log_files) if folder == LOG else []

    def read(self, name: str) -> bytes:
        if name not in self.entries:
            raise EntryNeededError(name)
        return self.entries[name]

    def local_file(self, name: str) -> str:
        found = self.cache.find(name)
        if found is None:
            path = f"{self.place}/{checked_name(name)}"
            raise IndexProblemError(INDEX_COMING, f"{path} is not on this machine; it is fetched for the next query.")
        return found

    @property
    def entries_bytes(self) -> int:
        return sum(map(len, self.entries.values()))

    def keep_only(self, number: int) -> None:
        """Forgets all entries of the log but one."""
        name = f"{LOG}/{number:020d}.json"
        self.entries = {name: self.entries[name]}


def files_in(folder: str, entries: Iterable[RemoteEntry], before: MirroredFiles | None, cache: LocalCache) -> MirroredFiles:
    """The files of an index whose log was listed, with what an earlier look has read of them."""
    listed = {each.name: (each.size_bytes, each.mtime_ms) for each in entries}
    files = {name: listed[name.removeprefix(f"{LOG}/")] for name in proper_names(LOG, listed)}
    if before is None:
        return MirroredFiles(folder, files, cache)
    # An index that was removed and made again has the same names.
    known = {name: content for name, content in before.entries.items() if before.log_files.get(name) == files.get(name)}
    return MirroredFiles(folder, files, cache, known)


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


def end_of_log(files: MirroredFiles) -> Generator[list[Wish], Sequence[Answer], LogView]:
    """The end of a log, whose entries come one by one until a stable one is found. Raises IndexStorageError."""
    allowance = Allowance(wall_s=math.inf)
    for _ in range(MOST_ENTRIES_READ):
        try:
            with allowance.at_work():
                return read_log(files, allowance)
        except EntryNeededError as needed:
            name, wish = needed.name, text_wish(f"{files.place}/{needed.name}")
        answers = yield [wish]
        files.entries[name] = str(checked(wish, answers[0])["text"]).encode()
    raise IndexProblemError(INDEX_UNFINISHED, f"none of the latest {MOST_ENTRIES_READ} entries of its log is a stable one")


def bring(files: MirroredFiles, needed: Sequence[DataFile]) -> Generator[list[Wish], Sequence[Answer], bool]:
    """Copies the data files that are not here; gives whether there were any. Raises IndexStorageError."""
    total = sum(file.bytes for file in needed)
    if total > files.cache.limit_bytes:
        raise IndexProblemError(
            INDEX_TOO_LARGE,
            f"queries need {total:,} bytes of it, and rtfilter.store.cacheBytes is {files.cache.limit_bytes}; raise that.",
        )
    missing = [file for file in needed if files.cache.find(file.name) is None]
    if missing:
        files.cache.check_room(sum(file.bytes for file in missing))
    for begin in range(0, len(missing), FILES_AT_ONCE):
        yield from _bring_at_once(files, missing[begin : begin + FILES_AT_ONCE])
    return bool(missing)


def _bring_at_once(files: MirroredFiles, missing: Sequence[DataFile]) -> Generator[list[Wish], Sequence[Answer], None]:
    scratches: list[str] = []
    try:
        for _ in missing:
            scratches.append(files.cache.scratch())
        parts = list(zip(missing, scratches, strict=True))
        wishes = [down_wish(f"{files.place}/{file.name}", scratch, file.bytes) for file, scratch in parts]
        answers = yield wishes
        for (file, scratch), wish, answer in zip(parts, wishes, answers, strict=True):
            if "error" in answer:
                # The other side does not tell whether reading or writing went wrong.
                files.cache.check_room(file.bytes)
            checked(wish, answer)
            files.cache.admit(scratch, file.name)
    finally:
        for scratch in scratches:
            discard(scratch)
