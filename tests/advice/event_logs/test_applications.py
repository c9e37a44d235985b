"""What an application had: its version, and the most cores at a time."""

from __future__ import annotations

from typing import Any

from rtfilter.advice.event_files.events import EXECUTOR, EXECUTOR_GONE, LOG_START
from rtfilter.advice.event_logs.application import Application


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
