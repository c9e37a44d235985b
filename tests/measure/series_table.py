"""The table of docs/benchmarks.md out of results: `python tests/measure/series_table.py OUT/result.json ...` prints Markdown.

A query counts as lost below 0.95, or, under a second with the layer off, when it took over 30 ms longer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rtfilter.bench.figures.losses import is_lost

COLUMNS = ("data", "runs", "off", "rtfilter", "in all", "DuckDB", "over 1.05", "lost", "most gained", "lost, ratios", "rank")
NAMED = 5
GAINED = 1.05


def row_of(result: dict[str, Any]) -> str:
    median_ms: dict[str, dict[str, float]] = {}
    for query in result["queries"]:
        median_ms.setdefault(query["id"], {})[query["mode"]] = query["median_ms"]
    ratios = {name: ms["off"] / ms["rtfilter"] for name, ms in median_ms.items() if {"off", "rtfilter"} <= ms.keys()}
    lost = {name: ratio for name, ratio in ratios.items() if is_lost(median_ms[name]["off"], median_ms[name]["rtfilter"])}
    total_ms, summary = result["summary"]["total_ms"], result["summary"]
    rank = (summary.get("predictions") or {}).get("rank_correlation")
    zipf = "" if result["zipf"] is None else f" {result['zipf']:g}"
    cells = (
        f"{result['suite']}{zipf}, SF{result['sf']:g}, {result['layout']}" + disagreements(summary),
        f"{result['runs']} after {result['options']['warmup']}",
        seconds(total_ms["off"]),
        seconds(total_ms["rtfilter"]),
        f"**{total_ms['off'] / total_ms['rtfilter']:.2f}x**",
        seconds(total_ms["duckdb"]) if "duckdb" in total_ms else "",
        f"{sum(ratio > GAINED for ratio in ratios.values())} of {len(ratios)}",
        str(len(lost)),
        ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items(), key=lambda each: -each[1])[:NAMED]),
        ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(lost.items(), key=lambda each: each[1])) or "none",
        "" if rank is None else f"{rank:.2f}, {summary['predictions']['filters']} filters",
    )
    return " | ".join(("", *cells, "")).strip()


def disagreements(summary: dict[str, Any]) -> str:
    wrong = summary["mismatches"] + summary["failures"]
    return f" (**{wrong} differ or failed**)" if wrong else ""


def seconds(ms: float) -> str:
    return f"{ms / 1e3:,.1f} s"


if __name__ == "__main__":
    print(" | ".join(("", *COLUMNS, "")).strip())
    print("|" + "---|" * len(COLUMNS))
    for path in sys.argv[1:]:
        print(row_of(json.loads(Path(path).read_text(encoding="utf-8"))))
