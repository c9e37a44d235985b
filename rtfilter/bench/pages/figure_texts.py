"""Figures as words: one form for each, so that text, tables and charts say the same."""

from __future__ import annotations

from rtfilter.bench.figures.query_figures import packs_share
from rtfilter.bench.run.interleaved import Measurement


def ms_text(ms: float) -> str:
    """`1,234`; with a decimal below 10."""
    return f"{ms:,.0f}" if ms >= 9.95 else f"{ms:.1f}"


def seconds_text(ms: float) -> str:
    """`12.3 s`, for sums."""
    return f"{ms / 1000:,.1f} s" if ms >= 1000 else f"{ms_text(ms)} ms"


def ratio_text(ratio: float) -> str:
    """`4.26x`; without decimals from 100 on."""
    return f"{ratio:.2f}x" if ratio < 99.995 else f"{ratio:,.0f}x"


def packs_text(measured: Measurement) -> str:
    """`4.35 % (261 of 6,000)`; a dash where packs were not counted."""
    share = packs_share(measured)
    return "-" if share is None else f"{100 * share:.3g} % ({measured.last.packs_kept:,} of {measured.last.packs_total:,})"
