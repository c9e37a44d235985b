"""What is done with the records of queries that have ended: the log, and what is learned from them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rtfilter.errors import QueryLogError
from rtfilter.feedback.lessons import lessons_of
from rtfilter.feedback.store import FeedbackStore
from rtfilter.host.query_log import append_line, log_line
from rtfilter.options import Options

MOST_WAITING = 100
# A disk that hangs must not look like a host that hangs: the bridge would kill that.
WAIT_S = 1.0


class Accounts:
    """Deals with one record after the other in a thread of its own, and reads there what was learned before. Thread-safe."""

    def __init__(self, feedback: FeedbackStore, wait_s: float = WAIT_S) -> None:
        # By rtfilter.feedback.path.
        self._feedback = {"": feedback}
        self._adding = threading.Lock()
        self._wait_s = wait_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accounts")
        self._room = threading.Semaphore(MOST_WAITING)

    def begin_refresh(self) -> None:
        """Begins to take over what other processes have learned; a directory that hangs holds nobody up."""
        self._thread.submit(self._feedback[""].refresh)

    def feedback_of(self, options: Options) -> FeedbackStore:
        """What these options' file keeps. A file begins to be read when it is first asked for: that query may know nothing."""
        with self._adding:
            store = self._feedback.get(options.feedback_path)
            if store is None:
                store = self._feedback[options.feedback_path] = FeedbackStore(Path(os.path.expanduser(options.feedback_path)))
                self._thread.submit(store.refresh)
        return store

    def close(self) -> None:
        """Writes what was learned and not yet written, or goes on without waiting after a second."""
        try:
            self._thread.submit(self._flush).result(timeout=self._wait_s)
        except FutureTimeoutError:
            return

    def add(self, record: dict[str, Any], options: Options) -> None:
        """Learns from a record and logs it; returns when that is done, or goes on without waiting after a second.

        Raises:
            QueryLogError: the log can't be written, or so many records wait for it that this one is left out.
        """
        if not self._room.acquire(blocking=False):
            raise QueryLogError(f"{MOST_WAITING} queries wait to be logged in {options.log_path!r}; this one is left out.")
        done: Future[None] = self._thread.submit(self._account, record, options)
        done.add_done_callback(lambda _: self._room.release())
        try:
            done.result(timeout=self._wait_s)
        except FutureTimeoutError:
            if not done.done():
                return
            raise

    def _flush(self) -> None:
        with self._adding:
            stores = tuple(self._feedback.values())
        for store in stores:
            store.flush()

    def _account(self, record: dict[str, Any], options: Options) -> None:
        try:
            if options.feedback_enabled:
                self.feedback_of(options).learn(lessons_of(record))
        finally:
            if options.log_path:
                path = os.path.expanduser(options.log_path)
                append_line(path, log_line(record, datetime.now(UTC)), options.log_max_bytes)
