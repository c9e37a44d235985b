"""Work on files in threads of their own, one a file: what hangs in one place holds up no other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

MOST_LANES = 16
MOST_WAITING = 100


class ThreadsBusyError(Exception):
    """So much waits for a place that this piece of work is left out."""


class _Thread:
    def __init__(self, name: str) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self.waiting = 0


class FileThreads:
    """Deals with the work of each place one piece after the other. Thread-safe.

    A lane is the thread of one place. When there are more than `most_lanes`, one without work goes, the one that had none for the
    longest time first.
    """

    def __init__(self, name: str, most_lanes: int = MOST_LANES, most_waiting: int = MOST_WAITING) -> None:
        self._name = name
        self._most_lanes, self._most_waiting = most_lanes, most_waiting
        self._lock = threading.Lock()
        # The one that was used last stands last.
        self._lanes: dict[str, _Thread] = {}

    def submit(self, place: str, work: Callable[[], T]) -> Future[T]:
        """Begins, or queues, a piece of work on a place.

        Raises:
            ThreadsBusyError: `most_waiting` pieces wait for this place, or `most_lanes` other places are at work.
        """
        with self._lock:
            lane = self._lanes.pop(place, None)
            if lane is None:
                self._make_room()
                lane = _Thread(self._name)
            self._lanes[place] = lane
            if lane.waiting == self._most_waiting:
                raise ThreadsBusyError(f"{lane.waiting} queries wait for {place!r}; this one is left out.")
            lane.waiting += 1
            done = lane.thread.submit(work)
        done.add_done_callback(lambda _: self._ended(lane))
        return done

    def _make_room(self) -> None:
        if len(self._lanes) < self._most_lanes:
            return
        idle = next((place for place, lane in self._lanes.items() if lane.waiting == 0), None)
        if idle is None:
            raise ThreadsBusyError(f"{len(self._lanes)} other files or folders are being worked on; this query is left out.")
        self._lanes.pop(idle).thread.shutdown(wait=False)

    def _ended(self, lane: _Thread) -> None:
        with self._lock:
            lane.waiting -= 1
