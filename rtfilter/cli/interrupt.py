"""Ctrl-C ends a command in time, whatever its clean-up waits for."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GRACE_S = 3.0


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
                        os._exit(status)

    watcher = threading.Thread(target=watch, name="rtfilter-interrupt", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    root = logging.getLogger()
    root.addFilter(_is_no_interrupt)
    try:
        yield came.is_set
    finally:
        done.set()
        root.removeFilter(_is_no_interrupt)
        signal.set_wakeup_fd(before)
        tells.close()
        watcher.join(timeout=0.1)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """py4j logs a trace where Ctrl-C comes while it waits for Spark."""
    return record.exc_info is None or record.exc_info[0] is not KeyboardInterrupt
