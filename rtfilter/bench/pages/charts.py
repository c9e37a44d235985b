"""Bars of times and shares, and lines of speed-up against selectivity, as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from rtfilter.bench.pages.chart_style import INK, MODE_COLOURS, MUTED, SERIES_COLOURS, STYLE, WIDTH_IN, inline_svg, ratio_ticks


@dataclass(frozen=True)
class Bar:
    """One bar: its length, the range of the single runs (when there is one), and the text at its end."""

    value: float
    text: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class SpeedupLine:
    """Points as (selectivity, speed-up) of one query family in one mode; the dashed ones are not rtfilter's."""

    family: str
    name: str
    dashed: bool
    points: Sequence[tuple[float, float]]


def speedup_by_selectivity(lines: Sequence[SpeedupLine]) -> str:
    """Speed-up over off (log) against selectivity (log); a colour per family."""
    families = list(dict.fromkeys(line.family for line in lines))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.1 + 0.17 * len(lines)), layout="constrained")
        axes = figure.subplots()
        axes.set(xscale="log", yscale="log", xlabel="selectivity p (share of build rows that survive)")
        axes.set_title("times as fast as off", loc="left", fontsize=8, color=MUTED)
        axes.axhline(1.0, color=MUTED, linewidth=1, linestyle=(0, (3, 3)))
        for line in lines:
            xs, ys = zip(*sorted(line.points), strict=True)
            colour = SERIES_COLOURS[families.index(line.family) % len(SERIES_COLOURS)]
            dashes = (0, (2, 2)) if line.dashed else "solid"
            axes.plot(xs, ys, marker="o", markersize=3.5, linewidth=1.6, linestyle=dashes, color=colour, label=line.name)
        ratio_ticks(axes, [speedup for line in lines for _, speedup in line.points])
        selectivities = sorted({p for line in lines for p, _ in line.points})
        axes.xaxis.set_major_locator(FixedLocator([p for p in selectivities if p not in (0.8, 0.9)]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda p, _: f"{p:.2g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y")
        # Below the drawing: inside it, some line would run through the names.
        figure.legend(loc="outside lower left", handlelength=2.4)
        return inline_svg(figure, "Speed-up over off against selectivity")


def bars_by_mode(groups: Mapping[str, Mapping[str, Bar]], unit: str, description: str) -> str:
    """Horizontal bars: one group per query, in it one bar per mode, in the modes' colours."""
    modes = list(dict.fromkeys(mode for bars in groups.values() for mode in bars))
    rows = sum(len(bars) + 0.6 for bars in groups.values())
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 0.62 + rows * 0.15), layout="constrained")
        axes = figure.subplots()
        longest = max((bar.high or bar.value) for bars in groups.values() for bar in bars.values()) or 1.0
        y, ticks = 0.0, []
        for bars in groups.values():
            ticks.append(y + (len(bars) - 1) / 2)
            for mode, bar in bars.items():
                _draw_bar(axes, y, bar, MODE_COLOURS[mode], longest)
                y += 1
            y += 0.6
        axes.set_yticks(ticks, list(groups))
        axes.set_ylim(y - 0.1, -0.8)
        axes.set_xlim(0, longest * 1.24)
        axes.set_xlabel(unit)
        # Nothing is longer than 100 %, whatever room the texts at the bars' ends take.
        axes.xaxis.set_major_locator(
            FixedLocator([0, 25, 50, 75, 100]) if unit.startswith("%") and longest > 50 else MaxNLocator(5)
        )
        axes.xaxis.set_major_formatter(FuncFormatter(lambda length, _: f"{length:,g}"))
        axes.tick_params(axis="y", length=0)
        axes.spines["bottom"].set_visible(False)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        if len(modes) > 1:
            handles = [axes.barh([0], [0], color=MODE_COLOURS[mode], label=mode) for mode in modes]
            figure.legend(handles=handles, loc="outside upper left", ncols=len(modes), handlelength=1, columnspacing=1.2)
        return inline_svg(figure, description)


def _draw_bar(axes: Axes, y: float, bar: Bar, colour: str, longest: float) -> None:
    axes.barh([y], [bar.value], height=0.86, color=colour)
    end = bar.value
    if bar.low is not None and bar.high is not None and bar.high > bar.low:
        axes.plot([bar.low, bar.high], [y, y], color=INK, linewidth=0.8, solid_capstyle="butt")
        end = max(end, bar.high)
    axes.text(end + longest * 0.012, y, bar.text, va="center", fontsize=7.5, color=INK)
