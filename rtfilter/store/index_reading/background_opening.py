"""Opens indexes in the background, for as long as one may take. Of one that takes longer only the reason is left."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from rtfilter.file_threads import FileThreads, ThreadsBusyError
from rtfilter.store.index_files.catalog import Catalog
from rtfilter.store.index_files.index_problems import INDEX_SLOW, INDEX_TOO_LARGE, IndexProblem, IndexProblemError, problem_of
from rtfilter.store.index_files.open_limits import WALL_S, Allowance
from rtfilter.store.index_reading.index_memory import Held
from rtfilter.store.index_reading.reading_journal import ReadingJournal, digest_of

# Of an opening, from when it is asked for, that queries wait for.
WAIT_S = 0.5
# The first time that an index is left alone. Each further time is twice as long, up to a day.
ALONE_S = 600.0
LONGEST_ALONE_S = 86_400.0
MOST_LEFT_ALONE = 4_096
# What the logs of all open indexes may take in memory, and their files and packs.
MOST_LOGS_BYTES = 64 << 20
MOST_CATALOGS_BYTES = 128 << 20

_STILL = IndexProblem(INDEX_SLOW, "it is not open yet; later queries use it when it is")
_SUSPECT = IndexProblem(INDEX_SLOW, "the planner host ended while it was reading it")
_HANGS = IndexProblem(INDEX_SLOW, f"it could not be opened within {WALL_S:g} s")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Left:
    """An index that is left alone until then (monotonic), for that long."""

    problem: IndexProblem
    until_s: float
    lasts_s: float


class Openings:
    """Thread-safe. Work on the indexes of one place is done one after the other; a place that hangs holds up no other."""

    def __init__(self, journal: ReadingJournal | None = None) -> None:
        self._journal = journal
        self._suspects = set() if journal is None else set(journal.left_behind)
        self._lock = threading.Lock()
        self._lanes = FileThreads("opening")
        # By the index's directory and cache, and by its identity.
        self.logs: Held[None] = Held(MOST_LOGS_BYTES)
        self.catalogs: Held[Catalog] = Held(MOST_CATALOGS_BYTES)
        self._begun: dict[tuple[str, str], tuple[Future[Any], float]] = {}
        self._left: OrderedDict[str, _Left] = OrderedDict()

    def check(self, folder: str) -> None:
        """Raises IndexProblemError: the index in this directory is left alone."""
        if self._suspects and (digest := digest_of(folder)) in self._suspects:
            self._suspects.discard(digest)
            self.leave_alone(folder, _SUSPECT)
        with self._lock:
            left = self._left.get(folder)
        if left is not None and time.monotonic() < left.until_s:
            raise IndexProblemError(left.problem.reason, left.problem.text)

    def reading(self, folder: str) -> AbstractContextManager[None]:
        """While files of the index in this directory are read: should the process end over it, the next one leaves it alone."""
        return nullcontext() if self._journal is None else self._journal.reading(folder)

    def leave_alone(self, folder: str, problem: IndexProblem) -> None:
        """From now on nobody opens the index in this directory, for a while."""
        with self._lock:
            before = self._left.pop(folder, None)
            now_s = time.monotonic()
            if before is not None and now_s < before.until_s:
                self._left[folder] = before
                return
            lasts_s = ALONE_S if before is None else min(2 * before.lasts_s, LONGEST_ALONE_S)
            text = f"{problem.text.rstrip('.')}; it is left alone for {lasts_s / 60:.0f} minutes"
            self._left[folder] = _Left(IndexProblem(problem.reason, text), now_s + lasts_s, lasts_s)
            while len(self._left) > MOST_LEFT_ALONE:
                self._left.popitem(last=False)

    def run(self, folder: str, what: str, work: Callable[[Allowance], T], deadline_s: float) -> T:
        """What `work` gives for an index; it is begun unless it is under way.

        It goes on when nobody waits any more; what comes of it then the work itself has to keep.

        Nobody waits longer than until `deadline_s` (monotonic), or half a second from when it was begun.

        Raises:
            IndexStorageError: what the work has raised; with INDEX_SLOW, that it is not done, or the index left alone.
        """
        self.check(folder)
        key = (folder, what)
        with self._lock:
            begun = self._begun.get(key)
            if begun is None:
                try:
                    done = self._lanes.submit(os.path.dirname(folder), functools.partial(self._work, folder, work))
                except ThreadsBusyError:
                    raise IndexProblemError(_STILL.reason, _STILL.text) from None
                begun = self._begun[key] = (done, time.monotonic())
        done, at_s = begun
        done.add_done_callback(lambda _: self._ended(key, done))
        wait([done], max(0.0, min(deadline_s, at_s + WAIT_S) - time.monotonic()))
        if not done.done():
            problem = _HANGS if time.monotonic() - at_s > WALL_S else _STILL
            raise IndexProblemError(problem.reason, problem.text)
        result: T = done.result()
        return result

    def _ended(self, key: tuple[str, str], done: Future[Any]) -> None:
        with self._lock:
            if key in self._begun and self._begun[key][0] is done:
                del self._begun[key]

    def _work(self, folder: str, work: Callable[[Allowance], T]) -> T:
        allowance = Allowance()
        try:
            with self.reading(folder), allowance.at_work():
                return work(allowance)
        except IndexProblemError as error:
            if error.reason in (INDEX_SLOW, INDEX_TOO_LARGE):
                self.leave_alone(folder, problem_of(error))
            raise
