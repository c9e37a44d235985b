"""Single events of a log, as far as SQL queries go: everything else is passed over before its JSON is read."""

from __future__ import annotations

import json
from typing import Any

_SQL = "org.apache.spark.sql.execution.ui.SparkListener"
START, UPDATE, END = f"{_SQL}SQLExecutionStart", f"{_SQL}SQLAdaptiveExecutionUpdate", f"{_SQL}SQLExecutionEnd"
TASK_END, LOG_START = "SparkListenerTaskEnd", "SparkListenerLogStart"
EXECUTOR, EXECUTOR_GONE = "SparkListenerExecutorAdded", "SparkListenerExecutorRemoved"
DRIVER_UPDATES = f"{_SQL}DriverAccumUpdates"
WANTED = frozenset((START, UPDATE, END, TASK_END, LOG_START, EXECUTOR, EXECUTOR_GONE, DRIVER_UPDATES))
BROKEN = "broken lines, which are no JSON"
NO_EVENT = "lines that are no events of Spark"
TOO_DEEP = "events with plans that are nested too deeply"
TOO_LONG = "lines that are too long"
_BEGIN = b'{"Event":"'


def event_of(line: bytes) -> dict[str, Any] | str | None:
    """An event that is wanted; None for another one, a text for a line that is none: why."""
    if line.startswith(_BEGIN):
        # Spark writes the name first. A line that ends as an object does is taken for whole without a look inside.
        end = line.find(b'"', len(_BEGIN))
        name = line[len(_BEGIN) : end].decode("utf-8", "replace")
        if end > 0 and name not in WANTED:
            return None if line.rstrip().endswith(b"}") else BROKEN
    elif not line.strip():
        return None
    try:
        event = json.loads(line)
    except RecursionError:
        return TOO_DEEP
    except ValueError:
        return BROKEN
    if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
        return NO_EVENT
    return event if event["Event"] in WANTED else None


def whole_number(value: Any) -> int | None:
    """A whole number of JSON, also one that is written as text, as accumulators are."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdecimal() and len(digits) <= 19 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
