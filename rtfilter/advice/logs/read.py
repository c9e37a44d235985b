"""Reads logs of queries: SQL files, lines of JSON with a statement, our own query log. Line by line; what can't be read is counted
and named."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from rtfilter.advice.logs.lines import LogLine, Reading, log_lines
from rtfilter.advice.logs.own_lines import OwnLines
from rtfilter.advice.logs.sql_texts import NotUnderstoodError, statements
from rtfilter.advice.statistics.tables import TableStatistics
from rtfilter.advice.workload.fingerprints import Calls, Exact, Fingerprint
from rtfilter.errors import AdviceError

# Parsed texts that are kept: a log has few different ones, or each only once.
MOST_TEXTS = 20_000


class LogReader:
    """Reads logs into one `Reading`, each distinct text parsed once."""

    def __init__(self, tables: Mapping[str, TableStatistics], accepts: Callable[[str], bool] | None = None) -> None:
        self._tables, self._accepts = tables, accepts
        self._texts: dict[str, Fingerprint | NotUnderstoodError | None] = {}
        self._own = OwnLines(tables)
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
        for number, line in log_lines(file):
            place = f"{path}:{number}"
            if isinstance(line, str):
                self.reading.skip(line, place)
            elif line.own is not None:
                self._add_own(line, place)
            elif line.statement is None:
                self.reading.skip("lines without a statement", place)
            else:
                self._add(line.statement, place, line.weight, line.ms, line.entries, line.day)

    def _add_own(self, line: LogLine, place: str) -> None:
        found = self._own.query(line.own or {})
        if isinstance(found, str):
            self.reading.skip(found, place)
            return
        self.reading.queries += 1
        shape = found.shape
        if not (shape.fingerprint.uses or shape.fingerprint.unknown_tables):
            self.reading.empty += 1
            return
        if shape.calls is None:
            shape.calls = self.reading.workload.setdefault(shape.fingerprint, Calls())
        calls = shape.calls
        calls.add(line.weight, line.ms, None, found.sample, line.day)
        for each in found.joined:
            calls.add_joined(each.table, each.key, each.kept, each.total, each.keys)

    def _add(self, text: str, place: str, weight: Exact, ms: Exact | None, entries: int | None, day: int | None = None) -> None:
        if text in self._texts:
            found = self._texts[text]
        else:
            found = self._fingerprint(text)
            if len(self._texts) < MOST_TEXTS:
                self._texts[text] = found
        self.reading.queries += 1
        if isinstance(found, NotUnderstoodError):
            self.reading.skip(f"not understood: {found}", place)
        elif found is None or not (found.uses or found.unknown_tables):
            self.reading.empty += 1
        else:
            self.reading.workload.setdefault(found, Calls()).add(weight, ms, entries, found.literals, day)

    def _fingerprint(self, text: str) -> Fingerprint | NotUnderstoodError | None:
        try:
            from rtfilter.advice.logs.sql_queries import fingerprint_of
        except ModuleNotFoundError as error:
            raise AdviceError("SQL is read with sqlglot, which is not installed: pip install 'rtfilter[advise]'.") from error
        try:
            if self._accepts is not None and not self._accepts(text.strip().rstrip(";")):
                return NotUnderstoodError("Spark's parser refuses it")
            return fingerprint_of(text.strip().rstrip(";"), self._tables)
        except NotUnderstoodError as error:
            return NotUnderstoodError(str(error))
        except Exception as error:  # a tree of sqlglot that nobody has met yet must not end the reading of a month's log
            return NotUnderstoodError(f"{type(error).__name__} while it was read")
