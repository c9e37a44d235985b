"""How many rows conditions left, as long as this process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

MOST_CONDITIONS = 10_000


class SeenRows:
    """Rows by the key of a table and its conditions (planner/seen_rows.py); bounded, the longest unused go first. Thread-safe."""

    def __init__(self, most: int = MOST_CONDITIONS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._rows: OrderedDict[str, int] = OrderedDict()

    def tell(self, rows: Mapping[str, int]) -> None:
        """Adds what finished stages told."""
        with self._lock:
            for key, count in rows.items():
                self._rows[key] = count
                self._rows.move_to_end(key)
            while len(self._rows) > self._most:
                self._rows.popitem(last=False)

    def get(self, key: str) -> int | None:
        """The rows that were left the last time; None where nobody has seen it."""
        with self._lock:
            found = self._rows.get(key)
            if found is not None:
                self._rows.move_to_end(key)
            return found
