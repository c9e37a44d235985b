"""Lines of our own query log (docs/query-log.md) made into fingerprints: by the digest of their shape each shape once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rtfilter.advice.logs.own_conditions import Naming, Places, literals_at, places_of_literals, read_condition
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint, TableUse
from rtfilter.advice.workload.literals import Sample
from rtfilter.advice.workload.predicates import leaves

Json = Mapping[str, Any]
# Shapes that are kept: a log has few different ones.
MOST_SHAPES = 20_000
NO_PLAN = "queries whose plan could not be told"
UNREADABLE = "lines whose shape can't be read"


@dataclass(slots=True)
class Shape:
    """What lines with one digest have in common. `places`: of the literals, for each use the number of its scan and leaf by leaf.
    `calls`: where they are counted, for finding that by the fingerprint takes longer than all the rest of a line."""

    fingerprint: Fingerprint
    places: tuple[tuple[int, tuple[Places, ...]], ...]
    calls: Calls | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """What a runtime filter of a join left of a table's packs. `keys`: how many it had; None where it was no set of keys.

    There is none of a scan that left packs after it had decoded their keys first: an index would spare it little.
    """

    table: str
    key: str
    kept: int
    total: int
    keys: int | None = None


@dataclass(slots=True)
class OwnQuery:
    """One line: what it is a call of, what runtime filters left of packs, and literals if known."""

    shape: Shape
    joined: tuple[Joined, ...] = ()
    sample: Sample = ()


class OwnLines:
    """Reads lines of our own query log against the tables of the statistics."""

    def __init__(self, tables: Mapping[str, TableStatistics]) -> None:
        self._by_name = {name.lower(): table for name, table in tables.items()}
        self._by_path = {_plain_path(table.path): table for table in tables.values() if table.path}
        self._known: dict[str, Shape] = {}

    def query(self, line: Json) -> OwnQuery | str:
        """What a line says; a text is the reason why it does not count."""
        try:
            shape = line["shape"]
            scans = shape["scans"]
            if not scans and shape["partial"]:
                return NO_PLAN
            known = self._known.get(shape["digest"])
            if known is None:
                known = self._shape(shape)
                if len(self._known) < MOST_SHAPES:
                    self._known[shape["digest"]] = known
            by_keys = {scan["table"] for scan in line.get("scans") or () if scan.get("packs_by_keys")}
            joined = self._joined([scan for scan in scans if scan["table"] not in by_keys], line.get("filters") or ())
            return OwnQuery(known, tuple(joined), _sample(known, scans))
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return UNREADABLE

    def _shape(self, shape: Json) -> Shape:
        scans = shape["scans"]
        aggregates = {(each["function"], tuple(each["columns"])) for scan in scans for each in scan["aggregates"]}
        distinct = any(each["distinct"] for scan in scans for each in scan["aggregates"])
        # In an order of their own: plans of one query may name tables in any.
        known = [(_use(scan, table), number) for number, scan in enumerate(scans) if (table := self._table(scan)) is not None]
        known.sort(key=lambda each: repr(each[0]))
        fingerprint = Fingerprint(
            uses=tuple(use for use, _ in known),
            aggregates=tuple(sorted(aggregates)),
            plain=distinct or any(scan["rows"] for scan in scans),
            limit=shape["limit"],
            unknown_tables=tuple(sorted({scan["table"] for scan in scans if self._table(scan) is None})),
        )
        return Shape(fingerprint, tuple((number, _places(scans[number]["predicate"])) for _, number in known))

    def _joined(self, scans: Sequence[Json], filters: Sequence[Json]) -> Iterator[Joined]:
        for scan in scans:
            measured = [join for join in scan["joins"] if "packs_kept" in join]
            table = self._table(scan) if measured else None
            if table is not None:
                for join in measured:
                    name, packs = _naming(table)(join["column"]), (int(join["packs_kept"]), int(join["packs_total"]))
                    yield Joined(table.name, name, *packs, _keys(join, f"{scan['table']}.{join['column']}", filters))

    def _table(self, scan: Json) -> TableStatistics | None:
        """By the place of its files, which may be a part of the table's, else by name."""
        if scan["path"]:
            path = _plain_path(scan["path"])
            while path:
                if path in self._by_path:
                    return self._by_path[path]
                path = path.rpartition("/")[0]
        return self._by_name.get(scan["table"].lower())


def _keys(join: Json, probe: str, filters: Sequence[Json]) -> int | None:
    """How many keys the filter of a join had, if a set: the first one with these packs is that of the join."""
    packs = join["packs_kept"], join["packs_total"]
    for each in filters:
        if each.get("probe") == probe and (each.get("packs_kept"), each.get("packs_total")) == packs:
            return int(each["keys"]) if each.get("kind") == "set" and each.get("keys") else None
    return None


def _plain_path(path: str) -> str:
    """A path as it is compared: of this machine without a scheme."""
    plain = path.removeprefix("file:")
    return ("/" + plain.lstrip("/") if plain != path else plain).rstrip("/")


def _places(predicate: Json | None) -> tuple[Places, ...]:
    return () if predicate is None else tuple(places_of_literals(predicate))


def _sample(shape: Shape, scans: Sequence[Json]) -> Sample:
    return tuple(
        tuple(literals_at(scans[number]["predicate"], places) for places in all_places) for number, all_places in shape.places
    )


def _naming(table: TableStatistics) -> Naming:
    def name(column: str) -> str:
        known = table.column(column)
        return column if known is None else known.name

    return name


def _use(scan: Json, table: TableStatistics) -> TableUse:
    name = _naming(table)
    predicate = None if scan["predicate"] is None else read_condition(scan["predicate"], name)
    asked = dict.fromkeys(column for leaf in leaves(predicate) for column in leaf.columns)
    return TableUse(
        table=table.name,
        predicate=predicate,
        columns=tuple(sorted(map(name, scan["columns"]))),
        is_partial=bool(scan["partial"]),
        strangers=tuple(column for column in asked if table.column(column) is None),
        join_keys=tuple(sorted({name(join["column"]) for join in scan["joins"]})),
        group_keys=tuple(sorted(map(name, scan["group_keys"]))),
    )
