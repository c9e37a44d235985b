"""`result.json`: what was measured, in the form that docs and checks are written against."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rtfilter.bench.engines.modes import OFF, judge_of
from rtfilter.bench.figures.filter_choice import choice_summary, choices
from rtfilter.bench.figures.losses import noise_summary
from rtfilter.bench.figures.predictions import filter_gains, rank_correlation
from rtfilter.bench.figures.sign_test import sign_test
from rtfilter.bench.run.interleaved import Failure, Measurement
from rtfilter.bench.run.machine import MachineData
from rtfilter.bench.suites.suite import Distribution
from rtfilter.errors import BenchError

SIGNIFICANT = 0.0625
"""The least p-value that five runs can reach: all of them on one side."""


@dataclass(frozen=True)
class Settings:
    """What a benchmark was asked for. `sf` is None where the suite's data is what it is."""

    suite: str
    sf: float | None
    zipf: float | None
    layout: str
    modes: tuple[str, ...]
    runs: int
    warmup: int
    pack_rows: int | None = None
    files: int | None = None
    broadcast_threshold_bytes: int | None = None
    timeout_s: float | None = None
    master: str = "local[*]"


@dataclass(frozen=True)
class Result:
    """A finished benchmark."""

    settings: Settings
    machine: MachineData
    measurements: tuple[Measurement, ...]
    failures: tuple[Failure, ...] = ()
    distributions: tuple[Distribution, ...] = ()

    @property
    def mismatches(self) -> tuple[Measurement, ...]:
        """One entry per query and mode whose result is not the right one."""
        return tuple(measured for measured in self.measurements if not measured.agrees)

    @property
    def by_query(self) -> dict[str, dict[str, Measurement]]:
        """The measurements of each query by mode, both in the order of the run."""
        by_query: dict[str, dict[str, Measurement]] = {}
        for measured in self.measurements:
            by_query.setdefault(measured.query.id, {})[measured.mode] = measured
        return by_query

    def to_dict(self) -> dict[str, Any]:
        """The content of result.json."""
        settings = self.settings
        return {
            "suite": settings.suite,
            "sf": settings.sf,
            "zipf": settings.zipf,
            "layout": settings.layout,
            "modes": list(settings.modes),
            "runs": settings.runs,
            "machine": self.machine,
            "queries": [_entry(measured, judge_of(tuple(self.by_query[measured.query.id]))) for measured in self.measurements],
            "summary": _summary(self),
            "failures": [asdict(failure) for failure in self.failures],
            "options": {
                "warmup": settings.warmup,
                "pack_rows": settings.pack_rows,
                "files": settings.files,
                "broadcast_threshold_bytes": settings.broadcast_threshold_bytes,
                "timeout_s": settings.timeout_s,
                "master": settings.master,
            },
        }


def _entry(measured: Measurement, judge: str) -> dict[str, Any]:
    last = measured.last
    return {
        "id": measured.query.id,
        "mode": measured.mode,
        "ms": [round(ms, 3) for ms in measured.ms],
        "median_ms": round(measured.median_ms, 3),
        "rows": measured.rows,
        "result_sha256": measured.result_sha256,
        "judge": judge,
        "difference": measured.difference,
        "scan_rows": last.scan_rows,
        "bytes_read": measured.bytes_read,
        "packs_total": last.packs_total,
        "packs_kept": last.packs_kept,
        "filters": [dict(candidate) for candidate in last.filters],
        "star_trees": [dict(tree) for tree in last.star_trees],
    }


def _summary(result: Result) -> dict[str, Any]:
    """Totals of medians; `speedup` is off's total over the mode's; `worst` the query with the smallest off/mode ratio.

    `sign_test` has the p-value of each query against off, `faster` and `slower` how many of them are one or the other at the
    level of `SIGNIFICANT`; `predictions` how well the planner's order of the applied filters agrees with what they
    gained; `choice`, where the modes are there, which queries cost=auto did worse in than always or never; `noise`, where off
    ran twice, which ones look slower or faster than off. Only queries that every mode finished count, so that totals are of
    the same queries.
    """
    modes = result.settings.modes
    complete = {query_id: by_mode for query_id, by_mode in result.by_query.items() if set(by_mode) == set(modes)}
    gains = filter_gains(complete)
    correlation = rank_correlation(gains)
    totals = {mode: sum(by_mode[mode].median_ms for by_mode in complete.values()) for mode in modes}
    others = [mode for mode in modes if mode != OFF] if OFF in modes and complete else []
    chosen, noise = choices(complete), noise_summary(complete)
    p_values = {mode: {q: sign_test(m[OFF].ms, m[mode].ms) for q, m in complete.items()} for mode in others}
    return {
        "total_ms": {mode: round(total, 3) for mode, total in totals.items()},
        "speedup": {mode: round(totals[OFF] / totals[mode], 3) for mode in others},
        "worst": {mode: _worst(complete, mode) for mode in others},
        "predictions": {"filters": len(gains), "rank_correlation": None if correlation is None else round(correlation, 3)},
        **({"choice": choice_summary(chosen)} if chosen else {}),
        **({"noise": noise} if noise else {}),
        "mismatches": len(result.mismatches),
        "failures": len(result.failures),
        "sign_test": {mode: {q: round(p, 4) for q, p in by_query.items()} for mode, by_query in p_values.items()},
        "faster": {
            mode: sum(p <= SIGNIFICANT and speedup(complete[q], mode) > 1 for q, p in ps.items()) for mode, ps in p_values.items()
        },
        "slower": {
            mode: sum(p <= SIGNIFICANT and speedup(complete[q], mode) < 1 for q, p in ps.items()) for mode, ps in p_values.items()
        },
    }


def speedup(by_mode: Mapping[str, Measurement], mode: str) -> float:
    """Off's median over the mode's, of one query."""
    return by_mode[OFF].median_ms / by_mode[mode].median_ms


def _worst(complete: Mapping[str, Mapping[str, Measurement]], mode: str) -> dict[str, Any]:
    worst = min(complete, key=lambda query_id: speedup(complete[query_id], mode))
    return {"id": worst, "ratio": round(speedup(complete[worst], mode), 3)}


def write_text_atomically(path: Path, text: str) -> None:
    """Writes a file that a reader sees either as it was or whole.

    Raises:
        BenchError: the directory cannot be made or written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def require_writable(directory: Path) -> None:
    """Makes the directory, so that a long benchmark does not find out at its end that it cannot keep its result.

    Raises:
        BenchError: it cannot be made or written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise _cannot_write(directory, error) from error


def _cannot_write(path: Path, error: OSError) -> BenchError:
    return BenchError(f"{path} cannot be written: {error.strerror or error}. Name another directory with --out DIR.")


def as_json(content: Mapping[str, Any]) -> str:
    """JSON text with a final newline."""
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"
