"""Queries of one session, each with the lines that it leaves in the query log."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Line = dict[str, Any]


class Logged:
    """Runs things and gives the lines that they have left."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path
        spark.conf.set("rtfilter.log.path", str(path))

    def lines(self, run: Callable[[], object] | str) -> list[Line]:
        before = self._read()
        if isinstance(run, str):
            self.spark.sql(run).collect()
        else:
            run()
        return self._read()[len(before) :]

    def scans(self, run: Callable[[], object] | str) -> list[dict[str, Any]]:
        """The shapes of all scans of the one line that is left."""
        (line,) = self.lines(run)
        return list(line["shape"]["scans"])

    def _read(self) -> list[Line]:
        self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        return [json.loads(text) for text in self.path.read_text().splitlines()] if self.path.exists() else []


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> Logged:
    """The layer is off, as it is where nobody has switched it on."""
    return Logged(spark, tmp_path / "log.jsonl")
