"""Predicted against actual: does the planner rank filters as their gains turn out to be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rtfilter.bench.engines.modes import OFF, RTFILTER
from rtfilter.bench.run.interleaved import Measurement

LEAST_FILTERS = 3
"""Of fewer filters no order says anything."""


@dataclass(frozen=True)
class FilterGain:
    """An applied filter: what the planner expected of it, net of all costs, and its part of what its query gained, in ms."""

    query_id: str
    filter_id: str
    expected_ms: float
    measured_ms: float


def filter_gains(by_query: Mapping[str, Mapping[str, Measurement]]) -> list[FilterGain]:
    """Every filter that was applied in a query that ran off and with rtfilter.

    A query's gain is its median off less that with rtfilter. Its filters have their parts of it by the rows that each of them kept
    from going on, in rejected packs and by row tests, as they were counted; never by what was expected of them. A filter whose
    scan did not run after all, for an equal stage had its rows already, is none of them.
    """
    return [
        gain
        for query_id, by_mode in by_query.items()
        if OFF in by_mode and RTFILTER in by_mode
        for gain in _of_query(query_id, by_mode[OFF].median_ms - by_mode[RTFILTER].median_ms, by_mode[RTFILTER].last.filters)
    ]


def _of_query(query_id: str, gained_ms: float, filters: Sequence[Mapping[str, Any]]) -> list[FilterGain]:
    applied = [each for each in filters if took_part(each) and each.get("estimated_gain_ms") is not None]
    removed = [rows_removed(each) for each in applied]
    total = sum(removed)
    shares = [rows / total if total else 1.0 / len(applied) for rows in removed]
    return [
        FilterGain(query_id, str(each.get("id", "")), net_gain_ms(each), share * gained_ms)
        for each, share in zip(applied, shares, strict=True)
    ]


def net_gain_ms(candidate: Mapping[str, Any]) -> float:
    """The expected gain of a filter less its cost, in ms; results of older versions have the difference as the gain."""
    return float(candidate["estimated_gain_ms"]) - float(candidate.get("estimated_cost_ms") or 0.0)


def took_part(candidate: Mapping[str, Any]) -> bool:
    """Whether a filter was applied to a scan that ran."""
    return candidate.get("decision") == "applied" and candidate.get("ran") is not False


def rows_removed(candidate: Mapping[str, Any]) -> int:
    in_packs = int(candidate.get("rows_total") or 0) - int(candidate.get("rows_kept") or 0)
    return in_packs + int(candidate.get("rows_dropped") or 0)


def rank_correlation(gains: Sequence[FilterGain]) -> float | None:
    """Spearman's rank correlation of expected and measured gains, −1 to 1; equal values share their mean rank.

    None with fewer than three filters, or where all are expected, or were measured, to gain the same.
    """
    if len(gains) < LEAST_FILTERS:
        return None
    expected = _ranks(np.array([gain.expected_ms for gain in gains]))
    measured = _ranks(np.array([gain.measured_ms for gain in gains]))
    spread = float(np.sqrt((expected**2).sum() * (measured**2).sum()))
    return float((expected * measured).sum()) / spread if spread else None


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Ranks less their mean."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means = last - (counts - 1) / 2.0
    centred: npt.NDArray[np.float64] = means[places] - means[places].mean()
    return centred


def agreement_text(gains: Sequence[FilterGain]) -> str:
    """One line for people; empty where there is nothing to say."""
    correlation = rank_correlation(gains)
    if correlation is None:
        return ""
    return f"expected and measured gain of {len(gains)} applied filters: rank correlation (Spearman) {correlation:.2f}"
