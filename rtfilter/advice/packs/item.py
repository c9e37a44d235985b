"""One piece of advice: what to build, what it saves, what it costs, and the command that does it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from rtfilter.advice.statistics.tables import TableStatistics

# From which share of the gain on that is surely there.
_CONFIDENCE = ((0.8, "high"), (0.5, "medium"))


@dataclass(frozen=True, slots=True)
class KeptBefore:
    """The shares of a table's packs that a kind of query keeps before and after, with the bounds of the latter."""

    query: str
    before: float
    after: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        numbers = {name: round(getattr(self, name), 4) for name in ("before", "after", "low", "high")}
        return {"query": self.query, **numbers}


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of advice. `gain_ms` is None where the log has no times, `gain_bytes` where the statistics have no bytes.

    `bounds`: the least and the greatest that the gain may be, as shares of it; None where nothing tells. `is_tried`: on packs, not
    by formulas. `build_s`: how long building takes, `refresh`: seconds for each GB that is added. `kept`: what queries keep of the
    table's packs. `index`: the one to drop, by name. `fpp`: of a Bloom filter with more false positives than usual. `days`: how
    many the log is long. `measures`: those of a star-tree.
    """

    kind: str
    table: str
    columns: tuple[str, ...]
    queries: tuple[str, ...]
    gain_bytes: float | None
    gain_ms: float | None
    cost_bytes: int | None
    reason: str
    command: str
    bounds: tuple[float, float] | None = None
    is_tried: bool = True
    build_s: float | None = None
    refresh: float | None = None
    kept: tuple[KeptBefore, ...] = ()
    index: str | None = None
    fpp: float | None = None
    days: int | None = None
    measures: tuple[str, ...] = ()

    @property
    def confidence(self) -> str:
        """How far to believe the gain: by how much less it may be."""
        if self.bounds is None or not self.is_tried:
            return "low"
        return next((word for least, word in _CONFIDENCE if self.bounds[0] >= least), "low")

    @property
    def id(self) -> str:
        options = tuple(each for each in (self.index, self.fpp, self.measures or None) if each is not None)
        return hashlib.sha256(repr((self.kind, self.table.lower(), self.columns, *options)).encode()).hexdigest()[:12]

    def to_dict(self, rank: int) -> dict[str, Any]:
        return {
            "id": self.id,
            "rank": rank,
            "kind": self.kind,
            "table": self.table,
            "columns": list(self.columns),
            "queries": list(self.queries),
            "gain_bytes": _rounded(self.gain_bytes),
            "gain_ms": _rounded(self.gain_ms),
            "gain_ms_per_day": None if self.gain_ms is None or not self.days else _rounded(self.gain_ms / self.days),
            "gain_low": _rounded(self._bound(0)),
            "gain_high": _rounded(self._bound(1)),
            "cost_bytes": self.cost_bytes,
            "build_s": self.build_s,
            "refresh": self.refresh,
            "confidence": self.confidence,
            "reason": self.reason,
            "command": self.command,
            "kept": [each.to_dict() for each in self.kept],
            **({} if self.index is None else {"index": self.index}),
            **({} if self.fpp is None else {"fpp": self.fpp}),
            **({"measures": list(self.measures)} if self.measures else {}),
        }

    def _bound(self, end: int) -> float | None:
        """The least or greatest gain: in ms where they are known, else in bytes."""
        gain = self.gain_bytes if self.gain_ms is None else self.gain_ms
        return None if self.bounds is None or gain is None else gain * self.bounds[end]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def path_of(table: TableStatistics) -> str:
    return table.path or table.name
