"""What is kept of indexes between queries, within a bound of memory. What is in use does not make room for more."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from rtfilter.store.index_files.index_problems import INDEX_TOO_LARGE, IndexProblemError

# Used this lately is in use: giving it up would have the next query make it again.
IN_USE_S = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    bytes: int
    used_s: float


class Held(Generic[T]):
    """Thread-safe. `most_bytes` of all together, of one thing half of that."""

    def __init__(self, most_bytes: int) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()
        self._used_bytes = 0
        self.most_bytes = most_bytes

    def get(self, key: Hashable) -> T | None:
        """What is kept under a key; from now on it is in use."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept[key] = replace(found, used_s=time.monotonic())
            self._kept.move_to_end(key)
            return found.value

    def put(self, key: Hashable, value: T, size_bytes: int) -> None:
        """Keeps something, in the place of what was used longest ago.

        Raises:
            IndexProblemError: INDEX_TOO_LARGE, it is too large, or too much is in use.
        """
        with self._lock:
            self._remove(key)
            old_s = time.monotonic() - IN_USE_S
            while self._used_bytes + size_bytes > self.most_bytes and self._kept:
                oldest = next(iter(self._kept))
                if self._kept[oldest].used_s > old_s:
                    break
                self._remove(oldest)
            if self._used_bytes + size_bytes > self.most_bytes or size_bytes > self.most_bytes // 2:
                raise IndexProblemError(
                    INDEX_TOO_LARGE,
                    f"open it would take {size_bytes >> 20} MiB of memory, where all open indexes may take {self.most_bytes >> 20} "
                    f"and others take {self._used_bytes >> 20}",
                )
            self._kept[key] = _Kept(value, size_bytes, time.monotonic())
            self._used_bytes += size_bytes

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._remove(key)

    def _remove(self, key: Hashable) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._used_bytes -= found.bytes
