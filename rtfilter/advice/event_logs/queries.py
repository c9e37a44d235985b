"""What an event log says of one SQL query: its scans and joins with their rows, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass

from rtfilter.advice.workload.predicates import Predicate


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """One scan of files. `table`: its name in the catalog, None for a path. `columns`: with their types, in the file's order.

    `rows`, `ms` (of all tasks together), `files` and `bytes` are None where the log does not say. Files and bytes are those that
    were planned. `filters`: the conditions as PushedFilters has them, with literals; they never leave this process. `is_cached`:
    the scan filled a cached frame.
    """

    table: str | None
    format: str
    paths: tuple[str, ...]
    has_all_paths: bool
    columns: tuple[tuple[str, str], ...]
    predicate: Predicate | None
    partial: tuple[str, ...]
    filters: str
    rows: int | None
    ms: int | None
    files: int | None
    bytes: int | None
    is_cached: bool = False

    @property
    def name(self) -> str:
        """What people call it."""
        return self.table or (self.paths[0].rstrip("/").rpartition("/")[2] if self.paths else "a table without a name")


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a side of a join. `scan` is a number among the query's scans, None for a key that is no plain column of one."""

    scan: int | None
    column: str

    @property
    def is_plain(self) -> bool:
        return self.scan is not None


@dataclass(frozen=True, slots=True)
class JoinSide:
    """`rows`: what comes into the join. `scans`: all below it, by number. `between`: the operators between the join and the scan of
    its first plain key, the uppermost first. `has_other_scans`: whether it reads something of which the log tells no more, such as
    a table of another source."""

    keys: tuple[Key, ...]
    rows: int | None
    scans: tuple[int, ...]
    between: tuple[str, ...]
    has_other_scans: bool = False


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """One join by equality. `build`: 0 for the left side, 1 for the right one, None where both are shuffled."""

    operator: str
    type: str
    build: int | None
    sides: tuple[JoinSide, JoinSide]
    rows: int | None
    has_condition: bool = False

    @property
    def is_broadcast(self) -> bool:
        return self.operator == "BroadcastHashJoin"


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """One execution. `ms`: None where its end is not in the log. `asked_above`: columns of scans in conditions that are not the
    scans' own. `partial`: sentences on what could not be read of it."""

    id: int
    root: int
    description: str
    ms: int | None
    error: bool
    scans: tuple[ScanFacts, ...]
    joins: tuple[JoinFacts, ...]
    group_keys: tuple[Key, ...] = ()
    aggregates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plain: bool = True
    limit: int | None = None
    asked_above: tuple[Key, ...] = ()
    partial: tuple[str, ...] = ()
