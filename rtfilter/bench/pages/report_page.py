"""`report.html`: one file with everything in it, for a screen of any width, light or dark, and for paper."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rtfilter.bench.engines.modes import DUCKDB, OFF, RTFILTER, judge_of
from rtfilter.bench.figures.filter_choice import choice_text, choices
from rtfilter.bench.figures.losses import noise_text
from rtfilter.bench.figures.predictions import agreement_text, filter_gains
from rtfilter.bench.figures.query_figures import (
    ByMode,
    by_speedup,
    comparable,
    expected_gain_ms,
    is_significant,
    packs_share,
    regressions,
    rows_let_through,
    share_let_through,
    spark_modes,
)
from rtfilter.bench.figures.result import Result, speedup
from rtfilter.bench.pages.chart_columns import in_columns
from rtfilter.bench.pages.chart_style import MODE_COLOURS
from rtfilter.bench.pages.charts import Bar, SpeedupLine, bars_by_mode, speedup_by_selectivity
from rtfilter.bench.pages.figure_texts import ms_text, packs_text, ratio_text, seconds_text
from rtfilter.bench.pages.gain_words import gain_words
from rtfilter.bench.pages.point_charts import (
    Curve,
    Dot,
    Point,
    Span,
    curves,
    dots_by_query,
    gain_scatter,
    spans_by_query,
    speedup_scatter,
)
from rtfilter.bench.run.interleaved import Measurement

ByQuery = Mapping[str, ByMode]
MOST_BARS = 16
"""Queries in a chart with a bar for every mode; more of them get a row of dots each, which a screen can hold."""
MOST_CURVES = 6


def render_report(result: Result) -> str:
    """The whole page."""
    loader = PackageLoader("rtfilter.bench.pages", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(counted=_counted, ms=ms_text, seconds=seconds_text, ratio=ratio_text, packs=packs_text)
    environment.filters["let_through"] = rows_let_through
    modes = result.settings.modes
    return environment.get_template("report.html.j2").render(
        settings=result.settings,
        machine_line=machine_line(result.machine),
        summary=result.to_dict()["summary"],
        judge=judge_of(modes),
        mismatches=result.mismatches,
        failures=result.failures,
        regressions=regressions(result),
        by_query=result.by_query,
        compared=sum(len(by_mode) > 1 for by_mode in result.by_query.values()),
        ratio_modes=[mode for mode in modes if mode != OFF] if OFF in modes else [],
        chart_columns=in_columns(_charts(result)),
        gain=gain_words(result),
        distributions=result.distributions,
        filters=[(measured.query.id, candidate) for measured in result.measurements for candidate in measured.last.filters],
        off=OFF,
        duckdb=DUCKDB,
        rtfilter=RTFILTER,
        agreement=agreement_text(filter_gains(result.by_query)),
        choice=choice_text(choices(result.by_query)),
        noise=noise_text(result.by_query),
    )


def _charts(result: Result) -> list[tuple[str, Markup]]:
    """Title and drawing of each chart."""
    by_query = result.by_query
    selectivity_chart = _selectivity_lines(by_query)
    families = _families(by_query)
    times = [
        (f"Median time{f', {family}' if family and len(families) > 1 else ''}", _time_chart(part)) for family, part in families
    ]
    charts = [
        ("Time by number of build keys", _keys_chart(by_query, _times_over_keys, "median time, ms", log_y=True)),
        ("Packs read by number of build keys", _keys_chart(by_query, _packs_over_keys, "packs read, %", log_y=False)),
        ("Speed-up against selectivity", selectivity_chart),
        ("Speed-up, query by query", None if selectivity_chart else _speedup_dots(result)),
        ("Speed-up against what the filters let through", None if selectivity_chart else _let_through_scatter(result)),
        ("Expected and measured gain", _gain_chart(result)),
        ("Packs read", _packs_chart(by_query)),
        ("Rows of star-trees in place of the table's", _trees_chart(by_query)),
        *times,
        ("Skew of the data", _skew_chart(result)),
    ]
    return [(title, chart) for title, chart in charts if chart is not None]


def _counted(number: float | None) -> str:
    """A count for people; a dash where nothing was counted."""
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:,.1f}"


def _families(by_query: ByQuery) -> list[tuple[str, ByQuery]]:
    """Queries of one family share a chart, and so a scale: a shuffled join would flatten all others to nothing."""
    groups = groupby(by_query, key=lambda query_id: _any(by_query[query_id]).query.family)
    return [(family, {query_id: by_query[query_id] for query_id in ids}) for family, ids in groups]


def _any(by_mode: ByMode) -> Measurement:
    return next(iter(by_mode.values()))


def _time_chart(by_query: ByQuery) -> Markup:
    if len(by_query) > MOST_BARS:
        dots = {query_id: {mode: Dot(measured.median_ms) for mode, measured in m.items()} for query_id, m in by_query.items()}
        return Markup(dots_by_query(dots, "ms, median", "Median time of each query and mode", ratios=False))
    groups = {query_id: {mode: _time_bar(measured) for mode, measured in by_mode.items()} for query_id, by_mode in by_query.items()}
    return Markup(bars_by_mode(groups, "ms, median; thin line: fastest to slowest run", "Median time of each query and mode"))


def _time_bar(measured: Measurement) -> Bar:
    return Bar(measured.median_ms, ms_text(measured.median_ms), min(measured.ms), max(measured.ms))


def _selectivity_lines(by_query: ByQuery) -> Markup | None:
    """Lines by family and mode; None without a mode `off` or without queries that have a selectivity."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for by_mode in by_query.values():
        query = _any(by_mode).query
        # A query on one table has no runtime filter, and shows nothing of what one gains.
        if OFF not in by_mode or query.selectivity is None or len(query.tables) < 2:
            continue
        for mode in spark_modes(by_mode):
            points.setdefault((mode, query.family), []).append((query.selectivity, speedup(by_mode, mode)))
    lines = [
        SpeedupLine(family, f"{mode}: {family}", mode != RTFILTER, of_line)
        for (mode, family), of_line in sorted(points.items(), key=lambda item: item[0][0] != RTFILTER)
    ]
    return Markup(speedup_by_selectivity(lines)) if lines else None


def _speedup_dots(result: Result) -> Markup | None:
    rows = {
        query_id: {mode: Dot(speedup(by_mode, mode), hollow=not is_significant(by_mode, mode)) for mode in spark_modes(by_mode)}
        for query_id, by_mode in by_speedup(result)
    }
    unit = "times as fast as off\nhollow: the sign test cannot tell it from off"
    return Markup(dots_by_query(rows, unit, "Speed-up over off of each query, sorted", ratios=True)) if rows else None


def _let_through_scatter(result: Result) -> Markup | None:
    points = [
        Point(query_id, mode, max(share, 1e-4), speedup(by_mode, mode))
        for query_id, by_mode in comparable(result).items()
        for mode in spark_modes(by_mode)
        if (share := share_let_through(by_mode, mode)) is not None
    ]
    label = "rows that packs and row filters let through, share of what scans give off"
    return (
        Markup(speedup_scatter(points, label, "Speed-up against the share of rows that the filters let through"))
        if points
        else None
    )


def _gain_chart(result: Result) -> Markup | None:
    points = [
        Point(query_id, RTFILTER, expected, by_mode[OFF].median_ms - by_mode[RTFILTER].median_ms)
        for query_id, by_mode in comparable(result).items()
        if RTFILTER in by_mode and (expected := expected_gain_ms(by_mode[RTFILTER])) is not None
    ]
    return Markup(gain_scatter(points, "Measured gain against expected gain of each query")) if points else None


def _packs_chart(by_query: ByQuery) -> Markup | None:
    shares = {
        query_id: {
            mode: (share, m) for mode, m in by_mode.items() if (share := packs_share(m)) is not None and len(m.query.tables) > 1
        }
        for query_id, by_mode in by_query.items()
    }
    shares = {query_id: of_query for query_id, of_query in shares.items() if of_query}
    if not shares:
        return None
    if len(shares) > MOST_BARS:
        # In tens of queries the order that tells something is by share; most of them keep all packs.
        in_order = sorted(shares.items(), key=lambda item: min(share for share, _ in item[1].values()))
        shares = dict(entry for entry in in_order if min(share for share, _ in entry[1].values()) < 1.0) or dict(in_order[:1])
    groups = {
        query_id: {mode: Bar(100 * share, packs_text(m)) for mode, (share, m) in of_query.items()}
        for query_id, of_query in shares.items()
    }
    return Markup(bars_by_mode(groups, "% of packs that were read", "Share of packs read by each query"))


def _trees_chart(by_query: ByQuery) -> Markup | None:
    """Of queries that star-trees answered, the rows that were chosen, what scans put out, and the rows that they stand for."""
    spans = {}
    for query_id, by_mode in by_query.items():
        used = [tree for measured in by_mode.values() for tree in measured.last.star_trees if tree.get("used")]
        read = [int(tree["rows_read"]) for tree in used if tree.get("rows_read") is not None]
        if read:
            decoded = [int(tree["rows_decoded"]) for tree in used if tree.get("rows_decoded") is not None]
            spans[query_id] = Span(sum(int(tree.get("base_rows") or 0) for tree in used), sum(read), sum(decoded) or None)
    names = ("chosen in the tree", "put out by its scans", "in the table")
    description = "Rows read of star-trees against rows of the table"
    return Markup(spans_by_query(spans, names, MODE_COLOURS[RTFILTER], description)) if spans else None


def _keys_chart(by_query: ByQuery, values: Any, title: str, *, log_y: bool) -> Markup | None:
    """Curves over the number of build keys; None when the suite does not set it."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for by_mode in by_query.values():
        query = _any(by_mode).query
        if query.build_keys is not None:
            for mode, value in values(by_mode):
                points.setdefault((query.family, mode), []).append((query.build_keys, value))
    families = list(dict.fromkeys(family for family, _ in points))
    lines = [Curve(f"{mode}: {family}", mode, at, dashed=family != families[0]) for (family, mode), at in points.items()]
    return Markup(curves(lines, "distinct build keys", title, title, log_y=log_y)) if lines else None


def _times_over_keys(by_mode: ByMode) -> list[tuple[str, float]]:
    return [(mode, measured.median_ms) for mode, measured in by_mode.items()]


def _packs_over_keys(by_mode: ByMode) -> list[tuple[str, float]]:
    return [(mode, 100 * share) for mode, measured in by_mode.items() if (share := packs_share(measured)) is not None]


def _skew_chart(result: Result) -> Markup | None:
    """Share of rows by rank, as drawn (solid) and as the law has it (dashed), of the keys with the most values."""
    keys = [distribution for distribution in result.distributions if distribution.column.endswith("key")]
    largest = sorted(keys, key=lambda distribution: distribution.values, reverse=True)[: MOST_CURVES // 2]
    lines = []
    for colour, of in enumerate(largest):
        drawn = [(rank, 100 * share) for rank, share, _ in of.points if share > 0]
        lines.append(Curve(of.column, colour, drawn))
        lines.append(
            Curve(f"{of.column}, the law", colour, [(rank, 100 * law) for rank, _, law in of.points[: len(drawn)]], dashed=True)
        )
    title = "rows that have the value, %"
    return Markup(curves(lines, "rank of the value, most frequent first", title, title, log_y=True)) if lines else None


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine and the versions in one line."""
    parts = [f"{machine['cpus']} CPUs", f"{machine['memory_gb']} GB"]
    programs = (("Spark", "spark"), ("Java", "java"), ("DuckDB", "duckdb"), ("rtfilter", "rtfilter"))
    parts += [f"{name} {machine[key]}" for name, key in programs if machine.get(key)]
    return " · ".join(parts)
