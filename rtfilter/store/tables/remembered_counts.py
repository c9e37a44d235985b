"""What the footers of a whole table said when a filter was last filled from them: rows, and how many values a column can have."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rtfilter.store.footer_cache.footer_memory import FileIdentity

MOST_TABLES = 1_000
# A column with this many rows for every whole number between its bounds holds, in all likelihood, nearly all of these numbers.
DENSE_ROWS = 4


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Rows of a table, and by lower-case name of a column the number of its distinct values, where that can be told."""

    rows: int
    distinct: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Seen:
    """`first` and `last`: the files at the ends of the list, as Hadoop's texts."""

    first: str
    last: str
    facts: TableFacts


class SeenTables:
    """Facts of tables by the bytes of their files, which a plan knows before anything is listed; bounded, thread-safe."""

    def __init__(self, most: int = MOST_TABLES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seen: OrderedDict[int, _Seen] = OrderedDict()

    def tell(self, files: Sequence[FileIdentity], total_bytes: int, rows: int, spans: Iterable[tuple[str, int | None]]) -> None:
        """Adds what is known of all the packs of some files; `spans`: highest minus lowest value plus 1, by column."""
        found = {column.lower(): span for column, span in spans if span is not None and span * DENSE_ROWS <= rows}
        with self._lock:
            before = self._seen.pop(total_bytes, None)
            ends = (files[0].path, files[-1].path)
            if before is not None and (before.first, before.last, before.facts.rows) == (*ends, rows):
                found = {**before.facts.distinct, **found}
            self._seen[total_bytes] = _Seen(*ends, TableFacts(rows, found))
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def facts(self, roots: Sequence[str], total_bytes: int) -> TableFacts | None:
        """What is known of the table with files of so many bytes below these roots (Hadoop's texts), None if nothing is."""
        seen = self._seen.get(total_bytes)
        if seen is None or not all(any(_is_below(end, root) for root in roots) for end in (seen.first, seen.last)):
            return None
        return seen.facts


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
