"""The query log: whole lines from many processes, in files of bounded size."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pytest

from rtfilter.errors import QueryLogError
from rtfilter.host.query_log import append_line, log_line
from tests.report.records import candidate, decision, fill, outcome, record

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WIDE = 1 << 30


def test_a_line_has_the_time_and_predicted_and_actual_figures_of_each_filter() -> None:
    rows = [{"filter": "d1.0", "rows_tested": 200, "rows_dropped": 150, "rows_passed": 50}]
    filled = fill(outcome("d1.0", rows=True, passed_expected=0.3))
    line = log_line(record([decision("d1", candidate("c", "d1.0"))], [filled], row_filters=rows), NOW)
    entry = json.loads(line)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert (entry["time"], entry["execution"]) == ("2026-01-02T03:04:05.000+00:00", 12)
    (described,) = entry["filters"]
    assert (described["decision"], described["packs_kept"], described["estimated_gain_ms"]) == ("applied", 261, 1200.0)
    assert (described["rows_seen"], described["rows_dropped"]) == (200, 150)
    assert (described["passed_expected"], described["passed_actual"]) == (0.3, 0.25)


def _write(path: str, name: str) -> None:
    for number in range(50):
        append_line(path, json.dumps({"name": name, "number": number, "padding": name * 20_000}).encode() + b"\n", WIDE)


def test_lines_of_several_processes_never_mix(tmp_path: Path) -> None:
    path = str(tmp_path / "log.jsonl")
    context = get_context("spawn")
    workers = [context.Process(target=_write, args=(path, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    entries = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert len(entries) == 150
    for name in "abc":
        assert [entry["number"] for entry in entries if entry["name"] == name] == list(range(50))


def test_a_full_file_is_kept_once_and_no_line_is_split(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for number in range(25):
        append_line(str(path), f"{number:09}\n".encode(), 100)
    assert path.read_text().split() == [f"{number:09}" for number in range(20, 25)]
    assert (tmp_path / "log.jsonl.1").read_text().split() == [f"{number:09}" for number in range(10, 20)]
    assert {each.name for each in tmp_path.iterdir()} <= {"log.jsonl", "log.jsonl.1", "log.jsonl.lock"}


def test_a_line_longer_than_a_file_gets_one_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_line(str(path), b"x" * 50 + b"\n", 10)
    assert path.stat().st_size == 51


def test_a_path_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(QueryLogError, match=r"missing.*rtfilter\.log\.path"):
        append_line(str(tmp_path / "missing" / "log.jsonl"), b"x\n", WIDE)


def test_a_line_after_half_a_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a full disk cuts off is lost; what comes once there is room is not."""
    log = tmp_path / "log.jsonl"
    whole = os.write
    append_line(str(log), b'{"a":1}\n', WIDE)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, line: whole(descriptor, line[:5]))
        with pytest.raises(QueryLogError, match="took 5 of 8 bytes"):
            append_line(str(log), b'{"b":2}\n', WIDE)
    for number in range(2):
        append_line(str(log), b'{"c":%d}\n' % number, WIDE)
    assert log.read_bytes().splitlines() == [b'{"a":1}', b'{"b":', b'{"c":0}', b'{"c":1}']
