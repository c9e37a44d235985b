"""What Spark's configuration holds before a session builder adds to it: spark-defaults.conf and the arguments of spark-submit."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

DEFAULTS_FILE = "spark-defaults.conf"
# As Java reads a properties file: a key, then `=`, `:` or blanks, then the value.
_ENTRY = re.compile(r"([^\s=:#!][^\s=:]*)\s*[\s=:]\s*(.*)")


def submitted_conf() -> Mapping[str, str]:
    """The entries that a session has if its builder names none. What can't be read is left out: Spark says so when it starts."""
    from pyspark import SparkConf, SparkContext

    jvm = getattr(SparkContext, "_jvm", None)
    if jvm is not None:
        # The driver runs: spark-submit has put all of it into the JVM's properties.
        return dict(SparkConf(_jvm=jvm).getAll())
    arguments = arguments_conf(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    file = arguments.pop("--properties-file", None) or _defaults_file()
    return {**file_conf(Path(file)), **arguments}


def file_conf(path: Path) -> dict[str, str]:
    """The entries of a properties file; none if it can't be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    found = (_ENTRY.fullmatch(line.strip()) for line in lines)
    return {entry.group(1): entry.group(2).strip() for entry in found if entry is not None}


def arguments_conf(text: str) -> dict[str, str]:
    """The entries that arguments of spark-submit set with `--conf` and `--jars`, and under its own name `--properties-file`."""
    try:
        words = [part for word in shlex.split(text) for part in (word.split("=", 1) if word.startswith("--") else [word])]
    except ValueError:  # a quote that is not closed
        return {}
    found: dict[str, str] = {}
    for name, value in pairwise(words):
        if name in ("--conf", "-c") and "=" in value:
            key, _, said = value.partition("=")
            found[key.strip()] = said
        elif name == "--jars":
            found["spark.jars"] = value
        elif name == "--properties-file":
            found[name] = value
    return found


def _defaults_file() -> str:
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    return os.path.join(folder, DEFAULTS_FILE)
