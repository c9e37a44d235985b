"""A limit on the time that a call into an engine may take, for engines that another thread can interrupt."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

REPEAT_S = 0.2


class Deadline:
    """Whether the time was up before the call was done."""

    passed = False


@contextlib.contextmanager
def deadline(timeout_s: float | None, interrupt: Callable[[], None]) -> Iterator[Deadline]:
    """Calls `interrupt` from a thread of its own once `timeout_s` have passed, and again until the block is left: an engine that is
    between two of its jobs has nothing to interrupt at that moment. No limit when None."""
    state = Deadline()
    if timeout_s is None:
        yield state
        return
    done = threading.Event()

    def watch() -> None:
        if done.wait(timeout_s):
            return
        state.passed = True
        while not done.is_set():
            interrupt()
            done.wait(REPEAT_S)

    thread = threading.Thread(target=watch, name="rtfilter-bench-deadline", daemon=True)
    thread.start()
    try:
        yield state
    finally:
        done.set()
        thread.join()
