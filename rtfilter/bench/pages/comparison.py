"""Two results of one suite side by side: what became faster or slower between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from rtfilter.errors import BenchError

SETTINGS = ("suite", "sf", "zipf", "layout", "runs")
NEEDED = ("suite", "machine", "queries", "summary", "modes")


@dataclass(frozen=True)
class Pair:
    """One query in one mode, measured twice: medians in ms, whether the single runs of the two overlap, packs kept.

    `same_rows` is None where another engine judged the results: their digests are of its form then (a decimal, say, where the
    other has a float).
    """

    query_id: str
    mode: str
    before_ms: float
    after_ms: float
    overlap: bool
    before_packs: int | None
    after_packs: int | None
    same_rows: bool | None

    @property
    def ratio(self) -> float:
        """Before over after: above 1 is faster now."""
        return self.before_ms / self.after_ms

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.query_id,
            "mode": self.mode,
            "before_ms": self.before_ms,
            "after_ms": self.after_ms,
            "ratio": round(self.ratio, 3),
            "runs_overlap": self.overlap,
            "before_packs_kept": self.before_packs,
            "after_packs_kept": self.after_packs,
            "same_result": self.same_rows,
        }


@dataclass(frozen=True)
class Comparison:
    """All queries and modes that both results have; `unequal` names settings and machine data in which they differ."""

    pairs: tuple[Pair, ...]
    unequal: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    def totals(self) -> dict[str, tuple[float, float]]:
        """Sums of medians by mode, before and after, in ms."""
        modes = dict.fromkeys(pair.mode for pair in self.pairs)
        return {
            mode: (
                sum(pair.before_ms for pair in self.pairs if pair.mode == mode),
                sum(pair.after_ms for pair in self.pairs if pair.mode == mode),
            )
            for mode in modes
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": [pair.to_dict() for pair in self.pairs],
            "total_ms": {mode: {"before": before, "after": after} for mode, (before, after) in self.totals().items()},
            "unequal": list(self.unequal),
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
        }


def compare_files(before: Path, after: Path) -> Comparison:
    """Reads and compares two `result.json`.

    Raises:
        BenchError: a file that is none, or results of two different suites.
    """
    first, second = _read(before), _read(after)
    if first["suite"] != second["suite"]:
        raise BenchError(
            f"{before} is of suite {first['suite']!r} and {after} of {second['suite']!r}; compare results of one suite."
        )
    old, new = _by_query(first), _by_query(second)
    return Comparison(
        pairs=tuple(_pair(old[key], new[key]) for key in old if key in new),
        unequal=tuple(_unequal(first, second)),
        only_before=tuple(_names(old.keys() - new.keys(), old)),
        only_after=tuple(_names(new.keys() - old.keys(), new)),
    )


def comparison_table(comparison: Comparison) -> Table:
    """One row per query and mode, the largest loss first, and totals below."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("query", no_wrap=True)
    table.add_column("mode", no_wrap=True)
    for title in ("before\nms", "after\nms", "before /\nafter", "packs kept\nbefore", "packs kept\nafter"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for pair in sorted(comparison.pairs, key=lambda pair: pair.ratio):
        packs = ["-" if count is None else f"{count:,}" for count in (pair.before_packs, pair.after_packs)]
        times = f"{pair.before_ms:,.0f}", f"{pair.after_ms:,.0f}", f"{pair.ratio:.2f}"
        table.add_row(pair.query_id, pair.mode, *times, *packs, _remark(pair))
    for mode, (before_ms, after_ms) in comparison.totals().items():
        table.add_row("all", mode, f"{before_ms:,.0f}", f"{after_ms:,.0f}", f"{before_ms / after_ms:.2f}", "", "", "")
    return table


def _remark(pair: Pair) -> str:
    speed = "runs overlap" if pair.overlap else ("faster" if pair.ratio > 1 else "[red]slower[/red]")
    if pair.same_rows is None:
        return f"{speed}, another judge"
    return speed if pair.same_rows else f"{speed}, [red]another result[/red]"


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{file} cannot be read: {error.strerror or error}. Give the path of a result.json.") from error
    except ValueError as error:
        raise BenchError(f"{file} is no result.json: {error}.") from error
    missing = [key for key in NEEDED if not isinstance(content, dict) or key not in content]
    if missing:
        raise BenchError(f"{file} is no result.json: it has no {missing[0]!r}.")
    return dict(content)


def _by_query(content: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(entry["id"], entry["mode"]): entry for entry in content["queries"]}


def _pair(before: Mapping[str, Any], after: Mapping[str, Any]) -> Pair:
    overlap = min(before["ms"]) <= max(after["ms"]) and min(after["ms"]) <= max(before["ms"])
    return Pair(
        before["id"],
        before["mode"],
        before["median_ms"],
        after["median_ms"],
        overlap,
        before["packs_kept"],
        after["packs_kept"],
        before["result_sha256"] == after["result_sha256"] if before.get("judge") == after.get("judge") else None,
    )


def _unequal(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    def differing(a: Mapping[str, Any], b: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
        return [f"{key}: {a.get(key)} / {b.get(key)}" for key in keys if a.get(key) != b.get(key)]

    parts = ((first.get(part, {}), second.get(part, {})) for part in ("machine", "options"))
    return differing(first, second, SETTINGS) + [text for a, b in parts for text in differing(a, b, {**a, **b})]


def _names(keys: set[tuple[str, str]], order: Mapping[tuple[str, str], object]) -> list[str]:
    return [f"{query_id} [{mode}]" for query_id, mode in order if (query_id, mode) in keys]
