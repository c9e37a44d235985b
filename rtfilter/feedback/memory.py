"""What is known as long as this process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

MOST_ENTRIES = 10_000

Value = TypeVar("Value")


class Memory(Generic[Value]):
    """Values by key: rows that conditions left (planner/seen_rows.py), shares that filters let through (planner/running.py),
    and the work of rows whose scan waits (planner/waits.py).

    Bounded, the longest unused go first. Thread-safe.
    """

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Value] = OrderedDict()

    def tell(self, values: Mapping[str, Value]) -> None:
        """Adds values or replaces those of before."""
        with self._lock:
            for key, value in values.items():
                self._known[key] = value
                self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def get(self, key: str) -> Value | None:
        """The value that was told last; None where there is none."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found
