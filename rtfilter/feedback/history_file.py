"""A small file of what filters did: bounded, ageing, shared by all applications of a user (docs/query-log.md)."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock

from planner.inputs.filter_history import Observation, Recall, Traits
from rtfilter.feedback.lessons import Lesson
from rtfilter.private_files import check_own, open_own
from rtfilter.private_folders import make_own

VERSION = 4
# Of a file of ours, of any version.
BEGINS = b'{"version":#,"entries":['
MOST_ENTRIES = 2_000
# Of one filter under changing literals the latest so many: a year's months, and what is asked in between.
MOST_LITERALS = 16
MOST_BYTES = 2 << 20
MOST_AGE_S = 7 * 86_400.0
MOST_LABEL = 200
LOCK_WAIT_S = 2.0
# Writing a full file takes 9 ms of the interpreter, which planning would wait for: not after every query.
WRITE_EVERY_S = 10.0

_log = logging.getLogger(__name__)


# By the key of a filter's traits and their literals, the one that was learned of last at the end.
Entries: TypeAlias = dict[tuple[str, str], "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """The latest of a filter: its inputs, losses in a row on them, what it let through (`Observation`), and when (Unix seconds)."""

    inputs: str
    root: str
    indexes: str
    label: str
    losses: int
    kept: float | None
    packs: float | None
    build_rows: int | None
    key_share: float | None
    at_s: float

    def observation(self, losses: int) -> Observation:
        return Observation(losses, self.kept, self.packs, self.build_rows, self.key_share)


class FeedbackStore:
    """Thread-safe; several processes may use one file. What can't be read is forgotten, what can't be written stays in memory.

    `recall` only looks things up, for planning waits for it. The file is read by `refresh` and `learn`; `learn` writes it when that
    was not done for `write_every_s`, else it is written that much later, or by `flush`.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time, write_every_s: float = WRITE_EVERY_S) -> None:
        self.path = path
        self._clock = clock
        self._write_every_s = write_every_s
        self._written_s = float("-inf")
        self._unwritten: tuple[Lesson, ...] = ()
        self._timer: threading.Timer | None = None
        # For reading the file and learning. The entries themselves are never changed, only replaced: no lock to look at them.
        self._lock = threading.Lock()
        self._entries: Entries = {}
        self._seen: tuple[int, int, int] | None = None

    def recall(self, index_state: Callable[[str], str | None]) -> Recall | None:
        """What to ask for the past of a filter, None where nothing is remembered; what is too old is not told.

        `index_state` gives the state of a table's indexes by its root. Where it has changed nothing is told. Where it is None, not
        known, no losses are held against a filter: an index may have come since.
        """
        entries = self._entries
        if not entries:
            return None
        oldest_s = self._clock() - MOST_AGE_S

        def recalled(traits: Traits) -> Observation | None:
            entry = None if traits.literals is None else entries.get((traits.key, traits.literals))
            if entry is None or entry.inputs != traits.inputs or entry.at_s < oldest_s:
                return None
            state = index_state(entry.root)
            if state is None:
                return entry.observation(losses=0)
            return entry.observation(entry.losses) if state == entry.indexes else None

        return recalled

    def refresh(self) -> None:
        """Takes over what other processes have learned."""
        with self._lock:
            self._read()

    def learn(self, lessons: Iterable[Lesson]) -> None:
        """Adds what one query showed. Losses count from new when inputs or indexes are not what they were."""
        lessons = tuple(lessons)
        with self._lock:
            self._read()
            if not lessons:
                return
            self._entries = with_lessons(self._entries, lessons, self._clock())
            self._unwritten += lessons
            if self._clock() - self._written_s >= self._write_every_s:
                self._write()
            elif self._timer is None:
                self._timer = threading.Timer(self._write_every_s, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Writes what was learned since the file was written."""
        with self._lock:
            if self._unwritten:
                self._write()

    def _read(self) -> None:
        """The file's entries, if it has changed since."""
        try:
            found = os.stat(self.path)
        except OSError:
            return
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen == self._seen:
            return
        entries: Entries = {}
        try:
            if found.st_size <= MOST_BYTES:
                with open(open_own(self.path, BEGINS), "rb") as file:
                    entries = parse_entries(json.loads(file.read()))
        except Exception as error:  # whatever is in it: Infinity for a count, lists a thousand deep; it only begins anew
            _log.warning("what filters did can't be read from %s, it begins anew: %s", self.path, error)
        self._entries, self._seen = with_lessons(entries, self._unwritten, self._clock()), seen

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._written_s = None, self._clock()
        try:
            make_own(self.path.parent)
            # A lock is empty; the library would empty another file of that name.
            check_own(self.path.with_suffix(".lock"), b"")
            with FileLock(self.path.with_suffix(".lock"), timeout=LOCK_WAIT_S):
                self._read()
                self._replace_file()
            self._unwritten = ()
        except (OSError, ValueError) as error:  # ValueError: the path is no name of a file
            _log.warning("what filters did can't be kept in %s: %s", self.path, error)
            self._unwritten = self._unwritten[-MOST_ENTRIES:]

    def _replace_file(self) -> None:
        content = content_of(self._entries)
        while len(content) > MOST_BYTES:
            self._entries = dict(list(self._entries.items())[(len(self._entries) + 1) // 2 :])
            content = content_of(self._entries)
        check_own(self.path, BEGINS)
        scratch = self.path.with_suffix(f".{os.getpid()}-{uuid.uuid4().hex}")
        try:
            with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            os.replace(scratch, self.path)
        except OSError:
            scratch.unlink(missing_ok=True)
            raise
        found = os.stat(self.path)
        self._seen = (found.st_mtime_ns, found.st_size, found.st_ino)


def with_lessons(entries: Entries, lessons: Iterable[Lesson], now_s: float) -> Entries:
    """The entries after what a query showed at `now_s`."""
    found = dict(entries)
    for lesson in lessons:
        before = found.pop((lesson.key, lesson.literals), None)
        same = before is not None and (before.inputs, before.indexes) == (lesson.inputs, lesson.indexes)
        losses = (before.losses if before is not None and same else 0) + 1 if lesson.lost else 0
        label = lesson.label[:MOST_LABEL]
        found[lesson.key, lesson.literals] = Entry(
            inputs=lesson.inputs,
            root=lesson.root,
            indexes=lesson.indexes,
            label=label,
            losses=losses,
            kept=lesson.kept,
            packs=lesson.packs,
            build_rows=lesson.build_rows,
            key_share=lesson.key_share,
            at_s=now_s,
        )
    return bounded(found, now_s - MOST_AGE_S)


def bounded(entries: Entries, oldest_s: float) -> Entries:
    """The latest entries that are not too old: MOST_ENTRIES in all, MOST_LITERALS of one filter.

    Without the second bound queries whose literals are other ones every time would push out what is known of all others.
    """
    kept: list[tuple[tuple[str, str], Entry]] = []
    literals: Counter[str] = Counter()
    for name, entry in reversed(entries.items()):
        if entry.at_s < oldest_s or literals[name[0]] == MOST_LITERALS:
            continue
        literals[name[0]] += 1
        kept.append((name, entry))
        if len(kept) == MOST_ENTRIES:
            break
    return dict(reversed(kept))


def content_of(entries: Entries) -> bytes:
    """The file of these entries."""
    names = [field.name for field in fields(Entry)]
    rows = [
        {"key": key, "literals": literals, **{name: getattr(entry, name) for name in names}}
        for (key, literals), entry in entries.items()
    ]
    return json.dumps({"version": VERSION, "entries": rows}, separators=(",", ":")).encode()


def parse_entries(content: Mapping[str, Any]) -> Entries:
    """The entries of a file of this version, none of another one.

    Raises:
        AttributeError, KeyError, OverflowError, TypeError, ValueError: a part of it is missing or of another type.
    """
    if content["version"] != VERSION:
        return {}
    found: Entries = {}
    for raw in content["entries"]:
        found[str(raw["key"]), str(raw["literals"])] = Entry(
            inputs=str(raw["inputs"]),
            root=str(raw["root"]),
            indexes=str(raw["indexes"]),
            label=str(raw["label"]),
            losses=int(raw["losses"]),
            kept=_share(raw["kept"]),
            packs=_share(raw["packs"]),
            build_rows=None if raw["build_rows"] is None else int(raw["build_rows"]),
            key_share=_share(raw["key_share"]),
            at_s=float(raw["at_s"]),
        )
    return found


def _share(raw: Any) -> float | None:
    share = None if raw is None else float(raw)
    if share is not None and not 0.0 <= share <= 1.0:
        raise ValueError(f"{share} is no share")
    return share
