"""What is finished of a benchmark, kept beside its result while it runs, so that a run that was killed can go on."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.run.interleaved import Failure, Measurement, Outcome
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError

FILE = "unfinished-{}.jsonl"


class Checkpoint:
    """A file with a line for each finished query of one benchmark, whose digest is in its name; half a line counts for nothing.

    Use `finish` at the end: a finished benchmark leaves none."""

    def __init__(self, directory: Path, benchmark: Mapping[str, Any]) -> None:
        self._digest = _digest(benchmark)
        self._file = directory / FILE.format(self._digest[:12])

    def finished(self, queries: Sequence[Query]) -> dict[str, Outcome]:
        """The outcomes by query id of those queries that an earlier process finished, with the same text."""
        by_id = {query.id: query for query in queries}
        found: dict[str, Outcome] = {}
        for line in self._lines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                query = by_id.get(entry["query_id"])
                if query is not None and entry["digest"] == self._digest_of(query):
                    found[query.id] = _outcome(entry, query)
        return found

    def add(self, outcome: Outcome, query: Query) -> None:
        """Keeps the outcome of one query.

        Raises:
            BenchError: it cannot be written.
        """
        entry = {"digest": self._digest_of(query), **_entry(outcome)}
        try:
            whole = b"" if not self._file.exists() or self._file.read_bytes().endswith(b"\n") else b"\n"
            with self._file.open("ab") as file:
                file.write(whole + json.dumps(entry, default=str).encode() + b"\n")
        except OSError as error:
            raise BenchError(
                f"{self._file} cannot be written: {error.strerror or error}. Name another directory with --out."
            ) from error

    def finish(self) -> None:
        """The benchmark is done and its result written."""
        self._file.unlink(missing_ok=True)

    def _lines(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _digest_of(self, query: Query) -> str:
        return _digest([self._digest, query.spark_sql, query.duckdb_sql])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _entry(outcome: Outcome) -> dict[str, Any]:
    measured = [
        {**{field.name: getattr(m, field.name) for field in fields(m) if field.name != "query"}, "last": asdict(m.last)}
        for m in outcome.measurements
    ]
    return {"query_id": outcome.query_id, "measurements": measured, "failures": [asdict(failure) for failure in outcome.failures]}


def _outcome(entry: Mapping[str, Any], query: Query) -> Outcome:
    measured = tuple(
        Measurement(**{**kept, "query": query, "ms": tuple(kept["ms"]), "last": Execution(**kept["last"])})
        for kept in entry["measurements"]
    )
    return Outcome(query.id, measured, tuple(Failure(**failure) for failure in entry["failures"]))
