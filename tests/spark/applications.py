"""The Spark applications of the tests: what all of them have, and what each adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import rtfilter

# Each query counts by itself: nothing is learned from those before.
OF_ALL = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.rtfilter.feedback.enabled": "false"}
# What tasks may hold in all is little; Spark's own sorts spill.
LITTLE_MEMORY = {
    "spark.memory.fraction": "1.0",
    "spark.testing.memory": str(24 << 20),
    "spark.testing.reservedMemory": "1",
    "spark.buffer.pageSize": "65536",
}

_schemas: dict[Path, StructType] = {}


@contextmanager
def application(
    name: str,
    conf: Mapping[str, str],
    *,
    scratch: Path | None = None,
    master: str = "local[2]",
    layer: bool = True,
    log_level: str = "ERROR",
) -> Iterator[SparkSession]:
    """Starts an application and stops it. `scratch` takes in the tables that it makes; `layer`: with the bridge in it."""
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**OF_ALL, **(_places(scratch) if scratch else {}), **conf}.items():
        builder = builder.config(key, value)
    spark: SparkSession = (rtfilter.configure(builder) if layer else builder).getOrCreate()
    spark.sparkContext.setLogLevel(log_level)
    yield spark
    spark.stop()


def _places(scratch: Path) -> dict[str, str]:
    return {
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
    }


def give_time(session: SparkSession) -> None:
    """The planner and footers get plenty of time: on a busy machine too, a filter is there or is not for a reason of its own."""
    session.conf.set("rtfilter.planner.timeoutMs", "30000")
    session.conf.set("rtfilter.footers.waitMs", "20000")


def show_tables(session: SparkSession, folder: Path, names: Iterable[str]) -> None:
    """Views over these tables of the folder. They keep their columns: Spark starts a job for them the first time only."""
    for name in names:
        place = folder / name
        if place not in _schemas:
            _schemas[place] = session.read.parquet(str(place)).schema
        session.read.schema(_schemas[place]).parquet(str(place)).createOrReplaceTempView(name)
