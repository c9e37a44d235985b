"""What the report shows, as plain numbers out of a result: which query gained, which lost and why, and what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rtfilter.bench.engines.modes import DUCKDB, OFF, RTFILTER
from rtfilter.bench.figures.predictions import net_gain_ms, took_part
from rtfilter.bench.figures.result import SIGNIFICANT, Result, speedup
from rtfilter.bench.figures.sign_test import sign_test
from rtfilter.bench.run.interleaved import Measurement
from rtfilter.report_table import share_text

ByMode = Mapping[str, Measurement]
NOTICEABLE = 0.98
"""A query counts as slower below this ratio: what lies closer to 1 no clock can tell from it."""


@dataclass(frozen=True)
class Regression:
    """A query that was slower in a mode than off: off/mode ratio, p-value of the sign test, and what the filters said."""

    query_id: str
    mode: str
    ratio: float
    lost_ms: float
    p_value: float
    reasons: tuple[str, ...]


def comparable(result: Result) -> dict[str, ByMode]:
    """The queries that ran with the layer off, and in some other Spark mode too."""
    return {q: by_mode for q, by_mode in result.by_query.items() if OFF in by_mode and spark_modes(by_mode)}


def spark_modes(by_mode: ByMode) -> list[str]:
    """The modes that off is compared with: DuckDB is another engine and shows nothing of what a filter gains."""
    return [mode for mode in by_mode if mode not in (OFF, DUCKDB)]


def by_speedup(result: Result) -> list[tuple[str, ByMode]]:
    """The comparable queries, largest speed-up of rtfilter first (of the first other mode where it did not run)."""

    def order(entry: tuple[str, ByMode]) -> float:
        by_mode = entry[1]
        return speedup(by_mode, RTFILTER if RTFILTER in by_mode else spark_modes(by_mode)[0])

    return sorted(comparable(result).items(), key=order, reverse=True)


def is_significant(by_mode: ByMode, mode: str) -> bool:
    """Whether the sign test tells the mode from off."""
    return sign_test(by_mode[OFF].ms, by_mode[mode].ms) <= SIGNIFICANT


def regressions(result: Result) -> list[Regression]:
    """Queries that rtfilter made slower, the worst ratio first."""
    slower = [
        Regression(
            query_id,
            RTFILTER,
            speedup(by_mode, RTFILTER),
            by_mode[RTFILTER].median_ms - by_mode[OFF].median_ms,
            sign_test(by_mode[OFF].ms, by_mode[RTFILTER].ms),
            tuple(reasons(by_mode[RTFILTER].last.filters)),
        )
        for query_id, by_mode in comparable(result).items()
        if RTFILTER in by_mode and speedup(by_mode, RTFILTER) < NOTICEABLE
    ]
    return sorted(slower, key=lambda regression: regression.ratio)


def reasons(filters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line per candidate filter, the applied ones first; equal lines once, with their number."""
    if not filters:
        yield "no pair of join keys was considered: the query has no join that a filter fits"
        return
    lines: dict[str, int] = {}
    for candidate in sorted(filters, key=lambda candidate: candidate.get("decision") != "applied"):
        words = [f"{candidate.get('build')} → {candidate.get('probe')} {candidate.get('decision')}"]
        if candidate.get("decision") == "applied":
            words += _effects(candidate)
        why = str(candidate.get("detail") or candidate.get("reason") or "")
        line = ", ".join(words) + (f". {why}" if why else "")
        lines[line] = lines.get(line, 0) + 1
    yield from (f"{line} ({count} times)" if count > 1 else line for line, count in lines.items())


def _effects(candidate: Mapping[str, Any]) -> Iterator[str]:
    """What an applied filter did, as far as it was counted: a filter of rows knows of no packs."""
    if candidate.get("ran") is False:
        yield "its scan did not run"
        return
    kept, total = candidate.get("packs_kept"), candidate.get("packs_total")
    yield "packs were not counted" if kept is None or total is None else f"{share_text(kept, total)} packs kept"
    seen, dropped = candidate.get("rows_seen"), candidate.get("rows_dropped")
    if seen and dropped is not None:
        yield f"{share_text(dropped, seen)} tested rows dropped"


def rows_let_through(measured: Measurement) -> int | None:
    """Rows that the query's scans gave and its row filters let go on; None where scans were not counted."""
    last = measured.last
    if last.scan_rows is None:
        return None
    # A row filter stands on its scan, whose own count is of rows that the filter has not seen yet.
    dropped = sum(int(candidate.get("rows_dropped") or 0) for candidate in last.filters if took_part(candidate))
    return max(last.scan_rows - dropped, 0)


def share_let_through(by_mode: ByMode, mode: str) -> float | None:
    """Rows that rejected packs and row filters left, as a share of what the scans give off: the selectivity of its filters."""
    off_rows, rows = by_mode[OFF].last.scan_rows if OFF in by_mode else None, rows_let_through(by_mode[mode])
    return rows / off_rows if off_rows and rows is not None else None


def packs_share(measured: Measurement) -> float | None:
    """Packs read over packs in the tables, where they were counted."""
    total, kept = measured.last.packs_total, measured.last.packs_kept
    return kept / total if total and kept is not None else None


def expected_gain_ms(measured: Measurement) -> float | None:
    """What the planner expected of the filters that it applied to scans that ran; None when there were none."""
    applied = [each for each in measured.last.filters if took_part(each)]
    known = [net_gain_ms(each) for each in applied if each.get("estimated_gain_ms") is not None]
    return sum(known) if known else None
