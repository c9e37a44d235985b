"""What is known as long as this process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

MOST_ENTRIES = 10_000

Value = TypeVar("Value")


class Memory(Generic[Value]):
    """Values by key: rows that conditions left (planner/cost/rows_left.py), shares that filters let through
    (planner/cost/filters_at_work.py), and the work of rows whose scan waits (planner/placement/wait_credit.py).

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


class OfExecution(Generic[Value]):
    """The part of a memory that belongs to one execution; without an `execution` nothing is kept.

    Ids of expressions are those of a view's one analysis: two queries of it have the same, and so have filters of theirs.
    """

    def __init__(self, memory: Memory[Value], execution: int | None) -> None:
        self._memory, self._execution = memory, execution

    def tell(self, values: Mapping[str, Value]) -> None:
        """Adds values or replaces those of before."""
        if self._execution is not None:
            self._memory.tell({self._name(key): value for key, value in values.items()})

    def get(self, key: str) -> Value | None:
        """The value that the same execution told last; None where there is none."""
        return self._memory.get(self._name(key))

    def _name(self, key: str) -> str:
        return f"{self._execution}|{key}"
