"""What running one query gives, or why it failed: the words that every engine speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError, first_line

Row = tuple[object, ...]
"""The values of one row of a result, in the order of its columns."""


class QueryFailedError(BenchError):
    """An engine could not run a query."""


class QueryTimeoutError(QueryFailedError):
    """A query ran longer than it was given."""


def query_error(query: Query, mode: str, error: Exception, timeout_s: float | None) -> QueryFailedError:
    """What an engine raises for an error of its own: the first line of it, or the limit when that ran out."""
    if timeout_s is not None:
        return _timeout(query, mode, timeout_s)
    return QueryFailedError(f"query {query.id!r} failed in mode {mode!r}: {first_line(error)}")


def require_in_time(query: Query, mode: str, ms: float, timeout_s: float | None) -> None:
    """Fails a run that ended by itself after its limit, as one does that has nothing to interrupt when the limit passes.

    Raises:
        QueryTimeoutError: it took longer.
    """
    if timeout_s is not None and ms > timeout_s * 1000:
        raise _timeout(query, mode, timeout_s)


def _timeout(query: Query, mode: str, timeout_s: float) -> QueryTimeoutError:
    return QueryTimeoutError(f"query {query.id!r} took longer than {timeout_s:g} s in mode {mode!r}")


def unreadable_table(name: str, path: Path, error: Exception) -> BenchError:
    """What an engine raises for a table that it can't make a view of."""
    return BenchError(f"table {name!r} cannot be read as Parquet from {str(path)!r}: {first_line(error)}")


@dataclass(frozen=True)
class Execution:
    """One run of one query: its time, rows, and what the engine counted; None where an engine does not count it.

    `report`: what the layer reports of it, as text; empty where the layer is off.
    """

    ms: float
    rows: Sequence[Row]
    scan_rows: int | None = None
    bytes_read: int | None = None
    packs_total: int | None = None
    packs_kept: int | None = None
    filters: Sequence[Mapping[str, Any]] = ()
    columns: Sequence[str] = ()
    report: str = ""
    star_trees: Sequence[Mapping[str, Any]] = ()


class Engine(Protocol):
    """Runs a query in one mode; with `count_bytes` it may do so more slowly, for the sake of `bytes_read`.

    Raises:
        QueryFailedError: it cannot; QueryTimeoutError when that was for want of time.
    """

    def run(self, query: Query, count_bytes: bool = False) -> Execution: ...
