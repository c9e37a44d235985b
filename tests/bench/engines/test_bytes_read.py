"""The bytes that a run has read are those of its stages; a stage that was skipped may be gone from Spark's status store."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rtfilter.bridge.jvm import bytes_read

# Two stages of two jobs ran, one of them in both; stage 3 was skipped and is forgotten.
JOBS = {1: [1, 2, 3], 2: [2]}
BYTES = {1: 1_000, 2: 20}


class Store:
    def lastStageAttempt(self, stage: int) -> Any:
        return SimpleNamespace(inputBytes=lambda: BYTES[stage])


class Tracker:
    def getJobIdsForGroup(self, group: str) -> list[int]:
        return [1, 2, 7] if group == "mine" else []

    def getJobInfo(self, job: int) -> Any:
        return SimpleNamespace(stageIds=JOBS[job]) if job in JOBS else None

    def getStageInfo(self, stage: int) -> Any:
        return object() if stage in BYTES else None


def test_a_stage_that_spark_has_forgotten_has_read_nothing() -> None:
    bus = SimpleNamespace(waitUntilEmpty=lambda _ms: None)
    context = SimpleNamespace(listenerBus=lambda: bus, statusStore=Store)
    spark: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), statusTracker=Tracker),
    )
    assert bytes_read(spark, "mine") == 1_020
    assert bytes_read(spark, "another") == 0
