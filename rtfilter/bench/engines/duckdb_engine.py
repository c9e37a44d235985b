"""Runs a suite's queries in DuckDB: a second engine to hold times against, and the judge of the results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rtfilter.bench.engines.deadline import deadline
from rtfilter.bench.engines.execution import Execution, query_error, require_in_time, unreadable_table
from rtfilter.bench.suites.duckdb_generators import quoted
from rtfilter.bench.suites.suite import Query

if TYPE_CHECKING:
    import duckdb


class DuckDbEngine:
    """Views over the same Parquet files, on as many processors as Spark has."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, tables: Mapping[str, Path], threads: int, timeout_s: float | None = None
    ) -> None:
        self._con = con
        self._timeout_s = timeout_s
        con.execute(f"SET threads = {threads}")
        for name, path in tables.items():
            try:
                con.execute(f'CREATE VIEW "{name}" AS SELECT * FROM {_read_parquet(path)}')
            except Exception as error:  # duckdb.Error, without importing the module for its name
                raise unreadable_table(name, path, error) from error

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        """Plans and fetches the query. DuckDB counts neither rows scanned nor bytes read in a form to be held against Spark's.

        Raises:
            QueryFailedError: DuckDB cannot run it; QueryTimeoutError: not in the time that it is given.
        """
        with deadline(self._timeout_s, self._con.interrupt) as limit:
            begin = time.perf_counter()
            try:
                rows = self._con.execute(query.duckdb_sql).fetchall()
            except Exception as error:  # duckdb.Error, without importing the module for its name
                raise query_error(query, "duckdb", error, self._timeout_s if limit.passed else None) from error
            ms = (time.perf_counter() - begin) * 1000
        require_in_time(query, "duckdb", ms, self._timeout_s)
        return Execution(ms=ms, rows=rows, columns=[column[0] for column in self._con.description or ()])


def _read_parquet(path: Path) -> str:
    """One file, a directory of files, or one of `key=value` directories with files in them."""
    if not path.is_dir():
        return f"read_parquet('{quoted(path)}')"
    if any(path.glob("*=*")):
        return f"read_parquet('{quoted(path)}/*/*.parquet', hive_partitioning = true)"
    return f"read_parquet('{quoted(path)}/*.parquet')"
