"""What an application had: its version, and the most cores at a time."""

from __future__ import annotations

import json
from typing import Any

from rtfilter.advice.event_files.decompress import lines_of
from rtfilter.advice.event_files.events import EXECUTOR, EXECUTOR_GONE, LOG_START
from rtfilter.advice.event_logs.application import MOST_WAITING, Application
from rtfilter.advice.event_logs.queries import QueryFacts
from tests.advice.event_logs.golden_logs import golden_log

GOLDEN = [line for line in lines_of(golden_log("spark-4.3")) if isinstance(line, bytes)]


def added(name: str, cores: Any) -> dict[str, Any]:
    return {"Event": EXECUTOR, "Executor ID": name, "Executor Info": {"Total Cores": cores}}


def test_cores_are_the_most_that_were_there_together() -> None:
    application = Application()
    gone = {"Event": EXECUTOR_GONE, "Executor ID": "1"}
    for event in (added("1", 4), added("2", 4), gone, added("3", 4), added("3", 4), added("4", "many"), {"Event": EXECUTOR}):
        assert list(application.take(event)) == []
    assert application.cores == 8


def test_the_version_is_what_the_log_begins_with() -> None:
    application = Application()
    assert application.version is None
    list(application.take({"Event": LOG_START, "Spark Version": "3.5.9"}))
    assert application.version == "3.5.9"


def run(application: Application, number: int) -> list[QueryFacts]:
    """One query of 1,000 rows from its start to its end, as the golden log has it."""
    found: list[QueryFacts] = []
    for line in GOLDEN:
        event = json.loads(line.replace(b'"executionId":13', f'"executionId":{number}'.encode()))
        if "rootExecutionId" in event:
            event["rootExecutionId"] = number
        found += application.take(event)
    return found


def test_queries_that_have_ended_are_forgotten_after_a_while() -> None:
    application = Application()
    told = [query for number in range(MOST_WAITING + 50) for query in run(application, number)]
    assert len(told) == 50 and len(application._running) == MOST_WAITING
    assert len(list(application.rest())) == MOST_WAITING
    assert not application._running and not application._values
