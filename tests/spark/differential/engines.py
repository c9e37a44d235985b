"""A Spark session and a DuckDB that have the same tables."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import duckdb
from pyspark.sql import SparkSession

from tests.spark.differential.cases import Column, Table
from tests.spark.differential.write import NARROW, TableWriter

# The layer is given time that nobody would wait for, so that a slow machine is no disagreement.
PATIENCE = {"rtfilter.planner.timeoutMs": "30000", "rtfilter.footers.waitMs": "20000"}


class Engines:
    """A session of its own of an application, and a DuckDB; tables are folders below `folder`."""

    def __init__(self, application: SparkSession, folder: Path) -> None:
        self.spark = application.newSession()
        for key, value in PATIENCE.items():
            self.spark.conf.set(key, value)
        self.duck = duckdb.connect()
        self.duck.execute("set TimeZone = 'UTC'")
        # Queries this small gain nothing from a second thread.
        self.duck.execute("set threads = 1")
        # The oracle does without runtime filters of its own: those of DuckDB 1.5 reach below an ORDER BY with LIMIT.
        self.duck.execute("set disabled_optimizers = 'join_filter_pushdown'")
        self._folder = folder
        self._writer = TableWriter(self.spark, self.duck)
        self._written = 0
        self._shown: dict[str, tuple[Table, Path]] = {}
        self._conf: dict[str, str] = {}

    def show(self, table: Table) -> None:
        """Writes a table and shows it to both engines, unless it is there as it is.

        DuckDB gets a table of its own: 1.5 fails with its own runtime filters on files of unlike columns (union_by_name).
        """
        name = table.name
        if name in self._shown:
            there, old = self._shown[name]
            if there == table:
                return
            del self._shown[name]
            shutil.rmtree(old)
        self._written += 1
        place = self._folder / f"{self._written}-{name}"
        self._writer.write(table, place)
        schema = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        self.spark.read.schema(schema).parquet(str(place)).createOrReplaceTempView(name)
        columns = ", ".join(f"cast({_as_shown(column)} as {_duck_type(column.type)}) as {column.name}" for column in table.columns)
        files = f"read_parquet('{place}/*.parquet', union_by_name=true)"
        self.duck.execute(f"create or replace table {name} as select {columns} from {files}")
        self._shown[name] = table, place

    def configure(self, wanted: Mapping[str, str]) -> None:
        """The session's conf as a case wants it: what differs from the case before, for each call costs a millisecond."""
        for key in self._conf.keys() - wanted.keys():
            self.spark.conf.unset(key)
        for key, value in wanted.items():
            if self._conf.get(key) != value:
                self.spark.conf.set(key, value)
        self._conf = dict(wanted)

    def close(self) -> None:
        self.duck.close()
        for _, place in self._shown.values():
            shutil.rmtree(place, ignore_errors=True)


def _duck_type(type_: str) -> str:
    """DuckDB's name of a column type. Both timestamps are one without a zone there: all sessions are in UTC."""
    return "timestamp" if type_.startswith("timestamp") else "blob" if type_ == "binary" else type_


def _as_shown(column: Column) -> str:
    """A stored number as Spark shows it: the lower bits of it where the column has no more."""
    if column.type not in NARROW:
        return column.name
    count = NARROW[column.type]
    return f"(cast({column.name} as bigint) + {count // 2}) % {count} - {count // 2}"
