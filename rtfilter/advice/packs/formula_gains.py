"""What layouts of a table save by formulas, for all of its queries: what does not change is not computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rtfilter.advice.packs.askings import Asking
from rtfilter.advice.packs.kept_share import AS_IT_IS, Layout, read_bytes
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.predicates import leaves

# Sorted by a column that a query does not ask for: to it one such order is as good as another.
_BY_ANOTHER = "\0"


@dataclass(frozen=True, slots=True)
class Gain:
    """What a layout saves over another one: bytes and ms of all calls, and who gains.

    `share` and `lost_share`: what is saved, and what losers lose, as a share of the bytes that are read today.
    """

    bytes: float
    ms: float | None
    queries: tuple[str, ...]
    share: float
    lost_share: float


def all_by_dictionaries(table: TableStatistics) -> TableStatistics:
    """The table if all columns of which it is not known had dictionaries that Spark asks first: then indexes save the least."""
    columns = {
        name: column if column.dictionary_share is not None else replace(column, dictionary_share=1.0)
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


class FormulaGains:
    """The queries on a table, ready to be asked for the gain of a layout."""

    def __init__(self, asked: Sequence[Asking], table: TableStatistics) -> None:
        self._asked, self._table = asked, table
        self._ids = [each.fingerprint.id for each in asked]
        self._read: dict[tuple[int, Layout], float | None] = {}
        self._columns = [frozenset(self._names(each)) for each in asked]
        self._by_column: dict[str, list[int]] = {}
        for number, columns in enumerate(self._columns):
            for name in columns:
                self._by_column.setdefault(name, []).append(number)
        today = [self._bytes(number, AS_IT_IS) for number in range(len(asked))]
        self._today = [size or 0.0 for size in today]
        self._is_known = bool(table.packs and table.rows) and None not in today
        self._total = math.fsum(each.weight * size for each, size in zip(asked, self._today, strict=True))
        self._has_ms = any(each.ms is not None for each in asked)

    def _names(self, each: Asking) -> Iterable[str]:
        found = (self._table.column(name) for leaf in leaves(each.use.predicate) for name in leaf.columns)
        return (column.name for column in found if column is not None)

    def _bytes(self, number: int, layout: Layout) -> float | None:
        """What one call reads of the table in a layout."""
        columns = self._columns[number]
        sorted_by = layout.sorted_by if layout.sorted_by is None or layout.sorted_by in columns else _BY_ANOTHER
        key = number, Layout(layout.bloom & columns, sorted_by)
        if key not in self._read:
            self._read[key] = read_bytes(self._asked[number].use, self._table, key[1])
        return self._read[key]

    def gain(self, layout: Layout, before: Layout = AS_IT_IS) -> Gain | None:
        """None where the statistics lack what is needed: rows, packs, bytes."""
        if not self._is_known:
            return None
        changes: list[float] = []
        times: list[float] = []
        queries: dict[str, None] = {}
        for number in self._changed(layout, before):
            each = self._asked[number]
            today, new = self._today[number], self._bytes(number, layout) or 0.0
            old = today if before is AS_IT_IS else self._bytes(number, before) or 0.0
            changes.append(each.weight * (old - new))
            if each.ms is not None:
                times.append(each.ms * (old - new) / today if today else 0.0)
            if new < old:
                queries[self._ids[number]] = None
        saved = math.fsum(changes)
        lost = -math.fsum(change for change in changes if change < 0)
        share, lost_share = (saved / self._total, lost / self._total) if self._total else (0.0, 0.0)
        return Gain(saved, math.fsum(times) if self._has_ms else None, tuple(queries), share, lost_share)

    def _changed(self, layout: Layout, before: Layout) -> Iterable[int]:
        """The queries to which the two layouts may differ, in their order."""
        if replace(layout, bloom=frozenset()) != replace(before, bloom=frozenset()):
            return range(len(self._asked))
        return sorted({number for name in layout.bloom ^ before.bloom for number in self._by_column.get(name, ())})
