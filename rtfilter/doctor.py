"""Looks at everything that the layer needs on this machine, and says how to get what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rtfilter.bridge.jar import ensure_jar, find_spark, source_files
from rtfilter.bridge.java import HOW_TO_GET_JAVA, find_java
from rtfilter.errors import RtFilterError
from rtfilter.options import own_interpreter


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `way_out` is empty when it is in order."""

    name: str
    ok: bool
    detail: str
    way_out: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine() -> list[Finding]:
    """Checks Java, Spark, the jar (compiled now when it is not in the cache) and the planner host; never raises."""
    checks: tuple[tuple[str, Callable[[], str], str], ...] = (
        ("Java", _java, HOW_TO_GET_JAVA),
        ("Spark", _spark, "Install a supported pyspark (pip install 'pyspark>=4.3,<4.4'), or unset SPARK_HOME."),
        ("jar", _jar, "Mend Java and Spark first; where the cache cannot be written, set RTFILTER_CACHE to a directory that can."),
        ("planner host", _planner_host, f"Reinstall rtfilter into {own_interpreter()} (pip install --force-reinstall rtfilter)."),
    )
    return [_finding(name, check, way_out) for name, check, way_out in checks]


def _finding(name: str, check: Callable[[], str], way_out: str) -> Finding:
    try:
        return Finding(name, True, check())
    except RtFilterError as error:
        # Our own errors end with what to do; saying it twice helps nobody.
        text = str(error)
        return Finding(name, False, text, "" if way_out in text else way_out)
    except Exception as error:  # whatever is broken on a machine, the other findings still matter
        return Finding(name, False, f"{type(error).__name__}: {error}", way_out)


def _java() -> str:
    java = find_java()
    return f"{java.version} ({java.launcher})"


def _spark() -> str:
    spark = find_spark()
    source_files(spark)
    return f"{spark.version} ({spark.home})"


def _jar() -> str:
    return str(ensure_jar())


def _planner_host() -> str:
    from rtfilter.host.client import ping

    python = own_interpreter()
    answer = ping(python)
    return f"answers with protocol {answer.get('protocol')}, version {answer.get('version')} ({python})"
