"""The table that `rtfilter bench` prints: one row per query, median and spread of each mode."""

from __future__ import annotations

from rich import box
from rich.table import Table

from rtfilter.bench.engines.modes import DUCKDB, OFF
from rtfilter.bench.figures.filter_choice import choice_text, choices
from rtfilter.bench.figures.losses import noise_text
from rtfilter.bench.figures.predictions import agreement_text, filter_gains
from rtfilter.bench.figures.query_figures import share_let_through
from rtfilter.bench.figures.result import Result, speedup
from rtfilter.bench.run.interleaved import Measurement


def result_title(result: Result) -> str:
    """The line above the table."""
    settings = result.settings
    scale = "" if settings.sf is None else f"scale factor {settings.sf:g}, "
    return f"{settings.suite}, {scale}{settings.layout}, median of {settings.runs} ± half the spread"


def result_table(result: Result) -> Table:
    """Median ms per mode, off/mode ratios, and where packs were counted those that were read and the rows that filters left."""
    settings, by_query = result.settings, result.by_query
    ratio_modes = [mode for mode in settings.modes if mode not in (OFF, DUCKDB)] if OFF in settings.modes else []
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("query", no_wrap=True)
    for mode in settings.modes:
        table.add_column(f"{mode}\nms", justify="right", no_wrap=True)
    for mode in ratio_modes:
        table.add_column(f"off /\n{mode}", justify="right", no_wrap=True)
    table.add_column("packs\nread", justify="right", no_wrap=True)
    if ratio_modes:
        table.add_column("rows let\nthrough", justify="right", no_wrap=True)
    for query_id, by_mode in by_query.items():
        cells = [_time(by_mode[mode]) if mode in by_mode else "[red]failed[/red]" for mode in settings.modes]
        ratios = [f"{speedup(by_mode, mode):.2f}" if {OFF, mode} <= set(by_mode) else "-" for mode in ratio_modes]
        table.add_row(query_id, *cells, *ratios, packs_text(by_mode), *([rows_text(by_mode)] if ratio_modes else []))
    remarks = agreement_text(filter_gains(by_query)), choice_text(choices(by_query)), noise_text(by_query)
    table.caption = "\n".join(remark for remark in remarks if remark) or None
    for query_id in dict.fromkeys(failure.query_id for failure in result.failures if failure.query_id not in by_query):
        table.add_row(query_id, *("[red]failed[/red]" for _ in settings.modes))
    return table


def _time(measured: Measurement) -> str:
    text = f"{measured.median_ms:,.0f} ±{measured.spread / 2:.0%}"
    return text if measured.agrees else f"[red]{text} DIFFERS[/red]"


def rows_text(by_mode: dict[str, Measurement]) -> str:
    """`1.5%`: of the rows that scans give off, those left by the filters of the mode that counted packs."""
    for mode, measured in by_mode.items():
        share = share_let_through(by_mode, mode) if measured.last.packs_total else None
        if share is not None:
            return f"{share:.1%}"
    return "-"


def packs_text(by_mode: dict[str, Measurement]) -> str:
    """`4.0% (261)` for the mode that counted packs."""
    for measured in by_mode.values():
        total, kept = measured.last.packs_total, measured.last.packs_kept
        if total and kept is not None:
            return f"{kept / total:.1%} ({kept:,})"
    return "-"
