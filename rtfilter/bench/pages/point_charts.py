"""Charts that are made of points: a row of dots per query, scatters of one figure against another, curves over a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from rtfilter.bench.pages.chart_style import CLEAR, MODE_COLOURS, MUTED, SERIES_COLOURS, STYLE, WIDTH_IN, inline_svg, ratio_ticks

ROW_IN = 0.135
SMALL = 4.0
ROUND_RATIOS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class Dot:
    """One value of a mode in a query's row; hollow where it may be chance."""

    value: float
    hollow: bool = False


@dataclass(frozen=True)
class Point:
    """One query in a scatter."""

    query_id: str
    mode: str
    x: float
    y: float


@dataclass(frozen=True)
class Span:
    """A number, a part of it, and what lies between the two where that is known."""

    whole: float
    part: float
    between: float | None = None


@dataclass(frozen=True)
class Curve:
    """Points of one series by a number; `colour` counts within the palette of series, or names a mode."""

    name: str
    colour: int | str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def dots_by_query(rows: Mapping[str, Mapping[str, Dot]], unit: str, description: str, *, ratios: bool) -> str:
    """One row per query, top to bottom in the given order, one dot per mode, on a log scale; `ratios` marks 1."""
    modes = list(dict.fromkeys(mode for dots in rows.values() for mode in dots))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.0 + max(len(rows), 3) * ROW_IN), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale("log")
        for y, dots in enumerate(rows.values()):
            axes.axhline(y, color=MUTED, linewidth=0.15)
            for mode, dot in dots.items():
                colour = MODE_COLOURS[mode]
                face = CLEAR if dot.hollow else colour
                axes.plot([dot.value], [y], marker="o", markersize=SMALL, color=colour, markerfacecolor=face, linestyle="none")
        axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(unit)
        values = [dot.value for dots in rows.values() for dot in dots.values()]
        if ratios:
            axes.axvline(1.0, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
            low, high = min([*values, 0.8]) / 1.1, max([*values, 1.5]) * 1.1
            axes.set_xlim(low, high)
            axes.xaxis.set_major_locator(FixedLocator([tick for tick in ROUND_RATIOS if low <= tick <= high]))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}x"))
        else:
            _round_log_ticks(axes, "x", values)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        _mode_legend(figure, axes, modes)
        return inline_svg(figure, description)


def spans_by_query(rows: Mapping[str, Span], names: tuple[str, str, str], colour: str, description: str) -> str:
    """One row per query, top to bottom, on a log scale: a line from the part (a dot) to the whole (hollow). `names`: of part, of
    what is between, and of the whole."""
    kinds = (("o", colour, colour), ("|", colour, colour), ("o", colour, CLEAR))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.0 + max(len(rows), 3) * ROW_IN), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale("log")
        values = []
        for y, span in enumerate(rows.values()):
            axes.plot([max(span.part, 1), max(span.whole, 1)], [y, y], color=MUTED, linewidth=0.6)
            for value, (marker, edge, face) in zip((span.part, span.between, span.whole), kinds, strict=True):
                if value is not None:
                    values.append(max(value, 1))
                    axes.plot([values[-1]], [y], marker=marker, markersize=SMALL, color=edge, markerfacecolor=face)
        axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("rows")
        _round_log_ticks(axes, "x", values)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        handles = [
            axes.plot([], [], marker=marker, markersize=SMALL, color=edge, markerfacecolor=face, linestyle="none", label=name)[0]
            for name, (marker, edge, face) in zip(names, kinds, strict=True)
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=3, handlelength=1, columnspacing=1.2)
        return inline_svg(figure, description)


def speedup_scatter(points: Sequence[Point], x_label: str, description: str) -> str:
    """Speed-up over off (log) against a share (log), a dot per query; those far from the middle are named."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.set(xscale="log", yscale="log", xlabel=x_label)
        axes.set_title("times as fast as off", loc="left", fontsize=8, color=MUTED)
        axes.axhline(1.0, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        _draw_points(axes, points)
        ratio_ticks(axes, [point.y for point in points])
        lowest = min([point.x for point in points] + [0.5])
        axes.set_xlim(lowest / 1.5, 1.6)
        decades = [tick for tick in (0.0001, 0.001, 0.01, 0.1, 0.2, 0.5, 1.0) if tick >= lowest / 1.5]
        axes.xaxis.set_major_locator(FixedLocator(decades))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="both")
        axes.set_axisbelow(True)
        _name_extremes(axes, points, key=lambda point: abs(point.y - 1) if point.y > 1 else abs(1 / point.y - 1))
        return inline_svg(figure, description)


def gain_scatter(points: Sequence[Point], description: str) -> str:
    """Measured gain in ms against the planned one, with the line on which they are the same."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.set(xlabel="expected gain, ms (all applied filters of the query)")
        axes.set_title("measured gain, ms (off less rtfilter)", loc="left", fontsize=8, color=MUTED)
        reach = max([abs(value) for point in points for value in (point.x, point.y)] + [1.0])
        # Linear around zero, so that a loss has a place too.
        axes.set_xscale("symlog", linthresh=max(reach / 30, 1.0))
        axes.set_yscale("symlog", linthresh=max(reach / 30, 1.0))
        axes.axhline(0, color=MUTED, linewidth=0.6)
        axes.plot([0, reach], [0, reach], color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        _draw_points(axes, points)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:,.0f}"))
            axis.set_minor_locator(NullLocator())
        axes.grid(axis="both")
        axes.set_axisbelow(True)
        _name_extremes(axes, points, key=lambda point: abs(point.y - point.x))
        return inline_svg(figure, description)


def curves(lines: Sequence[Curve], x_label: str, title: str, description: str, *, log_y: bool) -> str:
    """Lines over a number that runs through powers of ten."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 2.6 + 0.17 * ((len(lines) + 1) // 2)), layout="constrained")
        axes = figure.subplots()
        axes.set(xscale="log", xlabel=x_label)
        if log_y:
            axes.set_yscale("log")
        axes.set_title(title, loc="left", fontsize=8, color=MUTED)
        for line in lines:
            xs, ys = zip(*sorted(line.points), strict=True)
            colour = _curve_colour(line.colour)
            dashes = (0, (2, 2)) if line.dashed else "solid"
            axes.plot(xs, ys, marker="o", markersize=3, linewidth=1.5, linestyle=dashes, color=colour, label=line.name)
        _round_log_ticks(axes, "x", [x for line in lines for x, _ in line.points])
        if log_y:
            _round_log_ticks(axes, "y", [y for line in lines for _, y in line.points if y > 0])
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.grid(axis="both")
        figure.legend(loc="outside lower left", handlelength=2.4, ncols=2, columnspacing=1.2)
        return inline_svg(figure, description)


def _draw_points(axes: Axes, points: Sequence[Point]) -> None:
    for mode in dict.fromkeys(point.mode for point in points):
        of_mode = [point for point in points if point.mode == mode]
        _dots(axes, [point.x for point in of_mode], [point.y for point in of_mode], mode)


def _dots(axes: Axes, xs: Sequence[float], ys: Sequence[float], mode: str) -> Line2D:
    return axes.plot(xs, ys, marker="o", markersize=SMALL, color=MODE_COLOURS[mode], linestyle="none", label=mode)[0]


def _curve_colour(colour: int | str) -> str:
    return MODE_COLOURS[colour] if isinstance(colour, str) else SERIES_COLOURS[colour % len(SERIES_COLOURS)]


def _name_extremes(axes: Axes, points: Sequence[Point], key: Callable[[Point], float], count: int = 6) -> None:
    """Names that would meet another one, or leave the axes, are left out: the table below has them all."""
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    taken: list[Bbox] = []
    inside = axes.get_window_extent()
    for point in sorted(points, key=key, reverse=True):
        if len(taken) == count:
            return
        name = axes.annotate(point.query_id, (point.x, point.y), xytext=(3, 3), textcoords="offset points", fontsize=7)
        # What a browser's own font takes more.
        place = name.get_window_extent().padded(4)
        if any(place.overlaps(other) for other in taken) or place.x1 > inside.x1 or place.y1 > inside.y1:
            name.remove()
        else:
            taken.append(place)


def _round_log_ticks(axes: Axes, which: str, values: Sequence[float]) -> None:
    """1, 10, 100, …; with 2 and 5 between them where the values span little."""
    if not values:
        return
    low, high = min(values), max(values)
    steps = (1,) if high / low > 300 else (1, 2, 5)
    ticks = [step * 10.0**power for power in range(-6, 13) for step in steps if low / 1.5 <= step * 10.0**power <= high * 1.5]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_locator(NullLocator())


def _short(value: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _mode_legend(figure: Figure, axes: Axes, modes: Sequence[str]) -> None:
    handles = [_dots(axes, [], [], mode) for mode in modes]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(modes), handlelength=1, columnspacing=1.2)
