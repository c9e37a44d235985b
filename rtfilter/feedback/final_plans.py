"""Which executions are worth a look at their end, for what it tells of rows that conditions leave (planner/cost/rows_left.py)."""

from __future__ import annotations

from collections.abc import Collection

from rtfilter.feedback.bounded_memory import Memory

# What so many ends have not told, the next one hardly will: filters narrow that scan every time, or its stage ends up unused.
MOST_TIMES = 3


class FinalPlans:
    """How often an end was asked for, by what it might tell. Bounded, thread-safe; two threads may count as one."""

    def __init__(self) -> None:
        self._asked: Memory[int] = Memory()

    def wanted(self, keys: Collection[str]) -> bool:
        """Whether the end of an execution may still tell one of these keys; counts as asked for."""
        counts = {key: self._asked.get(key) or 0 for key in keys}
        fresh = {key: count + 1 for key, count in counts.items() if count < MOST_TIMES}
        self._asked.tell(fresh)
        return bool(fresh)
