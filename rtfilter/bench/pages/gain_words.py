"""The first words of the page: what was gained, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from rtfilter.bench.engines.modes import OFF, RTFILTER
from rtfilter.bench.figures.query_figures import comparable, regressions
from rtfilter.bench.figures.result import Result, speedup
from rtfilter.bench.pages.figure_texts import ms_text, ratio_text, seconds_text


@dataclass(frozen=True)
class GainWords:
    """`total`, `best`, `worst` are ratios as text, with the times or the query that they are of."""

    sentence: str
    total: str
    total_times: str
    best: str
    best_id: str
    worst: str
    worst_id: str
    lost: str


def gain_words(result: Result) -> GainWords | None:
    """None where no query ran with the layer off and on."""
    pairs = {query_id: by_mode for query_id, by_mode in comparable(result).items() if RTFILTER in by_mode}
    if not pairs:
        return None
    off, layer = (sum(by_mode[mode].median_ms for by_mode in pairs.values()) for mode in (OFF, RTFILTER))
    in_order = sorted(pairs, key=lambda query_id: speedup(pairs[query_id], RTFILTER))
    slower = regressions(result)
    lost_ms = sum(each.lost_ms for each in slower)
    faster = f"{ratio_text(off / layer)} as fast"
    cost = "None is slower"
    if slower:
        cost = f"{len(slower)} of them {'is' if len(slower) == 1 else 'are'} slower, by {ms_text(lost_ms)} ms in all"
    count = f"{len(pairs)} queries" if len(pairs) > 1 else "One query"
    return GainWords(
        sentence=f"{count}: {seconds_text(off)} in Spark with its defaults, {seconds_text(layer)} with rtfilter, {faster}. {cost}.",
        total=ratio_text(off / layer),
        total_times=f"{seconds_text(off)} → {seconds_text(layer)}",
        best=ratio_text(speedup(pairs[in_order[-1]], RTFILTER)),
        best_id=in_order[-1],
        worst=ratio_text(speedup(pairs[in_order[0]], RTFILTER)),
        worst_id=in_order[0],
        lost=f"{ms_text(lost_ms)} ms lost in all" if slower else f"of {len(pairs)}",
    )
