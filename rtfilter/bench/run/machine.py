"""What the machine is that a benchmark ran on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from rtfilter.bridge.jar import find_spark
from rtfilter.bridge.java import find_java
from rtfilter.errors import RtFilterError
from rtfilter.hardware import memory_bytes, usable_cpus
from rtfilter.version import __version__

MachineData = dict[str, int | str | None]


def machine_data() -> MachineData:
    """The `machine` part of result.json; None for what is not there (DuckDB alone needs neither Spark nor Java)."""
    return {
        "cpus": usable_cpus(),
        "memory_gb": memory_bytes() // 2**30,
        "spark": _spark_version(),
        "java": _java_version(),
        "rtfilter": __version__,
        "duckdb": _duckdb_version(),
    }


def _spark_version() -> str | None:
    try:
        return find_spark().version
    except (RtFilterError, ImportError):
        return None


def _java_version() -> str | None:
    try:
        return find_java().version
    except RtFilterError:
        return None


def _duckdb_version() -> str | None:
    try:
        return version("duckdb")
    except PackageNotFoundError:
        return None
