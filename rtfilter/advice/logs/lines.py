"""Lines of a JSON log, one at a time, each checked; what can't be used has a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import IO, Any

from rtfilter.advice.workload.fingerprints import Calls, Exact, Fingerprint
from rtfilter.version import LOG_VERSION

STATEMENT_FIELDS = ("sql", "statement")
MOST_LINE_CHARACTERS = 4 << 20
MOST_EXAMPLES = 3
_FIRST_DAY = date(1970, 1, 1).toordinal()
OLD = "lines of rtfilter's own query log of before it told conditions"
AGAIN = "queries whose rows were there from an earlier run of the same frame"
FAILED = "queries that failed or were cancelled"
NEWER = "lines of rtfilter's query log of another version than this rtfilter knows"


@dataclass(slots=True)
class Skipped:
    """Lines that did not count, for one reason, and where the first ones were."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        self.count += 1
        if len(self.places) < MOST_EXAMPLES:
            self.places.append(place)


def told(skipped: dict[str, Skipped]) -> dict[str, dict[str, Any]]:
    """What was skipped, as JSON has it."""
    return {reason: {"count": each.count, "first": each.places} for reason, each in sorted(skipped.items())}


@dataclass(slots=True)
class Reading:
    """What logs gave: the fingerprints, the number of queries read, and by reason what was skipped.

    `empty`: statements that read no table by a query.
    """

    workload: dict[Fingerprint, Calls] = field(default_factory=dict)
    queries: int = 0
    empty: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def skip(self, reason: str, place: str) -> None:
        self.skipped.setdefault(reason, Skipped()).add(place)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A query of a log. `statement` is None where the line has none; numbers are None where they are unknown. `own`: what a line of
    our own query log has. `day`: counted from 1970, of the line's `time`."""

    statement: str | None
    weight: Exact
    ms: Exact | None
    entries: int | None
    entries_after: int | None
    own: dict[str, Any] | None = None
    day: int | None = None


def log_lines(file: IO[str]) -> Iterator[tuple[int, LogLine | str]]:
    """The lines that are not empty, with their numbers; a text is the reason why one does not count."""
    for number, line in _numbered(file):
        if line is None:
            yield number, f"lines of more than {MOST_LINE_CHARACTERS} characters"
        elif line.strip():
            yield number, _read(line)


def _read(line: str) -> LogLine | str:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return "broken lines, which are no JSON"
    if not isinstance(content, dict):
        return "lines that are no JSON objects"
    text = next((content[key] for key in STATEMENT_FIELDS if isinstance(content.get(key), str)), None)
    if text is None and "filters" in content and "scans" in content:
        return _own(content)
    weight = exact_number(content.get("weight", 1))
    if weight is None:
        return "lines whose weight is no number from 0 on"
    return LogLine(
        statement=text,
        weight=weight,
        ms=exact_number(content.get("ms")),
        entries=_whole(content.get("entries_in_filter")),
        entries_after=_whole(content.get("entries_post_filter")),
        day=day_of(content.get("time")),
    )


def _own(content: dict[str, Any]) -> LogLine | str:
    version = content.get("version", 1)
    if version != LOG_VERSION:
        return OLD if version == 1 else NEWER
    if content.get("failed") or content.get("again"):
        return FAILED if content.get("failed") else AGAIN
    ms = content.get("ms")
    # The log has tenths. Of two whole numbers a fraction is made faster than of a text.
    tenths = Fraction(round(ms * 10), 10) if isinstance(ms, float) and 0 <= ms < 1e12 else exact_number(ms)
    return LogLine(None, 1, tenths, None, None, content, day_of(content.get("time")))


def day_of(time: Any) -> int | None:
    """The day of a time as ISO 8601 has it, or in seconds or milliseconds since 1970; None of anything else."""
    try:
        if isinstance(time, str):
            return datetime.fromisoformat(time.strip()).toordinal() - _FIRST_DAY
        seconds = exact_number(time)
        if seconds is None:
            return None
        # Seconds of the year 5138 are milliseconds of 1973.
        return math.floor(seconds / (86_400 if seconds < 100_000_000_000 else 86_400_000))
    except (ValueError, OverflowError):
        return None


def exact_number(value: Any) -> Exact | None:
    """A number of JSON without rounding; None when it is none, or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value < 1e300):
        return None
    return int(value) if value == int(value) else Fraction(repr(value))


def _whole(value: Any) -> int | None:
    number = exact_number(value)
    return None if number is None else math.floor(number)


def _numbered(file: IO[str]) -> Iterator[tuple[int, str | None]]:
    """Numbered lines; None for one that is too long, which is read over in pieces."""
    number = 0
    while line := file.readline(MOST_LINE_CHARACTERS + 1):
        number += 1
        if len(line) <= MOST_LINE_CHARACTERS or line.endswith("\n"):
            yield number, line
            continue
        while line and not line.endswith("\n"):
            line = file.readline(MOST_LINE_CHARACTERS)
        yield number, None
