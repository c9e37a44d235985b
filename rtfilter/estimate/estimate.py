"""Event logs in, what runtime filters would have gained out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from planner.counted import counted
from rtfilter.advice.event_logs.application import Application
from rtfilter.advice.event_logs.queries import QueryFacts, ScanFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.advice.logs.lines import Reading, told
from rtfilter.errors import AdviceError
from rtfilter.estimate.candidates import Candidate, Refused, candidates_of
from rtfilter.estimate.gains import NOTHING, Gain, Range, gain_of
from rtfilter.estimate.tables import NOT_TRIED, BuildKeys, PacksKept, Tables, Tried, can_compare

# A gain below this is none, and below this share of the query's time.
LEAST_MS, LEAST_SHARE = 5.0, 0.02
COSTS_MORE = "the filter would cost more than it saves"
KEEPS_NEARLY_ALL = "nearly all rows of the large side have a partner"
NEARLY_ALL = 0.9


@dataclass(slots=True)
class JoinGain:
    """One join of one kind of query, over all its calls. Rows are sums, packs those of the call that was looked at last."""

    query: str
    table: str
    column: str
    build: str
    join: str
    calls: int = 0
    ms: Range = NOTHING
    bytes: Range = NOTHING
    query_ms: int = 0
    rows_scanned: int = 0
    rows_in: int = 0
    rows_joined: int | None = 0
    packs: PacksKept | None = None
    is_exact: bool = False
    why: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether even the lower end is a gain."""
        return self.ms.least >= LEAST_MS * self.calls and self.ms.least >= LEAST_SHARE * self.query_ms

    @property
    def is_possible(self) -> bool:
        return self.ms.most >= LEAST_MS * self.calls and self.ms.most >= LEAST_SHARE * self.query_ms


@dataclass(slots=True)
class Estimate:
    """What `rtfilter estimate` prints. `joins`: those that gain, or may; `refused`: by reason how many others there are."""

    reading: Reading = field(default_factory=Reading)
    versions: set[str] = field(default_factory=set)
    joins: list[JoinGain] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    all_joins: int = 0
    total: Range = NOTHING
    total_bytes: Range = NOTHING
    by_query: dict[str, Range] = field(default_factory=dict)
    queries_ms: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "queries": self.reading.queries,
            "spark": sorted(self.versions),
            "ms": self.queries_ms,
            "saved_ms": _pair(self.total),
            "saved_bytes": _pair(self.total_bytes),
            "joins": self.all_joins,
            "gaining": [_join(each) for each in self.joins],
            "not_gaining": self.refused,
            "by_query": {name: _pair(saved) for name, saved in sorted(self.by_query.items()) if saved.most > 0},
            "unreadable_tables": self.unreadable,
            "read": {"skipped": told(self.reading.skipped), "notes": self.reading.notes},
        }


def _pair(found: Range) -> list[float]:
    return [round(found.least, 1), round(found.most, 1)]


def _join(each: JoinGain) -> dict[str, Any]:
    return {
        "query": each.query,
        "table": each.table,
        "column": each.column,
        "build": each.build,
        "join": each.join,
        "calls": each.calls,
        "gains": "yes" if each.is_sure else "maybe",
        "saved_ms": _pair(each.ms),
        "saved_bytes": _pair(each.bytes),
        "query_ms": each.query_ms,
        "why": each.why,
        "rows_scanned": each.rows_scanned,
        "rows_in": each.rows_in,
        "rows_joined": each.rows_joined,
        "packs": None if each.packs is None else each.packs.packs,
        "packs_dropped": None if each.packs is None else each.packs.packs - each.packs.kept,
        "keys_tried": each.is_exact,
    }


def estimate_logs(logs: Sequence[str | Path], tables: Mapping[str, str]) -> Estimate:
    """What runtime filters would have gained the queries of event logs. `tables`: paths by name, for what the log calls otherwise.

    Raises:
        AdviceError: a log is not there or can't be opened, or holds no query at all.
    """
    found = _Estimator(Tables(tables))
    try:
        found.read(logs)
    finally:
        found.tables.close()
    return found.result()


class _Estimator:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.estimate = Estimate()
        self._joins: dict[tuple[str, int], JoinGain] = {}
        self._tried: dict[tuple[Any, ...], Tried] = {}

    def read(self, logs: Sequence[str | Path]) -> None:
        reading = self.estimate.reading
        reading.notes += read_event_logs(logs, self._take, reading.skip)
        if not reading.queries:
            raise AdviceError(_nothing_read(reading, logs))

    def _take(self, query: QueryFacts, application: Application, log: str) -> None:
        self.estimate.reading.queries += 1
        if application.version is not None:
            self.estimate.versions.add(application.version)
        if query.error or query.ms is None:
            self.estimate.reading.skip("queries that failed, or did not end", f"{log}, query {query.id}")
            return
        self.estimate.queries_ms += query.ms
        self.estimate.all_joins += len(query.joins)
        kind = _kind_of(query)
        best: dict[int, tuple[Candidate, Gain]] = {}
        for found in candidates_of(query):
            number = query.joins.index(found.join)
            if isinstance(found, Refused):
                self._refuse(found.reason)
                continue
            gain = gain_of(query, found, self._try(query, found), application.cores)
            known = best.get(number)
            if known is None or (gain.ms.least, gain.ms.most) > (known[1].ms.least, known[1].ms.most):
                best[number] = (found, gain)
        for number, (candidate, gain) in best.items():
            self._add(query, kind, number, candidate, gain if _is_best_of_scan(gain, candidate, best.values()) else _at_best(gain))
        self._add_total(query, list(best.values()))

    def _try(self, query: QueryFacts, candidate: Candidate) -> Tried:
        """Tries the build side's keys on the scan's packs, the same keys once."""
        scan = query.scans[candidate.scan]
        if candidate.build_scan is None:
            return NOT_TRIED
        build = query.scans[candidate.build_scan]
        type_ = dict(build.columns).get(candidate.build_column)
        if type_ is None or not can_compare(candidate.type, type_):
            return NOT_TRIED
        what = (
            self.tables.paths(scan),
            candidate.column,
            self.tables.paths(build),
            candidate.build_column,
            build.filters,
            candidate.build_rows,
        )
        if what not in self._tried:
            self._tried[what] = self._tried_on(candidate, scan, build, type_)
        return self._tried[what]

    def _tried_on(self, candidate: Candidate, scan: ScanFacts, build: ScanFacts, type_: str) -> Tried:
        keys = self.tables.build_keys(build, candidate.build_column, type_)
        if keys is None:
            return NOT_TRIED
        packs = self.tables.packs_kept(scan, candidate.column, candidate.type, keys.keys)
        return Tried(packs, _are_just_those(keys, candidate), keys.share, keys.distinct or None)

    def _add(self, query: QueryFacts, kind: str, number: int, candidate: Candidate, gain: Gain) -> None:
        scan = query.scans[candidate.scan]
        found = self._joins.get((kind, number))
        if found is None:
            build = query.scans[candidate.build_scan].name if candidate.build_scan is not None else "another join or a computed key"
            found = JoinGain(_name(query), scan.name, candidate.column, f"{build}.{candidate.build_column}", candidate.join.type)
            self._joins[kind, number] = found
        found.calls += 1
        found.ms = found.ms.plus(gain.ms)
        found.bytes = found.bytes.plus(gain.bytes)
        found.query_ms += query.ms or 0
        found.rows_scanned += scan.rows or 0
        found.rows_in += candidate.probe_rows or 0
        joined = candidate.join.rows if candidate.share is not None else None
        found.rows_joined = None if joined is None or found.rows_joined is None else found.rows_joined + joined
        tried = self._try(query, candidate)
        found.packs, found.is_exact = tried.packs, tried.are_just_those
        found.why = _why(query, candidate, tried)

    def _add_total(self, query: QueryFacts, gains: list[tuple[Candidate, Gain]]) -> None:
        """Filters of one scan drop the same packs in part: the best of them is sure, their sum the most."""
        total, read = NOTHING, NOTHING
        for scan in {candidate.scan for candidate, _ in gains}:
            mine = [gain for candidate, gain in gains if candidate.scan == scan]
            total = total.plus(_together([gain.ms for gain in mine]))
            read = read.plus(_together([gain.bytes for gain in mine]))
        limit = float(query.ms or 0)
        total = Range(min(total.least, limit), min(total.most, limit))
        self.estimate.total = self.estimate.total.plus(total)
        name = _name(query)
        self.estimate.by_query[name] = self.estimate.by_query.get(name, NOTHING).plus(total)
        self.estimate.total_bytes = self.estimate.total_bytes.plus(read)

    def _refuse(self, reason: str, joins: int = 1) -> None:
        self.estimate.refused[reason] = self.estimate.refused.get(reason, 0) + joins

    def result(self) -> Estimate:
        order = sorted(self._joins.values(), key=lambda each: (-each.ms.least, -each.ms.most, each.query, each.table, each.column))
        self.estimate.joins = [each for each in order if each.is_possible]
        for each in order:
            if not each.is_possible:
                nearly = each.rows_joined is not None and each.rows_joined >= NEARLY_ALL * each.rows_in
                self._refuse(KEEPS_NEARLY_ALL if nearly else COSTS_MORE, each.calls)
        self.estimate.refused = dict(sorted(self.estimate.refused.items(), key=lambda each: (-each[1], each[0])))
        self.estimate.unreadable = dict(sorted(self.tables.unreadable.items()))
        return self.estimate


def _name(query: QueryFacts) -> str:
    """What people may know a query by: the description of its job, or the place in their program."""
    return (query.description.strip().splitlines() or [""])[0][:40] or f"query {query.id}"


def _why(query: QueryFacts, candidate: Candidate, tried: Tried) -> str:
    """What the gain comes from."""
    scan, between = query.scans[candidate.scan], candidate.join.sides[candidate.probe].between
    packs = tried.packs
    if packs is not None and packs.kept < packs.packs:
        sure = "" if tried.are_just_those else "at least "
        return f"{sure}{packs.packs - packs.kept} of {counted(packs.packs, 'pack')} of {scan.name} hold no key of the other side"
    if "Exchange" in between or not candidate.join.is_broadcast:
        return "rows without a partner would not be shuffled and sorted"
    if "BroadcastExchange" in between:
        return "rows without a partner would not be collected for a broadcast"
    if any("/" in operator for operator in between):
        return "rows without a partner would not go through the joins below this one"
    if packs is None:
        return "packs without a key would not be read, if rows without a partner lie together: the footers were not looked at"
    return "rows without a partner would be dropped before the join"


def _is_best_of_scan(gain: Gain, candidate: Candidate, all_: Iterable[tuple[Candidate, Gain]]) -> bool:
    """Whether no other filter of the same scan is surer to gain."""
    return gain.ms.least >= max(other.ms.least for each, other in all_ if each.scan == candidate.scan)


def _at_best(gain: Gain) -> Gain:
    """The gain of a filter beside a better one of its scan, which may drop all that it would."""
    return replace(gain, ms=Range(0.0, gain.ms.most), bytes=Range(0.0, gain.bytes.most))


def _are_just_those(keys: BuildKeys, candidate: Candidate) -> bool:
    """Whether the build side had just these keys: as many rows, or where the log does not say nothing else that drops any."""
    if candidate.build_rows is not None:
        return keys.rows == candidate.build_rows
    between = candidate.join.sides[1 - candidate.probe].between
    return keys.is_whole and set(between) <= {"BroadcastExchange", "Exchange", "Sort", "Project", "Filter"}


def _together(ranges: list[Range]) -> Range:
    return Range(max(each.least for each in ranges), sum(each.most for each in ranges))


def _kind_of(query: QueryFacts) -> str:
    """The same for queries of one name that differ in literals and rows only."""
    scans = [(scan.table, scan.paths, str(scan.predicate)) for scan in query.scans]
    joins = [(join.type, [side.keys for side in join.sides]) for join in query.joins]
    return hashlib.sha256(repr((_name(query), scans, joins)).encode()).hexdigest()


def _nothing_read(reading: Reading, logs: Sequence[str | Path]) -> str:
    why = "; ".join(f"{reason} ({', '.join(each.places)})" for reason, each in sorted(reading.skipped.items()))
    named = ", ".join(map(str, logs))
    return f"{named}: no query with a scan of files was found{': ' + why if why else ''}. Is it an event log of Spark?"
