"""How the report's charts look, and how a drawing becomes inline SVG.

Drawn with matplotlib: it is the best-kept plotting library there is, its SVG is plain markup of some 10 to 40 KB a chart,
and it needs no script. plotly's and altair's self-contained output carries megabytes of JavaScript and cannot be printed
without it; pygal puts links to a script host into its files. Pinned to matplotlib>=3.9,<4.

Text stays text (`svg.fonttype: none`), and colours are placeholders that are turned into CSS variables, so that one
drawing serves light, dark and print. Figures are as wide as a phone, and the page scales them up from there.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from rtfilter.bench.engines.modes import MODES

WIDTH_IN = 4.3
INK, MUTED, GRID, CLEAR = "#000001", "#000002", "#000003", "#000004"
SERIES_COLOURS = tuple(f"#0000{number:02x}" for number in range(0x10, 0x16))
MODE_COLOURS = {mode: f"#0000{number:02x}" for number, mode in enumerate(MODES, 0x20)}
CSS_NAMES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    CLEAR: "--card",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES_COLOURS)},
    **{colour: f"--mode-{mode}" for mode, colour in MODE_COLOURS.items()},
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "rtfilter",
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "legend.fontsize": 8,
}


def ratio_ticks(axes: Axes, ratios: Sequence[float]) -> None:
    """Round ratios only, as many as a small chart bears."""
    low, high = min([*ratios, 0.8]), max([*ratios, 1.5])
    axes.set_ylim(low / 1.15, high * 1.3)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low / 1.15 <= tick <= high * 1.3]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}x"))
    axes.yaxis.set_minor_locator(NullLocator())


def inline_svg(figure: Figure, description: str) -> str:
    """The drawing as an element for an HTML page: no prologue, no metadata, no fixed size, colours from CSS variables."""
    buffer = io.StringIO()
    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    view_box = re.search(r'viewBox="[^"]+"', svg)
    assert view_box is not None, "matplotlib's SVG has a viewBox"
    svg = re.sub(r"<svg[^>]*>", f'<svg {view_box.group()} role="img" aria-label="{description}">', svg, count=1)
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Group ids are the same in every drawing (axes_1, text_2); only the hashed ones are referred to.
    svg = re.sub(r'<g id="[a-zA-Z0-9]+_\d+(?:\.\w+)?"', "<g", svg)
    svg = re.sub(r"(font(?:-family)?:[^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1var(--font)", svg)
    for placeholder, name in CSS_NAMES.items():
        svg = svg.replace(placeholder, f"var({name})")
    return re.sub(r"\n\s*", "\n", svg)
