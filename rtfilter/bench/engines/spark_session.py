"""The Spark session that benchmarks run in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rtfilter.bridge.java import find_java
from rtfilter.errors import BenchError, first_line
from rtfilter.hardware import memory_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"
MOST_DRIVER_MEMORY_GB = 8
SHUFFLE_PARTITIONS = 8


def start_session(
    name: str,
    master: str = DEFAULT_MASTER,
    broadcast_threshold_bytes: int | None = None,
    driver_memory_gb: int | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session with rtfilter's jar and extension in it, the layer off, `conf` on top, and Spark's log kept to errors.

    Driver memory is half of the machine's and at most 8 GB, unless given here or in Spark's own SPARK_DRIVER_MEMORY.
    A benchmark must not depend on what else the user's Spark does, so the UI is off and shuffles have a fixed width.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: the bridge cannot be made ready.
        BenchError: Spark does not start, with this master for one.
    """
    find_java()
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    from rtfilter.session import configure

    # It prints every query error with its whole JVM stack as one line of JSON, beside the error that is raised.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    builder = (
        SparkSession.builder.appName(name)
        .master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(SHUFFLE_PARTITIONS))
        .config("spark.log.level", "ERROR")
        # Queries of measurements are nobody's: a query log of spark-defaults.conf is for those of users.
        .config("spark.rtfilter.log.path", "")
    )
    if driver_memory_gb is not None or "SPARK_DRIVER_MEMORY" not in os.environ:
        builder = builder.config("spark.driver.memory", f"{driver_memory_gb or default_driver_memory_gb()}g")
    if broadcast_threshold_bytes is not None:
        builder = builder.config("spark.sql.autoBroadcastJoinThreshold", str(broadcast_threshold_bytes))
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    builder = configure(builder)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:  # whatever Py4J or Spark raises
        raise BenchError(f"Spark does not start with --master {master!r}: {first_line(error)}") from error
    return session


def default_driver_memory_gb() -> int:
    """Half of the machine's memory, at least 1 and at most 8 GB."""
    return max(1, min(MOST_DRIVER_MEMORY_GB, memory_bytes() // 2**31))


def nothing_learned(scratch: Path) -> dict[str, str]:
    """The conf with which a session learns from its own queries only, and keeps it in the folder `scratch`."""
    return {"spark.rtfilter.feedback.path": str(scratch / "feedback.json")}
