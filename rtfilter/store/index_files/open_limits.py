"""How much an index may take to open. Whoever can write an index folder could have it take hours."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rtfilter.store.index_files.index_problems import INDEX_SLOW, IndexProblemError

# Of a thread's processor time: a busy machine or a slow disk is nothing that an index can help.
CPU_S = 1.0
# From beginning to end, in the background.
WALL_S = 10.0


class Allowance:
    """What one opening may still take. Used by one thread at a time."""

    def __init__(self, cpu_s: float = CPU_S, wall_s: float = WALL_S) -> None:
        self._cpu_s, self._wall_s = cpu_s, wall_s
        self._spent_s, self._cpu_began_s = 0.0, math.inf
        self._began_s = time.monotonic()

    @contextmanager
    def at_work(self) -> Iterator[Allowance]:
        """A piece of the work, which may be another thread's than the last one; in between it is waited for."""
        self._cpu_began_s = time.thread_time()
        try:
            yield self
        finally:
            self._spent_s += time.thread_time() - self._cpu_began_s
            self._cpu_began_s = math.inf

    def check(self) -> None:
        """Raises IndexProblemError: there is no more left."""
        if self._spent_s + max(0.0, time.thread_time() - self._cpu_began_s) > self._cpu_s:
            raise IndexProblemError(INDEX_SLOW, f"opening it takes more than {self._cpu_s:g} s of a processor")
        if time.monotonic() - self._began_s > self._wall_s:
            raise IndexProblemError(INDEX_SLOW, f"opening it takes more than {self._wall_s:g} s")


# For whoever has asked for this very index: its writers.
UNLIMITED = Allowance(math.inf, math.inf)
