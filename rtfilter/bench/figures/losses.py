"""Queries that look slower or faster than off, beside those of off against itself: what a loss or a gain must stand out from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rtfilter.bench.engines.modes import OFF, OFF_AGAIN, RTFILTER
from rtfilter.bench.run.interleaved import Measurement

LEAST_RATIO = 0.95
SHORT_MS, SHORT_LOSS_MS = 1_000.0, 30.0
"""A query under a second is lost by milliseconds, not by its ratio."""

ByQuery = Mapping[str, Mapping[str, Measurement]]


def is_lost(off_ms: float, ms: float) -> bool:
    """Whether `ms` counts as slower than `off_ms`; with the two exchanged, whether it counts as faster."""
    return ms - off_ms > SHORT_LOSS_MS if off_ms < SHORT_MS else off_ms / ms < LEAST_RATIO


def noise_summary(by_query: ByQuery) -> dict[str, Any] | None:
    """For result.json: ids of the queries that look lost and gained, by mode; None where off did not run twice.

    Only queries that off, off-again and rtfilter finished count; without rtfilter among the modes those of the first two.
    """
    modes = [OFF_AGAIN, *([RTFILTER] if any(RTFILTER in by_mode for by_mode in by_query.values()) else [])]
    complete = {query_id: by_mode for query_id, by_mode in by_query.items() if {OFF, *modes} <= set(by_mode)}
    if not complete:
        return None

    def found(mode: str, *, gained: bool) -> list[str]:
        pairs = {query_id: (by_mode[OFF].median_ms, by_mode[mode].median_ms) for query_id, by_mode in complete.items()}
        return [query_id for query_id, (off, other) in pairs.items() if (is_lost(other, off) if gained else is_lost(off, other))]

    return {
        "queries": len(complete),
        "lost": {mode: found(mode, gained=False) for mode in modes},
        "gained": {mode: found(mode, gained=True) for mode in modes},
    }


def noise_text(by_query: ByQuery) -> str:
    """One line for people; empty where there is nothing to say."""
    summary = noise_summary(by_query)
    if summary is None:
        return ""
    lost, gained = summary["lost"], summary["gained"]
    line = (
        f"off against itself: of {summary['queries']} queries {len(lost[OFF_AGAIN])} look lost and {len(gained[OFF_AGAIN])} gained"
    )
    return f"{line}; with rtfilter {len(lost[RTFILTER])} and {len(gained[RTFILTER])}" if RTFILTER in lost else line
