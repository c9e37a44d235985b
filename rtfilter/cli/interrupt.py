"""Ctrl-C ends a command in time, whatever its clean-up waits for."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

GRACE_S = 3.0
# What the watcher may need to hear of a signal.
LATE_S = 0.05


@contextmanager
def ends_in_time(status: int) -> Iterator[Callable[[], bool]]:
    """While the block runs, the process ends with `status` at the latest 3 s after SIGINT, whatever it waits for.

    What it gives tells, after the block, whether SIGINT has come: libraries make errors of their own of it. Spark's JVM and the
    planner host end with this process. Outside the main thread there are no signals to see.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    told, tells = socket.socketpair()
    tells.setblocking(False)
    done, came = threading.Event(), threading.Event()

    def watch() -> None:
        with told:
            while byte := told.recv(1):
                if byte[0] == signal.SIGINT:
                    came.set()
                    time.sleep(GRACE_S)
                    if not done.is_set():
                        os.write(2, b"rtfilter: interrupted\n")
                        end_children()
                        os._exit(status)

    watcher = threading.Thread(target=watch, name="rtfilter-interrupt", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    root = logging.getLogger()

    def quiet(record: logging.LogRecord) -> bool:
        # py4j logs a trace where Ctrl-C comes while it waits for Spark, now and then before the watcher has run.
        return record.exc_info is None or not came.wait(LATE_S)

    root.addFilter(quiet)
    try:
        yield came.is_set
    finally:
        done.set()
        root.removeFilter(quiet)
        signal.set_wakeup_fd(before)
        tells.close()
        watcher.join(timeout=0.1)


def end_children() -> None:
    """Ends the processes that this one has started, where the system tells which these are.

    A JVM of Spark's that is interrupted while it starts would stay for good: it ends when its standard input does, but not before
    it has told pyspark its port, and nobody listens any more. Asked to end then it would print a trace; with a context it has
    directories to clean up.
    """
    pyspark = sys.modules.get("pyspark")
    has_context = pyspark is not None and pyspark.SparkContext._active_spark_context is not None
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, ValueError):
            for child in map(int, listed.read_text().split()):
                os.kill(child, signal.SIGTERM if has_context else signal.SIGKILL)
