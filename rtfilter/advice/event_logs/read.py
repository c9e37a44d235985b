"""Reads event logs into queries, in bounded memory; what can't be read is counted and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rtfilter.advice.event_files.decompress import CutOffError, lines_of
from rtfilter.advice.event_files.events import TOO_LONG, event_of
from rtfilter.advice.event_files.log_files import EventLog, event_logs
from rtfilter.advice.event_logs.application import Application
from rtfilter.advice.event_logs.queries import QueryFacts
from rtfilter.errors import AdviceError

# Takes a query, the application that ran it, and the name of the log.
Taker = Callable[[QueryFacts, Application, str], None]
Skip = Callable[[str, str], None]


def read_event_logs(paths: Sequence[str | Path], take: Taker, skip: Skip) -> list[str]:
    """Reads logs and hands on their queries as they end, and what was skipped with its reason and place. Returns notes.

    Raises:
        AdviceError: a path is not there or no log, or a file can't be opened.
    """
    logs, notes = event_logs(paths)
    for log in logs:
        _read(log, take, skip)
    return notes


def _read(log: EventLog, take: Taker, skip: Skip) -> None:
    application = Application()
    place = log.name
    events = 0
    for file in log.files:
        try:
            for number, line in enumerate(lines_of(file), 1):
                place = f"{file}:{number}"
                if isinstance(line, CutOffError):
                    skip(f"event logs of which only the beginning could be read: {line}", place)
                    continue
                event = event_of(line) if line is not None else TOO_LONG
                if isinstance(event, str):
                    skip(event, place)
                elif event is not None:
                    events += 1
                    _hand_on(partial(application.take, event), application, log.name, place, take, skip)
        except OSError as error:
            raise AdviceError(f"{file}: the event log can't be read: {error.strerror or error}.") from error
    _hand_on(application.rest, application, log.name, place, take, skip)
    if not events:
        skip("files without an event of a query", log.name)


def _hand_on(
    queries: Callable[[], Iterator[QueryFacts]], application: Application, log: str, place: str, take: Taker, skip: Skip
) -> None:
    found: list[QueryFacts] = []
    try:
        found.extend(queries())
    except Exception as error:  # a plan that nobody has met yet must not end the reading of a month's log
        skip(f"events that are not as Spark writes them ({type(error).__name__})", place)
    for query in found:
        take(query, application, log)
