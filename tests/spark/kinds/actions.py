"""What is done with the frame of a query to get its rows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import DataFrame, SparkSession

import rtfilter
from tests.spark.kinds import udfs

SHARES, SPLIT_SEED = [0.5, 0.5], 11


@dataclass(frozen=True)
class Doing:
    """`between`: what happens between the parts of a split, or after the query is planned. `on`: whether the layer is to be on.

    `note` is called after each query that the layer has a part in, where another one follows.
    """

    spark: SparkSession
    folder: Path
    between: Callable[[], None]
    on: bool
    note: Callable[[], None]


def take_rows(action: str, frame: DataFrame, doing: Doing) -> list[Any]:
    """The rows of a frame."""
    rows: list[Any] = _ACTIONS[action](frame, doing)
    return rows


def _collect(frame: DataFrame, doing: Doing) -> list[Any]:
    return frame.collect()


def _cache(frame: DataFrame, doing: Doing) -> list[Any]:
    frame.cache()
    try:
        frame.count()
        doing.note()
        return frame.collect()
    finally:
        frame.unpersist(blocking=True)


def _persisted_twice(frame: DataFrame, doing: Doing) -> list[Any]:
    frame.persist()
    try:
        return frame.unionAll(frame).collect()
    finally:
        frame.unpersist(blocking=True)


def _rdd(frame: DataFrame, doing: Doing) -> list[Any]:
    return frame.rdd.map(lambda row: tuple(row)).collect()


def _checkpoint(frame: DataFrame, doing: Doing) -> list[Any]:
    checkpointed = frame.localCheckpoint()
    doing.note()
    return checkpointed.collect()


class _Lists(AccumulatorParam[list[Any]]):
    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
        return value1 + value2


def _foreach(frame: DataFrame, doing: Doing) -> list[Any]:
    seen = doing.spark.sparkContext.accumulator([], _Lists())
    frame.foreachPartition(lambda rows: seen.add([tuple(row) for row in rows]))
    return list(seen.value)


def _view_twice(frame: DataFrame, doing: Doing) -> list[Any]:
    frame.createOrReplaceTempView("twice")
    return doing.spark.sql("select * from twice union all select * from twice").collect()


def _written(frame: DataFrame, doing: Doing) -> list[Any]:
    place = doing.folder / "written"
    try:
        frame.write.mode("overwrite").parquet(str(place))
        doing.note()
        return doing.spark.read.parquet(str(place)).collect()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _pruned(frame: DataFrame, doing: Doing) -> list[Any]:
    if not doing.on:
        return frame.collect()
    doing.spark.conf.set("rtfilter.enabled", False)
    return rtfilter.prune(frame).collect()


def _planned_before(frame: DataFrame, doing: Doing) -> list[Any]:
    frame._jdf.queryExecution().executedPlan()
    doing.between()
    return frame.collect()


def _split(frame: DataFrame, doing: Doing) -> list[Any]:
    first, second = frame.randomSplit(SHARES, seed=SPLIT_SEED)
    rows = [("first", *row) for row in first.collect()]
    doing.note()
    doing.between()
    return rows + [("second", *row) for row in second.collect()]


_ACTIONS: dict[str, Callable[[DataFrame, Doing], list[Any]]] = {
    "collect": _collect,
    "cache": _cache,
    "persisted twice": _persisted_twice,
    "rdd": _rdd,
    "checkpoint": _checkpoint,
    "foreach": _foreach,
    "view twice": _view_twice,
    "written": _written,
    "pruned": _pruned,
    "split": _split,
    "planned before": _planned_before,
}


def send_by_value() -> None:
    """Python workers need not find this folder: what they run is sent along."""
    for module in (sys.modules[__name__], udfs):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
