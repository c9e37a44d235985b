"""`result.json`: what was measured, in the form that docs and checks are written against."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtfilter.bench.machine import MachineData
from rtfilter.bench.modes import OFF
from rtfilter.bench.run import Measurement
from rtfilter.errors import BenchError


@dataclass(frozen=True)
class Settings:
    """What a benchmark was asked for."""

    suite: str
    sf: float
    zipf: float | None
    layout: str
    modes: tuple[str, ...]
    runs: int
    warmup: int
    pack_rows: int | None = None
    files: int | None = None
    broadcast_threshold_bytes: int | None = None


@dataclass(frozen=True)
class Result:
    """A finished benchmark."""

    settings: Settings
    machine: MachineData
    measurements: tuple[Measurement, ...]

    @property
    def mismatches(self) -> tuple[Measurement, ...]:
        """One entry per query and mode whose result is not the judge's."""
        return tuple(measured for measured in self.measurements if not measured.agrees)

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
            "queries": [_entry(measured) for measured in self.measurements],
            "summary": _summary(self.measurements, settings.modes),
        }


def _entry(measured: Measurement) -> dict[str, Any]:
    last = measured.last
    return {
        "id": measured.query.id,
        "mode": measured.mode,
        "ms": [round(ms, 3) for ms in measured.ms],
        "median_ms": round(measured.median_ms, 3),
        "rows": measured.rows,
        "result_sha256": measured.result_sha256,
        "scan_rows": last.scan_rows,
        "bytes_read": measured.bytes_read,
        "packs_total": last.packs_total,
        "packs_kept": last.packs_kept,
        "filters": [dict(candidate) for candidate in last.filters],
    }


def _summary(measurements: Sequence[Measurement], modes: Sequence[str]) -> dict[str, Any]:
    """Totals of medians; `speedup` is off's total over the mode's; `worst` the query with the smallest off/mode ratio."""
    medians = {mode: {m.query.id: m.median_ms for m in measurements if m.mode == mode} for mode in modes}
    totals = {mode: sum(by_query.values()) for mode, by_query in medians.items()}
    others = [mode for mode in modes if mode != OFF] if OFF in modes else []
    return {
        "total_ms": {mode: round(total, 3) for mode, total in totals.items()},
        "speedup": {mode: round(totals[OFF] / totals[mode], 3) for mode in others},
        "worst": {mode: _worst(medians[OFF], medians[mode]) for mode in others},
        "mismatches": sum(not measured.agrees for measured in measurements),
    }


def _worst(off_ms: Mapping[str, float], mode_ms: Mapping[str, float]) -> dict[str, Any]:
    ratios = {query_id: ms / mode_ms[query_id] for query_id, ms in off_ms.items()}
    worst = min(ratios, key=lambda query_id: ratios[query_id])
    return {"id": worst, "ratio": round(ratios[worst], 3)}


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
