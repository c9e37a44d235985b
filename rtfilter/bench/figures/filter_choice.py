"""The choice among filters against all of them and none: does cost=auto keep up with the better of always and never?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtfilter.bench.engines.modes import RTFILTER, RTFILTER_ALWAYS, RTFILTER_NEVER
from rtfilter.bench.run.interleaved import Measurement

TOLERANCE = 0.05
"""So much longer than with the better of the two, as a share, a query may take."""


@dataclass(frozen=True)
class Choice:
    """One query: the mode of the shorter median, and that median over the one with cost=auto (above 1: auto was faster still)."""

    query_id: str
    better: str
    ratio: float

    @property
    def keeps_up(self) -> bool:
        return self.ratio * (1.0 + TOLERANCE) >= 1.0


def choices(by_query: Mapping[str, Mapping[str, Measurement]]) -> list[Choice]:
    """Every query that ran with cost=auto, always and never, the worst choice first."""
    found = (_choice(query_id, by_mode) for query_id, by_mode in by_query.items() if _is_complete(by_mode))
    return sorted(found, key=lambda choice: choice.ratio)


def _is_complete(by_mode: Mapping[str, Measurement]) -> bool:
    return {RTFILTER, RTFILTER_ALWAYS, RTFILTER_NEVER} <= set(by_mode)


def _choice(query_id: str, by_mode: Mapping[str, Measurement]) -> Choice:
    better = min((RTFILTER_ALWAYS, RTFILTER_NEVER), key=lambda mode: by_mode[mode].median_ms)
    return Choice(query_id, better, by_mode[better].median_ms / by_mode[RTFILTER].median_ms)


def choice_summary(found: list[Choice]) -> dict[str, Any]:
    """For result.json: how many queries there are, and better mode and ratio of each one that did not keep up."""
    behind = [choice for choice in found if not choice.keeps_up]
    return {
        "queries": len(found),
        "behind": {choice.query_id: {"better": choice.better, "ratio": round(choice.ratio, 3)} for choice in behind},
    }


def choice_text(found: list[Choice]) -> str:
    """One line for people; empty where there is nothing to say."""
    if not found:
        return ""
    behind = [f"{choice.query_id} {choice.ratio:.2f}" for choice in found if not choice.keeps_up]
    kept_up = f"{len(found) - len(behind)} of {len(found)} queries"
    line = f"cost=auto is within {TOLERANCE:.0%} of the better of always and never in {kept_up}"
    return f"{line}; not in {', '.join(behind)}" if behind else line
