"""A row of the table of reasons: a query for which the layer gives a reason, and what brings the query into that state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.spark.cases import write_files

SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
ALWAYS = {"rtfilter.cost": "always"}


@dataclass(frozen=True)
class Scene:
    """Where a query runs: its session, a folder of its own, and the file whose Python the planner host runs before each answer.

    `far`: a folder that Spark also sees as `viewfs://far/here`, a filesystem that the planner host can't open.
    """

    spark: SparkSession
    folder: Path
    fault: Path
    far: Path

    def table(self, name: str, table: pa.Table, files: int = 1, pack_rows: int = 500) -> Path:
        """Writes a table and names it."""
        write_files(table, self.folder / name, files, pack_rows)
        self.spark.read.parquet(str(self.folder / name)).createOrReplaceTempView(name)
        return self.folder / name

    def faulty_host(self, python: str) -> None:
        """From here on the host runs `python` before each answer: it sees `op`, a dict `kept` and `put(owner, name, value)`."""
        self.fault.write_text(python)


@dataclass(frozen=True)
class Row:
    """A query and the code of the reason that it shows.

    `title`: what makes the reason, where a code has several rows. `runs`: the reason is in the report of the query that ran, else
    `why_not` gives it. `prepare` may give the frame itself. `fault`: what is done to the layer from outside, since no query gets
    there by itself.
    """

    code: str
    sql: str
    title: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    runs: bool = False
    prepare: Callable[[Scene], DataFrame | None] | None = None
    fault: str = ""

    @property
    def name(self) -> str:
        return f"{self.code}, {self.title}" if self.title else self.code
