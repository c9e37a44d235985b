"""Runs a case with the layer off, with the layer on and in DuckDB, and compares the rows as multisets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

import rtfilter
from rtfilter.bridge import jvm
from tests.spark.differential.cases import Case
from tests.spark.differential.engines import Engines
from tests.spark.differential.sql import DUCKDB, SPARK, render
from tests.spark.differential.time_limit import TimeLimit, TimeLimitError

Rows = Counter[tuple[Any, ...]]
# As much of a difference, and of an error, as somebody wants to read.
SHOWN_ROWS = 5
SHOWN_CHARACTERS = 600
# A query takes half a second; what takes this long on the busiest machine hangs.
LONGEST_S = 90.0
# Joins over few distinct keys can multiply rows without end; a driver of two gigabytes can't collect what is larger than this.
LARGEST_RESULT_ROWS = 300_000


class InvalidCaseError(Exception):
    """A query that fails without the layer or in DuckDB: a mistake of the generator, or a cut of the shrinker that went too far."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case. `packs_*` are those of the scans that the layer narrowed; `detail` is empty when the three agree.

    `too_large`: DuckDB found more rows than a test can collect, and Spark was not asked.
    """

    packs_total: int
    packs_read: int
    rows: int
    rows_dropped: int = 0
    rows_skipped: int = 0
    gates: int = 0
    warnings: tuple[str, ...] = ()
    detail: str = ""
    hangs: bool = False
    too_large: bool = False

    @property
    def agree(self) -> bool:
        return not self.detail

    @property
    def packs_rejected(self) -> int:
        return self.packs_total - self.packs_read


class Harness:
    """Runs cases in engines of its own; tables are files below `folder`.

    A case whose tables are those of the case before finds them there. One thread at a time may use a harness; several harnesses
    of one application may run side by side. Without `always_off` a query runs with the layer off only where on and DuckDB differ.
    """

    def __init__(self, application: SparkSession, folder: Path, longest_s: float = LONGEST_S, *, always_off: bool = True) -> None:
        self._always_off = always_off
        self._application = application
        self._folder = folder
        self.limit = TimeLimit(longest_s)
        self._begun = 0
        self._engines = self._begin()
        self._doing = ""

    def _begin(self) -> Engines:
        self._begun += 1
        return Engines(self._application, self._folder / f"engines{self._begun}")

    def close(self) -> None:
        """Ends its thread and removes its files."""
        self.limit.close()
        self._engines.close()

    def run(self, case: Case) -> Outcome:
        """Writes those tables of the case that are not there yet and runs its query in all engines.

        Raises:
            InvalidCaseError: the tables can't be written, or the query fails in DuckDB or with the layer off.
        """
        engines = self._engines
        try:
            return self.limit.call(lambda: self._compare(engines, case))
        except TimeLimitError as e:
            detail = f"{self._doing}: {e}\n{_threads_in_spark(engines.spark)}"
            # Whatever still goes on there must not meet the next case.
            self._engines = self._begin()
            engines.spark.sparkContext.cancelJobGroup(self._group)
            engines.duck.interrupt()
            return Outcome(0, 0, 0, detail=detail, hangs=True)

    @property
    def _group(self) -> str:
        return f"harness {id(self)} {self._begun}"

    def _compare(self, engines: Engines, case: Case) -> Outcome:
        sql = render(case, SPARK)
        spark = engines.spark
        spark.sparkContext.setJobGroup(self._group, f"seed {case.seed}")
        try:
            self._doing = "writing the tables"
            engines.configure(dict(case.conf))
            for table in case.tables:
                engines.show(table)
            self._doing = "in DuckDB"
            rows = engines.duck.execute(render(case, DUCKDB)).fetchmany(LARGEST_RESULT_ROWS + 1)
            if len(rows) > LARGEST_RESULT_ROWS:
                return Outcome(0, 0, 0, too_large=True)
            expected = _counted(rows)
            off = self._off(spark, sql) if self._always_off else None
        except Exception as e:
            raise InvalidCaseError(f"seed {case.seed}: {_cut(e)}\n{sql}") from e
        self._doing = "with the layer on"
        spark.conf.set("rtfilter.enabled", True)
        try:
            frame = spark.sql(sql)
            on = _collected(frame)
        except Exception as e:
            return Outcome(0, 0, 0, detail=f"with the layer on the query fails: {_cut(e)}")
        finally:
            spark.conf.set("rtfilter.enabled", False)
        if off is None and _difference("on", on, "DuckDB", expected):
            off = self._off(spark, sql)
        narrowed = [scan for scan in jvm.scan_metrics(frame) if scan["narrowed"]]
        report = rtfilter.last_report(spark)
        return Outcome(
            packs_total=sum(scan["packs_total"] for scan in narrowed),
            packs_read=sum(scan["packs_read"] for scan in narrowed),
            rows=on.total(),
            rows_dropped=sum(each["rows_dropped"] for each in jvm.row_metrics(frame)),
            rows_skipped=sum(scan["rows_skipped"] for scan in narrowed),
            gates=0 if report is None else sum(each.gate and each.decision == "applied" for each in report.filters),
            warnings=() if report is None else tuple(str(warning) for warning in report.warnings),
            detail="" if off is None else _difference("on", on, "off", off) or _difference("off", off, "DuckDB", expected),
        )

    def _off(self, spark: SparkSession, sql: str) -> Rows:
        self._doing = "with the layer off"
        return _collected(spark.sql(sql))


def _threads_in_spark(spark: SparkSession) -> str:
    """What the driver's threads that are at work on queries are doing."""
    # py4j reaches no class of the management beans: their module is closed to it.
    stacks = spark._jvm.java.lang.Thread.getAllStackTraces()  # type: ignore[union-attr]
    texts = [f"{thread.getName()}: {', '.join(map(str, stacks[thread]))}" for thread in stacks]
    return "\n".join(text for text in texts if "spark.sql" in text)


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
    return Counter(tuple(map(_comparable, row)) for row in rows)


def _comparable(value: Any) -> Any:
    """NaN as a text, for it equals nothing. -0.0 equals 0.0: which of the two an aggregate returns is chance."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return bytes(value) if isinstance(value, bytearray) else value


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
