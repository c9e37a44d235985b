"""Generated cases in several threads: each takes a harness that nobody uses at the moment."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

# As many sets of tables at a time: one keeps a core busy with planning.
SIDE_BY_SIDE = 2


class Closable(Protocol):
    def close(self) -> None: ...


class Timed(Protocol):
    seconds: float


H = TypeVar("H", bound=Closable)


@contextmanager
def free_ones(harnesses: Iterable[H]) -> Iterator[queue.SimpleQueue[H]]:
    """The harnesses that nobody uses; all of them are closed at the end."""
    made = list(harnesses)
    free: queue.SimpleQueue[H] = queue.SimpleQueue()
    for harness in made:
        free.put(harness)
    yield free
    for harness in made:
        harness.close()


def check_all(parts: Iterable[Sequence[int]], run: Callable[[Sequence[int]], list[str]], tally: Timed) -> None:
    """Runs the seeds of each part one after the other, the parts side by side, and fails with all that was found."""
    began = time.monotonic()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        findings = [finding for found in pool.map(run, parts) for finding in found]
    tally.seconds += time.monotonic() - began
    print(f"\n{tally}" + "".join(f"\n{finding}" for finding in findings), flush=True)
    assert not findings, "\n\n".join(findings)
