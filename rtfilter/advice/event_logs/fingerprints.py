"""Queries of event logs as fingerprints, the same that other logs of the same queries give."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from rtfilter.advice.event_logs.application import Application
from rtfilter.advice.event_logs.queries import JoinFacts, QueryFacts, ScanFacts
from rtfilter.advice.event_logs.read import read_event_logs
from rtfilter.advice.logs.lines import Reading
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint, TableUse
from rtfilter.advice.workload.predicates import leaves
from rtfilter.advice.workload.spark_conditions import as_asked

FAILED = "queries that ended in an error"


def add_event_logs(paths: Sequence[str | Path], tables: Mapping[str, TableStatistics], reading: Reading) -> None:
    """Reads event logs into `reading`.

    Raises:
        AdviceError: a path is not there or no log, or a file can't be opened.
    """

    def take(query: QueryFacts, _: Application, log: str) -> None:
        reading.queries += 1
        if query.error:
            reading.skip(FAILED, f"{log}, query {query.id}")
            return
        found = fingerprint_of(query, tables)
        if found.uses or found.unknown_tables:
            reading.workload.setdefault(found, Calls()).add(1, query.ms, None, found.literals)
        else:
            reading.empty += 1

    reading.notes += read_event_logs(paths, take, reading.skip)


def fingerprint_of(query: QueryFacts, tables: Mapping[str, TableStatistics]) -> Fingerprint:
    """What a query asked of the tables that have statistics."""
    uses, unknown = [], set()
    for number, scan in enumerate(query.scans):
        table = table_of(scan, tables)
        if table is None:
            unknown.add(scan.name)
        else:
            uses.append(_use(query, number, table))
    return Fingerprint(
        # Plans of one query may name tables in any order.
        uses=tuple(sorted(uses, key=repr)),
        aggregates=query.aggregates,
        plain=query.plain,
        limit=query.limit,
        unknown_tables=tuple(sorted(unknown)),
    )


def table_of(scan: ScanFacts, tables: Mapping[str, TableStatistics]) -> TableStatistics | None:
    """The table that a scan reads: by its path, by its name in the catalog, or by the folder's name where its columns fit."""
    places = {os.path.realpath(path) for each in scan.paths if (path := local_path(each)) is not None}
    for table in tables.values():
        root = os.path.realpath(table.path) if table.path else None
        if root is not None and places and all(place == root or place.startswith(root + os.sep) for place in places):
            return table
    by_name = {name.lower(): table for name, table in tables.items()}
    if scan.table is not None:
        parts = scan.table.lower().replace("`", "").split(".")
        return next((by_name[name] for n in range(len(parts)) if (name := ".".join(parts[n:])) in by_name), None)
    found = by_name.get(scan.name.lower())
    return found if found is not None and all(found.column(name) is not None for name, _ in scan.columns) else None


def local_path(path: str) -> str | None:
    """A path of a scan as this machine has it; None where it is on another filesystem."""
    if path.startswith("file:"):
        return unquote("/" + path.removeprefix("file:").lstrip("/"))
    return path if path.startswith("/") else None


def _use(query: QueryFacts, number: int, table: TableStatistics) -> TableUse:
    scan = query.scans[number]
    keys = sorted({name for join in query.joins for name in _keys_of(join, number)})
    above = {key.column for key in query.asked_above if key.scan == number}
    predicate = as_asked(scan.predicate, {*keys, *above})
    asked = [name for leaf in leaves(predicate) for name in leaf.columns]
    return TableUse(
        table=table.name,
        predicate=predicate,
        columns=tuple(sorted(name for name, _ in scan.columns)),
        is_partial=bool(scan.partial or query.partial or above),
        strangers=tuple(dict.fromkeys(name for name in asked if table.column(name) is None)),
        join_keys=tuple(keys),
        group_keys=tuple(sorted({key.column for key in query.group_keys if key.scan == number})),
    )


def _keys_of(join: JoinFacts, scan: int) -> list[str]:
    return [key.column for side in join.sides for key in side.keys if key.scan == scan]
