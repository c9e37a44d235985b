"""A small file of what filters did: bounded, ageing, shared by all applications of a user (docs/query-log.md)."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from planner.observed import Observation
from rtfilter.feedback.lessons import Lesson

VERSION = 1
MOST_ENTRIES = 2_000
MOST_BYTES = 2 << 20
MOST_AGE_S = 7 * 86_400.0
MOST_LABEL = 200
LOCK_WAIT_S = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """The latest of a filter: its inputs, losses in a row on them, share of rows kept, and when (Unix seconds)."""

    inputs: str
    root: str
    indexes: str
    label: str
    losses: int
    kept: float | None
    at_s: float


class FeedbackStore:
    """Thread-safe; several processes may use one file. What can't be read is forgotten, what can't be written stays in memory."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._seen: tuple[int, int, int] | None = None

    def observations(self, indexes_by_root: Mapping[str, str | None]) -> dict[str, Observation]:
        """By key: the past of the filters of these tables, each with the state of its indexes. What is too old is left out.

        Where the state is None, not known, no losses are held against a filter: an index may have come since.
        """
        with self._lock:
            self._read()
            entries = list(self._entries.items())
        oldest_s = self._clock() - MOST_AGE_S
        recent = {key: entry for key, entry in entries if entry.at_s >= oldest_s and entry.root in indexes_by_root}
        return {
            key: Observation(entry.inputs, entry.losses if state is not None else 0, entry.kept)
            for key, entry in recent.items()
            if (state := indexes_by_root[entry.root]) is None or state == entry.indexes
        }

    def learn(self, lessons: Iterable[Lesson]) -> None:
        """Adds what one query showed. Losses count from new when inputs or indexes are not what they were."""
        lessons = tuple(lessons)
        if not lessons:
            return
        with self._lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with FileLock(self.path.with_suffix(".lock"), timeout=LOCK_WAIT_S):
                    self._read()
                    self._add(lessons)
                    self._write()
            except OSError as error:
                self._add(lessons)
                _log.warning("what filters did can't be kept in %s: %s", self.path, error)

    def _add(self, lessons: Iterable[Lesson]) -> None:
        now_s = self._clock()
        for lesson in lessons:
            before = self._entries.pop(lesson.key, None)
            same = before is not None and (before.inputs, before.indexes) == (lesson.inputs, lesson.indexes)
            losses = (before.losses if before is not None and same else 0) + 1 if lesson.lost else 0
            label = lesson.label[:MOST_LABEL]
            self._entries[lesson.key] = Entry(lesson.inputs, lesson.root, lesson.indexes, label, losses, lesson.kept, now_s)
        fresh = {key: entry for key, entry in self._entries.items() if entry.at_s >= now_s - MOST_AGE_S}
        # A dict keeps the order in which entries came: the first ones are the oldest.
        self._entries = dict(list(fresh.items())[-MOST_ENTRIES:])

    def _read(self) -> None:
        """The file's entries, if it has changed since."""
        try:
            found = os.stat(self.path)
        except OSError:
            return
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen == self._seen:
            return
        self._entries, self._seen = {}, seen
        try:
            if found.st_size <= MOST_BYTES:
                self._entries = parse_entries(json.loads(self.path.read_bytes()))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            _log.warning("what filters did can't be read from %s, it begins anew: %s", self.path, error)

    def _write(self) -> None:
        content = self._content()
        while len(content) > MOST_BYTES:
            self._entries = dict(list(self._entries.items())[len(self._entries) // 2 :])
            content = self._content()
        scratch = self.path.with_suffix(f".{os.getpid()}")
        scratch.write_bytes(content)
        os.replace(scratch, self.path)
        found = os.stat(self.path)
        self._seen = (found.st_mtime_ns, found.st_size, found.st_ino)

    def _content(self) -> bytes:
        entries = {key: asdict(entry) for key, entry in self._entries.items()}
        return json.dumps({"version": VERSION, "entries": entries}, separators=(",", ":")).encode()


def parse_entries(content: Mapping[str, Any]) -> dict[str, Entry]:
    """The entries of a file of this version, none of another one.

    Raises:
        KeyError, TypeError, ValueError: a part of it is missing or of another type.
    """
    if content["version"] != VERSION:
        return {}
    found = {}
    for key, raw in content["entries"].items():
        kept = raw["kept"]
        found[str(key)] = Entry(
            inputs=str(raw["inputs"]),
            root=str(raw["root"]),
            indexes=str(raw["indexes"]),
            label=str(raw["label"]),
            losses=int(raw["losses"]),
            kept=None if kept is None else float(kept),
            at_s=float(raw["at_s"]),
        )
    return found
