"""The table that `rtfilter bench` prints: one row per query, median and spread of each mode."""

from __future__ import annotations

from rich import box
from rich.table import Table

from rtfilter.bench.modes import DUCKDB, OFF
from rtfilter.bench.result import Result
from rtfilter.bench.run import Measurement


def result_title(result: Result) -> str:
    """The line above the table."""
    settings = result.settings
    return f"{settings.suite}, scale factor {settings.sf:g}, {settings.layout}, median of {settings.runs} ± half the spread"


def result_table(result: Result) -> Table:
    """Median ms per mode, off/mode ratios, and the packs that were read where a mode counted them."""
    settings = result.settings
    ratio_modes = [mode for mode in settings.modes if mode not in (OFF, DUCKDB)] if OFF in settings.modes else []
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("query", no_wrap=True)
    for mode in settings.modes:
        table.add_column(f"{mode}\nms", justify="right", no_wrap=True)
    for mode in ratio_modes:
        table.add_column(f"off /\n{mode}", justify="right", no_wrap=True)
    table.add_column("packs\nread", justify="right", no_wrap=True)
    by_query: dict[str, dict[str, Measurement]] = {}
    for measured in result.measurements:
        by_query.setdefault(measured.query.id, {})[measured.mode] = measured
    for query_id, by_mode in by_query.items():
        cells = [_time(by_mode[mode]) for mode in settings.modes]
        ratios = [f"{by_mode[OFF].median_ms / by_mode[mode].median_ms:.2f}" for mode in ratio_modes]
        table.add_row(query_id, *cells, *ratios, packs_text(by_mode))
    return table


def _time(measured: Measurement) -> str:
    text = f"{measured.median_ms:,.0f} ±{measured.spread / 2:.0%}"
    return text if measured.agrees else f"[red]{text} DIFFERS[/red]"


def packs_text(by_mode: dict[str, Measurement]) -> str:
    """`4.0% (261)` for the mode that counted packs."""
    for measured in by_mode.values():
        total, kept = measured.last.packs_total, measured.last.packs_kept
        if total and kept is not None:
            return f"{kept / total:.1%} ({kept:,})"
    return "-"
