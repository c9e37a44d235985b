"""Series that take more than one process, one session or one machine: each query's runs are kept, a line for each, in a small file.

    python tests/measure/run_series.py keep docs/measured/tpch-sf10-natural.jsonl OUT
    python tests/measure/run_series.py show docs/measured/*.jsonl
    python tests/measure/run_series.py estimates docs/measured/tpch-sf10-natural.jsonl OUT [ANOTHER.jsonl ITS-OUT ...]
    python tests/measure/run_series.py changed docs/measured/tpch-sf10-natural.jsonl OUT

The first adds OUT's queries, finished or not yet, or replaces them; the second prints what docs/benchmarks.md says of each series;
the third holds OUT's estimates against the gains of the series; the fourth names the queries whose filters in OUT, a short run of
a newer build (`--modes rtfilter --runs 1 --warmup 3`), did something else than in the series: those are measured again. In all
others it notes the build as `same_on`.
Modes of one query ran in turns in one process, so that ratios hold; times of different lines may be of different hours. `build` is
the last commit of the code that ran: keep before you change it. cost=never counts as off where it did not run, whose plans it has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.engines.modes import OFF, RTFILTER, RTFILTER_ALWAYS, RTFILTER_NEVER
from rtfilter.bench.figures.filter_choice import choice_text, choices
from rtfilter.bench.figures.losses import is_lost
from rtfilter.bench.figures.predictions import agreement_text, filter_gains, rows_removed, took_part
from rtfilter.bench.run.interleaved import Measurement
from rtfilter.bench.suites.suite import Query

Line = dict[str, Any]
# Numbers of rows that differ by less are taken for those of the same filter.
SAME_SHARE = 0.02


def keep(series: Path, out: Path) -> int:
    """Returns how many queries were added or replaced."""
    build = _build()
    lines = {line["query"]: line for line in _lines(series)}
    new: dict[str, Line] = {}
    for query, mode, entry, filters in _measured(out):
        line = new.setdefault(query, {"query": query, "build": build, "ms": {}, "filters": [], "wrong": []})
        line["ms"][mode] = [round(ms) for ms in entry["ms"]]
        if entry["difference"]:
            line["wrong"].append(mode)
        if mode == RTFILTER:
            line["filters"] = _applied(filters)
    _write(series, {**lines, **new}.values())
    return len(new)


def _build() -> str:
    code = ["git", "log", "-1", "--format=%h", "--", "rtfilter", "planner", "tpch", "tpcds", "pyproject.toml"]
    return subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()


def _write(series: Path, lines: Iterable[Line]) -> None:
    series.parent.mkdir(parents=True, exist_ok=True)
    series.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _applied(filters: list[Mapping[str, Any]]) -> list[list[Any]]:
    applied = (each for each in filters if took_part(each))
    return [[each["id"], round(each["estimated_gain_ms"] or 0.0, 1), rows_removed(each)] for each in applied]


def estimates(pairs: list[tuple[Path, Path]]) -> str:
    """The rank correlation of what each OUT, of a newer build, expected of its filters with the gains of its series."""
    every: dict[str, dict[str, Measurement]] = {}
    told = []
    for series, out in pairs:
        newer = _newer(out)
        lines = [{**line, "filters": newer[line["query"]]} for line in _lines(series) if line["query"] in newer]
        by_query = {f"{series.stem} {line['query']}": _by_mode(line) for line in lines}
        told.append(f"{series.stem}: {agreement_text(filter_gains(by_query))}")
        every |= by_query
    return "\n".join([*told, f"all of them: {agreement_text(filter_gains(every))}"])


def _newer(out: Path) -> dict[str, list[list[Any]]]:
    return {query: _applied(filters) for query, mode, _, filters in _measured(out) if mode == RTFILTER}


def changed(series: Path, out: Path) -> str:
    """Queries whose applied filters removed other numbers of rows in OUT, a line for each, then how many are the same."""
    newer, build = _newer(out), _build()
    told, lines = [], _lines(series)
    for line in lines:
        if line["query"] not in newer or line["build"] == build:
            continue
        before, after = (sorted(each[-1] for each in filters) for filters in (line["filters"], newer[line["query"]]))
        if _about_equal(before, after):
            line["same_on"] = build
        else:
            told.append(f"{line['query']} ({line['build']}): {before} {after}")
    _write(series, lines)
    same = sum(line.get("same_on") == build for line in lines)
    return "\n  ".join([f"{series.stem}:", *told, f"{same} queries as before, {len(told)} not"])


def _about_equal(before: list[int], after: list[int]) -> bool:
    return len(before) == len(after) and all(abs(a - b) <= SAME_SHARE * max(a, b) for a, b in zip(before, after, strict=True))


def _measured(out: Path) -> Iterator[tuple[str, str, Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Query, mode, what was measured and the filters, from a result and from what an unfinished benchmark has so far."""
    if (out / "result.json").exists():
        for entry in json.loads((out / "result.json").read_text(encoding="utf-8"))["queries"]:
            yield entry["id"], entry["mode"], entry, entry["filters"]
    for file in out.glob("unfinished-*.jsonl"):
        for line in _lines(file):
            for entry in line["measurements"]:
                yield line["query_id"], entry["mode"], entry, entry["last"]["filters"]


def _lines(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def _by_mode(line: Line) -> dict[str, Measurement]:
    query = Query(line["query"], "", "", ())
    names = ("id", "estimated_gain_ms", "rows_dropped")
    filters = tuple({"decision": "applied", **dict(zip(names, each, strict=True))} for each in line["filters"])
    found = {
        mode: Measurement(query, mode, tuple(ms), 0, "", None, Execution(0.0, (), filters=filters if mode == RTFILTER else ()))
        for mode, ms in line["ms"].items()
    }
    return found if RTFILTER_NEVER in found else {**found, RTFILTER_NEVER: replace(found[OFF], mode=RTFILTER_NEVER)}


def pooled(every: list[Path]) -> str:
    """Of all series together: filters by their gains, and the planner's own choice."""
    by_query = {f"{series.stem} {line['query']}": _by_mode(line) for series in every for line in _lines(series)}
    return "\n  ".join(["all of them:", agreement_text(filter_gains(by_query)), choice_text(choices(by_query))])


def show(series: Path) -> str:
    lines = _lines(series)
    by_query = {line["query"]: _by_mode(line) for line in lines}
    pairs = {name: (modes[OFF], modes[RTFILTER]) for name, modes in by_query.items()}
    ratios = {name: off.median_ms / on.median_ms for name, (off, on) in pairs.items()}
    lost = [name for name, (off, on) in pairs.items() if is_lost(off.median_ms, on.median_ms)]
    turns = {name: [a / b for a, b in zip(off.ms, on.ms, strict=True)] for name, (off, on) in pairs.items()}
    off_s, on_s = (sum(pair[at].median_ms for pair in pairs.values()) / 1e3 for at in (0, 1))
    always = [modes[RTFILTER_ALWAYS].median_ms / 1e3 for modes in by_query.values() if RTFILTER_ALWAYS in modes]
    best = sorted(ratios.items(), key=lambda each: -each[1])[:8]
    faster = [name for name, each in turns.items() if min(each) > 1]
    slower = [name for name, each in turns.items() if max(each) < 1]
    losses = [f"{n} {pairs[n][0].median_ms:,.0f}/{pairs[n][1].median_ms:,.0f} {ratios[n]:.2f}" for n in lost]
    older = {str(line.get("same_on", "not looked at")) for line in lines if line["build"] != _build()}
    told = [
        f"{series.stem}: {len(lines)} queries, builds {sorted({line['build'] for line in lines})}",
        f"the same filters on: {', '.join(sorted(older)) or '-'}",
        f"off {off_s:,.1f} s, rtfilter {on_s:,.1f} s, {off_s / on_s:.2f}x" + (f", always {sum(always):,.1f} s" if always else ""),
        f"over 1.05: {sum(ratio > 1.05 for ratio in ratios.values())}",
        f"faster in every turn: {len(faster)}, slower in every turn: {', '.join(slower) or 'none'}",
        "best: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in best),
        "lost: " + (", ".join(losses) or "none"),
        agreement_text(filter_gains(by_query)),
        choice_text(choices(by_query)),
        f"wrong rows: {[line['query'] for line in lines if line['wrong']] or 'none'}",
    ]
    return "\n  ".join(told)


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        print(keep(Path(sys.argv[2]), Path(sys.argv[3])), "queries kept")
    elif sys.argv[1] == "estimates":
        paths = [Path(name) for name in sys.argv[2:]]
        print(estimates(list(zip(paths[::2], paths[1::2], strict=True))))
    elif sys.argv[1] == "changed":
        print(changed(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        every = [Path(name) for name in sys.argv[2:]]
        print("\n".join([*(show(series) for series in every), pooled(every)]))
