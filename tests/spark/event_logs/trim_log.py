"""Makes a small event log out of a large one, for tests without Spark: what a reader looks at, and no path or host of this machine.

    python tests/spark/event_logs/trim_log.py LOG DATA OUT [--only NAME...]

DATA is the folder of the tables that the log was made on: it becomes /data/tables. An OUT that ends in .zstd is compressed; in the
tree it stands as text: base64 -w 120 OUT > OUT.base64.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from rtfilter.advice.event_files.decompress import lines_of
from rtfilter.advice.event_files.events import END, EXECUTOR, LOG_START, START, TASK_END, UPDATE, event_of

PLACE = "/data/tables"
KEPT = {
    START: ("Event", "executionId", "rootExecutionId", "description", "physicalPlanDescription", "sparkPlanInfo", "time"),
    UPDATE: ("Event", "executionId", "physicalPlanDescription", "sparkPlanInfo"),
    END: ("Event", "executionId", "time", "errorMessage"),
    TASK_END: ("Event", "Stage ID", "Task End Reason", "Task Info"),
}
METRICS = ("number of output rows", "scan time", "number of files read", "size of files read")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Makes a small event log out of a large one.")
    parser.add_argument("log", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="queries with these descriptions")
    options = parser.parse_args(arguments)
    lines = "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in _events(options.log, options.only))
    lines = lines.replace(str(options.data.resolve()), PLACE).replace(str(options.log.resolve().parent), "/data")
    content = lines.encode()
    options.out.write_bytes(content if options.out.suffix != ".zstd" else pa.Codec("zstd").compress(content, asbytes=True))


def _events(log: Path, only: list[str] | None) -> Iterator[dict[str, Any]]:
    kept: set[int] = set()
    wanted: set[int] = set()
    for line in lines_of(log):
        event = event_of(line) if isinstance(line, bytes) else None
        if not isinstance(event, dict):
            continue
        name = event["Event"]
        if name == START and (only is None or event["description"] in only):
            kept.add(event["executionId"])
        if "executionId" in event and event["executionId"] not in kept:
            continue
        if name in (START, UPDATE):
            event["sparkPlanInfo"] = _plan(event["sparkPlanInfo"], wanted)
        if name == UPDATE:
            event["physicalPlanDescription"] = ""
        if name == END:
            event["errorMessage"] = str(event.get("errorMessage") or "")[:30]
        if name == TASK_END and not _has_wanted(event, wanted):
            continue
        if name == EXECUTOR:
            event = {"Event": name, "Executor Info": {"Total Cores": event["Executor Info"]["Total Cores"]}}
        yield {key: value for key, value in event.items() if key in KEPT.get(name, (*event,))} if name != LOG_START else event


def _plan(node: dict[str, Any], wanted: set[int]) -> dict[str, Any]:
    metrics = [each for each in node["metrics"] if each["name"] in METRICS]
    wanted |= {each["accumulatorId"] for each in metrics}
    children = [_plan(child, wanted) for child in node["children"]]
    return {**node, "metrics": metrics, "children": children}


def _has_wanted(event: dict[str, Any], wanted: set[int]) -> bool:
    """Whether a task has counted anything that is asked for; the rest of what it says is taken out."""
    listed = event["Task Info"].get("Accumulables", [])
    found = [{key: each[key] for key in ("ID", "Name", "Update", "Value", "Metadata")} for each in listed if each["ID"] in wanted]
    event["Task Info"] = {"Accumulables": found}
    event["Task End Reason"] = {"Reason": event["Task End Reason"]["Reason"]}
    return bool(found)


if __name__ == "__main__":
    main(sys.argv[1:])
