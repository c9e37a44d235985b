"""What was logged already of places and indexes that can't be used, so that it is not logged with every query."""

from __future__ import annotations

import threading
from collections import OrderedDict

# More than the indexes of a few places; of what is no more nobody says that it is well.
MOST_TOLD = 4_096


class ToldOnce:
    """Thread-safe. What was told longest ago is forgotten first, and told again if it is still so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._told)

    def is_news(self, what: str, text: str) -> bool:
        """Whether the latest that was told of a place or an index is not this; from now on it is."""
        with self._lock:
            is_news = self._told.get(what) != text
            self._told[what] = text
            self._told.move_to_end(what)
            while len(self._told) > MOST_TOLD:
                self._told.popitem(last=False)
        return is_news

    def forget(self, what: str) -> None:
        """It is well again."""
        with self._lock:
            self._told.pop(what, None)
