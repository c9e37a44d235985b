"""A call that hangs is given up after a while: its thread is left behind, and the caller goes on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
_Calls: TypeAlias = "queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]"


class TimeLimitError(Exception):
    """A call took longer than it may."""


class TimeLimit:
    """Makes calls in a thread of its own, each for at most `longest_s` seconds.

    One thread for many calls: each thread that speaks to the JVM has a connection and a thread there. It is a daemon, so a call
    that never ends does not keep the process.
    """

    def __init__(self, longest_s: float) -> None:
        self.longest_s = longest_s
        self._calls = _started()

    def call(self, function: Callable[[], T]) -> T:
        """What `function` returns or raises.

        Raises:
            TimeLimitError: it has not ended; it goes on in a thread that nobody waits for.
        """
        future: Future[T] = Future()
        self._calls.put((future, function))
        if not wait([future], self.longest_s).done:
            self._calls.put(None)
            self._calls = _started()
            raise TimeLimitError(f"no end within {self.longest_s:g} s")
        return future.result()

    def close(self) -> None:
        """Ends the thread; no call can be made after this."""
        self._calls.put(None)


def _started() -> _Calls:
    calls: _Calls = queue.SimpleQueue()
    threading.Thread(target=_make, args=(calls,), name="time limit", daemon=True).start()
    return calls


def _make(calls: _Calls) -> None:
    while (entry := calls.get()) is not None:
        future, function = entry
        try:
            future.set_result(function())
        # Whatever it is belongs to the caller.
        except BaseException as e:
            future.set_exception(e)
