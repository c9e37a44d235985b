"""`report.html`: one file with everything in it, for a screen of any width, light or dark, and for paper."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rtfilter.bench.charts import Bar, SpeedupLine, bars_by_mode, speedup_by_selectivity
from rtfilter.bench.modes import DUCKDB, OFF, RTFILTER, judge_of
from rtfilter.bench.result import Result
from rtfilter.bench.run import Measurement

ByQuery = Mapping[str, Mapping[str, Measurement]]


def render_report(result: Result) -> str:
    """The whole page."""
    by_query = result.by_query
    loader = PackageLoader("rtfilter.bench", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["counted"] = _counted
    return environment.get_template("report.html.j2").render(
        settings=result.settings,
        machine_line=machine_line(result.machine),
        summary=result.to_dict()["summary"],
        judge=judge_of(result.settings.modes),
        mismatches=result.mismatches,
        by_query=by_query,
        ratio_modes=[mode for mode in result.settings.modes if mode != OFF] if OFF in result.settings.modes else [],
        speedup_chart=_speedup_chart(by_query),
        time_charts=[(title, _time_chart(part)) for title, part in _families(by_query)],
        packs_chart=_packs_chart(by_query),
        filters=[(measured.query.id, candidate) for measured in result.measurements for candidate in measured.last.filters],
        off=OFF,
        duckdb=DUCKDB,
    )


def _counted(number: float | None) -> str:
    """A count for people; a dash where nothing was counted."""
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def _families(by_query: ByQuery) -> list[tuple[str, ByQuery]]:
    """Queries of one family share a chart, and so a scale: a shuffled join would flatten all others to nothing."""
    groups = groupby(by_query, key=lambda query_id: next(iter(by_query[query_id].values())).query.family)
    return [(family, {query_id: by_query[query_id] for query_id in ids}) for family, ids in groups]


def _time_chart(by_query: ByQuery) -> Markup:
    groups = {query_id: {mode: _time_bar(measured) for mode, measured in by_mode.items()} for query_id, by_mode in by_query.items()}
    return Markup(bars_by_mode(groups, "ms, median; thin line: fastest to slowest run", "Median time of each query and mode"))


def _time_bar(measured: Measurement) -> Bar:
    return Bar(measured.median_ms, f"{measured.median_ms:,.0f}", min(measured.ms), max(measured.ms))


def _speedup_chart(by_query: ByQuery) -> Markup | None:
    """Lines by family and mode; None without a mode `off` or without queries that have a selectivity."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for by_mode in by_query.values():
        for mode, measured in by_mode.items():
            query = measured.query
            # A query on one table has no runtime filter, and DuckDB is another engine: neither shows what a filter gains.
            if OFF in by_mode and mode not in (OFF, DUCKDB) and query.selectivity is not None and len(query.tables) > 1:
                points.setdefault((mode, query.family), []).append((query.selectivity, by_mode[OFF].median_ms / measured.median_ms))
    lines = [
        SpeedupLine(family, f"{mode}: {family}", mode != RTFILTER, of_line)
        for (mode, family), of_line in sorted(points.items(), key=lambda item: item[0][0] != RTFILTER)
    ]
    return Markup(speedup_by_selectivity(lines)) if lines else None


def _packs_chart(by_query: ByQuery) -> Markup | None:
    groups: dict[str, dict[str, Bar]] = {}
    for query_id, by_mode in by_query.items():
        for mode, measured in by_mode.items():
            share = packs_share(measured)
            if share is not None and len(measured.query.tables) > 1:
                text = f"{100 * share:.3g} % ({measured.last.packs_kept:,})"
                groups.setdefault(query_id, {})[mode] = Bar(100 * share, text)
    return Markup(bars_by_mode(groups, "% of packs that were read", "Share of packs read by each query")) if groups else None


def packs_share(measured: Measurement) -> float | None:
    """Packs read over packs in the table, where they were counted."""
    total, kept = measured.last.packs_total, measured.last.packs_kept
    return kept / total if total and kept is not None else None


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine in one line."""
    parts = [f"{machine['cpus']} CPUs", f"{machine['memory_gb']} GB"]
    programs = (("Spark", "spark"), ("Java", "java"), ("rtfilter", "rtfilter"))
    parts += [f"{name} {machine[key]}" for name, key in programs if machine[key]]
    return " · ".join(parts)
