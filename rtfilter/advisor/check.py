"""Whether indexes have paid: how long queries took before each was built and since then, by the query log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rtfilter.advice.logs.lines import Skipped, log_lines, told
from rtfilter.advice.logs.own_lines import OwnLines
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.trials.existing_indexes import existing_indexes
from rtfilter.advice.workload.fingerprints import Fingerprint, TableUse
from rtfilter.advice.workload.predicates import leaves
from rtfilter.errors import AdviceError, RtFilterError
from rtfilter.store.index_actions.listing import list_directory
from rtfilter.store.index_reading.reader import STORE_FOLDER

NO_TIME = "lines without a time"
OTHER_LINES = "lines that are not of rtfilter's own query log"
# Less than this share of the time before may be chance.
LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index of a table: its sketched columns, bytes, and since when it is there, in seconds since 1970."""

    table: str
    name: str
    columns: frozenset[str]
    bytes: int
    since_s: float


@dataclass(slots=True)
class Times:
    """Calls of a kind of query and their ms in all, before and since an index was there, and what the latter kept of packs."""

    calls: list[int] = field(default_factory=lambda: [0, 0])
    ms: list[float] = field(default_factory=lambda: [0.0, 0.0])
    packs: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def saved_ms(self) -> float | None:
        """What the calls since then took less than so many before; None where there are none on one side."""
        before, since = self.calls
        return None if not before or not since else self.ms[0] / before * since - self.ms[1]


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check_indexes` found: a dict for each index, and what was left out of the log."""

    indexes: list[dict[str, Any]]
    skipped: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"indexes": self.indexes, "skipped": self.skipped}

    def __str__(self) -> str:
        return "\n".join([*_text(self.indexes), *(f"skipped {each['count']}: {why}" for why, each in self.skipped.items())])


def check_indexes(logs: Sequence[str | Path], known: Mapping[str, TableStatistics]) -> Checked:
    """Compares the calls of each kind of query before an index was built and since then.

    Args:
        logs: Files of rtfilter's own query log, from before and after.
        known: Tables with paths on this machine.

    Raises:
        AdviceError: a log or a table can't be read, or no table has an index.
    """
    indexes = [each for table in known.values() if table.path for each in built_indexes(table.name, table.path)]
    if not indexes:
        raise AdviceError(f"none of the tables {', '.join(sorted(known)) or '(none)'} has an index to check.")
    found: dict[tuple[BuiltIndex, str], Times] = {}
    shapes: dict[str, Fingerprint] = {}
    skipped: dict[str, Skipped] = {}
    for fingerprint, line in _calls(logs, known, skipped):
        shapes[fingerprint.id] = fingerprint
        for index in indexes:
            if concerns(index, fingerprint):
                _count(found.setdefault((index, fingerprint.id), Times()), index, line)
    return Checked([_said(index, found, shapes) for index in indexes], told(skipped))


def built_indexes(table: str, path: str) -> list[BuiltIndex]:
    """The indexes in the table's own folder. Raises AdviceError."""
    try:
        listed = list_directory(path)
    except RtFilterError as error:
        raise AdviceError(f"table {table!r}: {error}") from error
    store = Path(listed.root) / STORE_FOLDER
    found = []
    for each in existing_indexes(listed):
        folders = [folder for folder in store.iterdir() if folder.name.partition("@")[0] == each.name]
        since = min((file.stat().st_mtime for folder in folders for file in folder.rglob("*") if file.is_file()), default=0.0)
        found.append(BuiltIndex(table, each.name, frozenset(sketch.column for sketch in each.sketches), each.bytes, since))
    return found


def concerns(index: BuiltIndex, fingerprint: Fingerprint) -> bool:
    """Whether queries of this kind have a condition, or a join, on a column of the index."""
    asked = (
        {*use.join_keys, *(name for leaf in leaves(use.predicate) for name in leaf.columns)} for use in _uses(index, fingerprint)
    )
    return any(index.columns & names for names in asked)


def _uses(index: BuiltIndex, fingerprint: Fingerprint) -> Iterator[TableUse]:
    return (use for use in fingerprint.uses if use.table == index.table)


def _calls(
    logs: Sequence[str | Path], known: Mapping[str, TableStatistics], skipped: dict[str, Skipped]
) -> Iterator[tuple[Fingerprint, Mapping[str, Any]]]:
    own = OwnLines(known)
    for path in {os.path.realpath(path): path for path in logs}.values():
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                for number, line in log_lines(file):
                    content = None if isinstance(line, str) else line.own
                    query = line if isinstance(line, str) else OTHER_LINES if content is None else own.query(content)
                    if not isinstance(query, str) and _seconds(content) is None:
                        query = NO_TIME
                    if isinstance(query, str) or content is None:
                        skipped.setdefault(str(query), Skipped()).add(f"{path}:{number}")
                    else:
                        yield query.shape.fingerprint, content
        except OSError as error:
            raise AdviceError(f"{path}: the log can't be read: {error.strerror or error}") from error


def _seconds(line: Mapping[str, Any] | None) -> float | None:
    """When the query of a line began: its time is that of the end."""
    try:
        return None if line is None else datetime.fromisoformat(line["time"]).timestamp() - float(line["ms"]) / 1000
    except (KeyError, TypeError, ValueError):
        return None


def _count(times: Times, index: BuiltIndex, line: Mapping[str, Any]) -> None:
    began = _seconds(line)
    side = int(began is not None and began >= index.since_s)
    times.calls[side] += 1
    times.ms[side] += float(line["ms"])
    if side:
        for scan in line["shape"]["scans"]:
            if "packs_kept" in scan:
                times.packs[0] += int(scan["packs_kept"])
                times.packs[1] += int(scan["packs_total"])


def _said(index: BuiltIndex, found: Mapping[tuple[BuiltIndex, str], Times], shapes: Mapping[str, Fingerprint]) -> dict[str, Any]:
    mine = {query: times for (each, query), times in sorted(found.items(), key=lambda each: each[0][1]) if each is index}
    saved = [ms for times in mine.values() if (ms := times.saved_ms) is not None]
    before = sum(times.ms[0] / times.calls[0] * times.calls[1] for times in mine.values() if times.saved_ms is not None)
    return {
        "table": index.table,
        "index": index.name,
        "columns": sorted(index.columns),
        "bytes": index.bytes,
        "since": datetime.fromtimestamp(index.since_s).astimezone().isoformat(timespec="seconds"),
        "saved_ms": round(sum(saved), 1) if saved else None,
        "verdict": _verdict(saved, before, mine),
        "queries": [
            {
                "query": query,
                "shape": str(shapes[query]),
                "calls_before": times.calls[0],
                "calls_since": times.calls[1],
                "ms_before": round(times.ms[0] / times.calls[0], 1) if times.calls[0] else None,
                "ms_since": round(times.ms[1] / times.calls[1], 1) if times.calls[1] else None,
                "packs_kept": round(times.packs[0] / times.packs[1], 4) if times.packs[1] else None,
            }
            for query, times in mine.items()
        ],
    }


def _verdict(saved: Sequence[float], before: float, mine: Mapping[str, Times]) -> str:
    if not any(times.calls[1] for times in mine.values()):
        return "not asked since it is there"
    if not saved:
        return "no calls from before to compare with"
    share = sum(saved) / before if before else 0.0
    if share >= LEAST_SHARE:
        return f"has paid: the queries take {share:.0%} less"
    return f"has not paid: the queries take {-share:.0%} more" if share <= -LEAST_SHARE else "has changed little"


def _text(indexes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in indexes:
        yield f"{each['index']} on {each['table']} ({', '.join(each['columns'])}), since {each['since']}: {each['verdict']}"
        for query in each["queries"]:
            kept = "" if query["packs_kept"] is None else f", keeps {query['packs_kept']:.1%} of the row groups"
            yield (
                f"   {query['query']}  {_ms(query['ms_before'])} in {query['calls_before']:,} calls before, "
                f"{_ms(query['ms_since'])} in {query['calls_since']:,} since{kept}  {query['shape']}"
            )


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f} ms"
