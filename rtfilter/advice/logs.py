"""Reads logs of queries: SQL files, and lines of JSON with a statement. Line by line; what can't be read is counted and named."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from rtfilter.advice.sql_queries import fingerprint_of
from rtfilter.advice.sql_texts import NotUnderstoodError, statements
from rtfilter.advice.statistics import TableStatistics
from rtfilter.advice.workload import Calls, Exact, Fingerprint
from rtfilter.errors import AdviceError

STATEMENT_FIELDS = ("sql", "statement")
MOST_LINE_CHARACTERS = 4 << 20
# Parsed texts that are kept: a log has few different ones, or each only once.
MOST_TEXTS = 20_000
MOST_EXAMPLES = 3
OUR_OWN = "lines of rtfilter's own query log, which say nothing of conditions yet"


@dataclass(slots=True)
class Skipped:
    """Lines that did not count, for one reason, and where the first ones were."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        self.count += 1
        if len(self.places) < MOST_EXAMPLES:
            self.places.append(place)


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


class LogReader:
    """Reads logs into one `Reading`, each distinct text parsed once."""

    def __init__(self, tables: Mapping[str, TableStatistics]) -> None:
        self._tables = tables
        self._texts: dict[str, Fingerprint | NotUnderstoodError | None] = {}
        self.reading = Reading()

    def read(self, logs: Sequence[str | Path], sql: Sequence[str | Path]) -> Reading:
        """Reads JSON logs and SQL files.

        Raises:
            AdviceError: a file can't be opened.
        """
        seen: Counter[str] = Counter()
        for paths, read_one in ((logs, self._read_log), (sql, self._read_sql)):
            for path in paths:
                real = os.path.realpath(path)
                seen[real] += 1
                if seen[real] > 1:
                    self.reading.notes.append(f"{path}: given twice, read once")
                    continue
                try:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        read_one(str(path), file)
                except OSError as error:
                    raise AdviceError(f"{path}: the log can't be read: {error.strerror or error}") from error
        return self.reading

    def _read_sql(self, path: str, file: IO[str]) -> None:
        for number, text in enumerate(statements(file), 1):
            self._add(text, f"{path}, statement {number}", 1, None, None)

    def _read_log(self, path: str, file: IO[str]) -> None:
        for number, line in _lines(file):
            place = f"{path}:{number}"
            if line is None:
                self._skip(f"lines of more than {MOST_LINE_CHARACTERS} characters", place)
            elif line.strip():
                self._read_line(line, place)

    def _read_line(self, line: str, place: str) -> None:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            return self._skip("broken lines, which are no JSON", place)
        if not isinstance(content, dict):
            return self._skip("lines that are no JSON objects", place)
        text = next((content[key] for key in STATEMENT_FIELDS if isinstance(content.get(key), str)), None)
        if text is None:
            return self._skip(OUR_OWN if "filters" in content and "scans" in content else "lines without a statement", place)
        weight = _exact(content.get("weight", 1))
        entries = _exact(content.get("entries_in_filter"))
        if weight is None:
            return self._skip("lines whose weight is no number from 0 on", place)
        self._add(text, place, weight, _exact(content.get("ms")), None if entries is None else math.floor(entries))

    def _add(self, text: str, place: str, weight: Exact, ms: Exact | None, entries: int | None) -> None:
        if text in self._texts:
            found = self._texts[text]
        else:
            found = self._fingerprint(text)
            if len(self._texts) < MOST_TEXTS:
                self._texts[text] = found
        self.reading.queries += 1
        if isinstance(found, NotUnderstoodError):
            self._skip(f"not understood: {found}", place)
        elif found is None or not (found.uses or found.unknown_tables):
            self.reading.empty += 1
        else:
            self.reading.workload.setdefault(found, Calls()).add(weight, ms, entries)

    def _fingerprint(self, text: str) -> Fingerprint | NotUnderstoodError | None:
        try:
            return fingerprint_of(text.strip().rstrip(";"), self._tables)
        except NotUnderstoodError as error:
            return NotUnderstoodError(str(error))

    def _skip(self, reason: str, place: str) -> None:
        self.reading.skipped.setdefault(reason, Skipped()).add(place)


def _lines(file: IO[str]) -> Iterator[tuple[int, str | None]]:
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


def _exact(value: Any) -> Exact | None:
    """A number of a log line without rounding; None when it is none, or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value < 1e300):
        return None
    return int(value) if value == int(value) else Fraction(repr(value))
