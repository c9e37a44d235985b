"""Runs a case with the layer off, with the layer on and in DuckDB, and compares the rows as multisets."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.differential.cases import Case
from tests.spark.differential.sql import DUCKDB, SPARK, render
from tests.spark.differential.write import TableWriter

Rows = Counter[tuple[Any, ...]]
# As much of a difference, and of an error, as somebody wants to read.
SHOWN_ROWS = 5
SHOWN_CHARACTERS = 600


class InvalidCaseError(Exception):
    """A query that fails without the layer or in DuckDB: a mistake of the generator, or a cut of the shrinker that went too far."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case. `packs_*` are those of the scans that the layer narrowed; `detail` is empty when the three agree."""

    packs_total: int
    packs_read: int
    rows: int
    rows_dropped: int = 0
    gates: int = 0
    warnings: tuple[str, ...] = ()
    detail: str = ""

    @property
    def agree(self) -> bool:
        return not self.detail

    @property
    def packs_rejected(self) -> int:
        return self.packs_total - self.packs_read


class Harness:
    """Runs cases in one Spark session; each gets a folder below `folder` that is removed after it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.duck = duckdb.connect()
        self.duck.execute("set TimeZone = 'UTC'")
        # The oracle does without runtime filters of its own: those of DuckDB 1.5 reach below an ORDER BY with LIMIT.
        self.duck.execute("set disabled_optimizers = 'join_filter_pushdown'")
        self.writer = TableWriter(spark, self.duck)
        self.runs = 0

    def run(self, case: Case) -> Outcome:
        """Writes the case's tables and runs its query three times.

        Raises:
            InvalidCaseError: the tables can't be written, or the query fails in DuckDB or with the layer off.
        """
        self.runs += 1
        place = self.folder / f"case{self.runs}"
        try:
            with self._conf(case):
                return self._compare(case, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _compare(self, case: Case, place: Path) -> Outcome:
        sql = render(case, SPARK)
        try:
            for table in case.tables:
                self._show(case, place, table.name)
            expected = _counted(self.duck.execute(render(case, DUCKDB)).fetchall())
            off = self._collect(sql)
        except Exception as e:
            raise InvalidCaseError(f"seed {case.seed}: {_cut(e)}\n{sql}") from e
        self.spark.conf.set("rtfilter.enabled", True)
        try:
            frame = self.spark.sql(sql)
            on = _collected(frame)
        except Exception as e:
            return Outcome(0, 0, 0, detail=f"with the layer on the query fails: {_cut(e)}")
        narrowed = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
        report = rtfilter.last_report(self.spark)
        return Outcome(
            packs_total=sum(scan["packs_total"] for scan in narrowed),
            packs_read=sum(scan["packs_read"] for scan in narrowed),
            rows=on.total(),
            rows_dropped=sum(each["rows_dropped"] for each in jvm.row_metrics(frame)),
            gates=0 if report is None else sum(each.gate and each.decision == "applied" for each in report.filters),
            warnings=() if report is None else tuple(str(warning) for warning in report.warnings),
            detail=_difference("on", on, "off", off) or _difference("off", off, "DuckDB", expected),
        )

    def _show(self, case: Case, place: Path, name: str) -> None:
        """Writes a table and shows it to both engines.

        DuckDB gets a table of its own: 1.5 fails with its own runtime filters on files of unlike columns (union_by_name).
        """
        table = next(table for table in case.tables if table.name == name)
        self.writer.write(table, place / name)
        schema = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        self.spark.read.schema(schema).parquet(str(place / name)).createOrReplaceTempView(name)
        columns = ", ".join(f"cast({column.name} as {_duck_type(column.type)}) as {column.name}" for column in table.columns)
        files = f"read_parquet('{place / name}/*.parquet', union_by_name=true)"
        self.duck.execute(f"create or replace table {name} as select {columns} from {files}")

    def _collect(self, sql: str) -> Rows:
        self.spark.conf.set("rtfilter.enabled", False)
        return _collected(self.spark.sql(sql))

    @contextmanager
    def _conf(self, case: Case) -> Iterator[None]:
        before = {key: self.spark.conf.get(key, None) for key, _ in case.conf}
        try:
            for key, value in case.conf:
                self.spark.conf.set(key, value)
            yield
        finally:
            self.spark.conf.set("rtfilter.enabled", False)
            for key, old in before.items():
                if old is None:
                    self.spark.conf.unset(key)
                else:
                    self.spark.conf.set(key, old)


def _duck_type(type_: str) -> str:
    """DuckDB's name of a column type. Both timestamps are one without a zone there: all sessions are in UTC."""
    return "timestamp" if type_.startswith("timestamp") else type_


def _collected(frame: DataFrame) -> Rows:
    """The rows of a frame, timestamps in UTC."""
    zoned = {number for number, field in enumerate(frame.schema) if isinstance(field.dataType, TimestampType)}
    return _counted(
        tuple(_in_utc(value) if number in zoned else value for number, value in enumerate(row)) for row in frame.collect()
    )


def _in_utc(value: datetime | None) -> datetime | None:
    """PySpark gives timestamps in the zone of the Python process, without saying so."""
    return None if value is None else value.astimezone(UTC).replace(tzinfo=None)


def _counted(rows: Iterable[tuple[Any, ...]]) -> Rows:
    """NaN as a text, for it equals nothing. -0.0 equals 0.0: which of the two an aggregate returns is chance."""
    return Counter(tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in row) for row in rows)


def _difference(one: str, rows: Rows, other: str, others: Rows) -> str:
    if rows == others:
        return ""
    surplus, missing = rows - others, others - rows
    shown = [f"{one} has {rows.total()} rows, {other} {others.total()}"]
    shown += [
        f"only {name} ({part.total()}): {list(part.items())[:SHOWN_ROWS]}" for name, part in ((one, surplus), (other, missing))
    ]
    return "; ".join(shown)


def _cut(e: Exception) -> str:
    return f"{type(e).__name__}: {e}"[:SHOWN_CHARACTERS]
