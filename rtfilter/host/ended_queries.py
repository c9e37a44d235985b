"""What is done with the records of queries that have ended: the log, and what is learned from them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import wait
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rtfilter.errors import QueryLogError
from rtfilter.feedback.history_file import FeedbackStore
from rtfilter.feedback.lessons import lessons_of
from rtfilter.file_threads import FileThreads, ThreadsBusyError
from rtfilter.host.query_log import append_line, log_line
from rtfilter.options import Options

# Files of rtfilter.feedback.path that are held open, beside the one of the cache directory.
MOST_STORES = 16
# A disk that hangs must not look like a host that hangs: the bridge would kill that.
WAIT_S = 1.0


class Accounts:
    """Deals with the records of each log, and with what each feedback file learns, one after the other. Thread-safe."""

    def __init__(self, feedback: FeedbackStore, wait_s: float = WAIT_S) -> None:
        # By rtfilter.feedback.path, the one that was used last last.
        self._feedback = {"": feedback}
        self._adding = threading.Lock()
        self._wait_s = wait_s
        # Apart, so that a file that hangs takes the room of no file of the other sort.
        self._learning, self._logging = FileThreads("learning"), FileThreads("logging")

    def begin_refresh(self) -> None:
        """Begins to take over what other processes have learned; a directory that hangs holds nobody up."""
        self._learning.submit("", self._feedback[""].refresh)

    def feedback_of(self, options: Options) -> FeedbackStore:
        """What these options' file keeps. A file begins to be read when it is first asked for: that query may know nothing."""
        path = options.feedback_path
        with self._adding:
            store = self._feedback.pop(path, None)
            if store is not None:
                self._feedback[path] = store
                return store
            store = self._feedback[path] = FeedbackStore(Path(os.path.expanduser(path)))
            left = [other for other in self._feedback if other][:-MOST_STORES]
            gone = {other: self._feedback.pop(other) for other in left}
        with suppress(ThreadsBusyError):
            self._learning.submit(path, store.refresh)
        for other, unused in gone.items():
            with suppress(ThreadsBusyError):
                self._learning.submit(other, unused.flush)
        return store

    def close(self) -> None:
        """Writes what was learned and not yet written, or goes on without waiting after a second."""
        with self._adding:
            stores = dict(self._feedback)
        begun = []
        for path, store in stores.items():
            with suppress(ThreadsBusyError):
                begun.append(self._learning.submit(path, store.flush))
        wait(begun, timeout=self._wait_s)

    def add(self, record: dict[str, Any], options: Options) -> None:
        """Learns from a record and logs it; returns when that is done, or goes on without waiting after a second.

        Raises:
            QueryLogError: the log can't be written, or so many records wait for it that this one is left out.
        """
        begun = []
        if options.feedback_enabled:
            # One record less to learn from is nothing that a user could do something about.
            with suppress(ThreadsBusyError):
                begun.append(self._learning.submit(options.feedback_path, lambda: self._learn(record, options)))
        try:
            if options.log_path:
                begun.append(self._logging.submit(options.log_path, lambda: _log(record, options)))
        except ThreadsBusyError as error:
            raise QueryLogError(
                f"A line of the query log is missing: {error} Set rtfilter.log.path to a file of this machine."
            ) from None
        finally:
            wait(begun, timeout=self._wait_s)
        for work in begun:
            if work.done():
                work.result()

    def _learn(self, record: dict[str, Any], options: Options) -> None:
        self.feedback_of(options).learn(lessons_of(record))


def _log(record: dict[str, Any], options: Options) -> None:
    append_line(
        os.path.expanduser(options.log_path), log_line(record, datetime.now(UTC), options.log_literals), options.log_max_bytes
    )
