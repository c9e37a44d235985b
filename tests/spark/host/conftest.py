"""Spark applications of their own, each with a planner host that misbehaves in one way."""

from __future__ import annotations

import stat
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import rtfilter

BAD_HOST = """\
#!{python}
import os, signal, struct, sys, time
import rtfilter.host.requests as requests

answer_well = requests.Requests.answer

def answer(self, frame):
    op = frame.json["op"]
{behaviour}
    return answer_well(self, frame)

requests.Requests.answer = answer
from rtfilter.host.__main__ import main
main()
"""


@pytest.fixture
def interpreter(tmp_path: Path) -> Callable[[str], str]:
    """Makes an executable that stands for the host's interpreter; `behaviour` runs before each answer, and sees `op`."""

    def make(behaviour: str) -> str:
        script = tmp_path / "interpreter"
        script.write_text(BAD_HOST.format(python=sys.executable, behaviour=textwrap.indent(textwrap.dedent(behaviour), "    ")))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return str(script)

    return make


@pytest.fixture
def application(data: Path) -> Iterator[Callable[[str], SparkSession]]:
    """Starts a Spark application whose planner host runs in the given interpreter."""
    started: list[SparkSession] = []

    def start(python: str) -> SparkSession:
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("rtfilter.feedback.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.rtfilter.python", python)
        )
        spark = rtfilter.configure(builder).getOrCreate()
        started.append(spark)
        spark.sparkContext.setLogLevel("OFF")
        spark.conf.set("rtfilter.enabled", True)
        spark.conf.set("rtfilter.footers.waitMs", "20000")
        for name in ("fact", "dim"):
            spark.read.parquet(str(data / name)).createOrReplaceTempView(name)
        return spark

    yield start
    for spark in started:
        spark.stop()
