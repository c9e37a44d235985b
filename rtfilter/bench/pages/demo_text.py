"""What `make demo` prints: the gain first, then a line for each query, what is compared, and one report."""

from __future__ import annotations

from rtfilter.bench.engines.modes import OFF, RTFILTER, SPARK
from rtfilter.bench.figures.query_figures import ByMode, by_speedup
from rtfilter.bench.figures.result import Result, speedup
from rtfilter.bench.pages.figure_texts import ms_text, packs_text, ratio_text

SHOWN = (OFF, SPARK, RTFILTER)
COMPARED = """\
One join of sales with a calendar, three times: the days of one holiday, of one year, and all days. "defaults" is Spark as
it comes, "own blooms" Spark with its own bloom filters and partition pruning. Sales lie in the order of their days, as they
do in a table that is loaded day by day. Selective joins on such a key are where rtfilter helps. Where all days are asked
for, nothing can be left out, and nothing is gained."""


def demo_text(result: Result) -> str:
    """Of a result in the modes of SHOWN; where a query failed in some mode, what is left of it."""
    complete = [(query_id, by_mode) for query_id, by_mode in by_speedup(result) if set(SHOWN) <= set(by_mode)]
    if not complete:
        return "No query ran in all modes."
    best_id, best = complete[0]
    lines = [
        _gained(best_id, best, equal=not result.mismatches),
        "",
        _row("asked for", "defaults ms", "own blooms ms", "rtfilter ms", "gain"),
    ]
    lines += [_query_row(query_id, by_mode) for query_id, by_mode in result.by_query.items()]
    lines += ["", f"{COMPARED} Times are medians of {result.settings.runs} runs.", ""]
    lines += [f"The report of '{best_id}', as rtfilter.last_report(spark) shows it:", best[RTFILTER].last.report]
    return "\n".join(lines)


def _gained(query_id: str, by_mode: ByMode, *, equal: bool) -> str:
    off, layer = (ms_text(by_mode[mode].median_ms) for mode in (OFF, RTFILTER))
    return (
        f"Gained: '{query_id}' takes {layer} ms with rtfilter and {off} ms in Spark with its defaults: "
        f"{ratio_text(speedup(by_mode, RTFILTER))} as fast.\n"
        f"Of its row groups {packs_text(by_mode[RTFILTER])} were read. Results are {'equal' if equal else 'DIFFERENT'}."
    )


def _query_row(query_id: str, by_mode: ByMode) -> str:
    times = [ms_text(by_mode[mode].median_ms) if mode in by_mode else "failed" for mode in SHOWN]
    gain = ratio_text(speedup(by_mode, RTFILTER)) if {OFF, RTFILTER} <= set(by_mode) else "-"
    return _row(query_id, *times, gain)


def _row(name: str, *cells: str) -> str:
    return f"{name:<12}" + "".join(f"{cell:>15}" for cell in cells)
