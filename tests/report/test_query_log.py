"""The query log: whole lines from many processes, in files of bounded size."""

from __future__ import annotations

import json
import os
import re
import stat
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pytest

from rtfilter.errors import QueryLogError
from rtfilter.host.query_log import LOCK_SUFFIX, ROTATED_SUFFIX, append_line, log_line
from tests.feedback.strange_files import STRANGE, make_strange, state_of
from tests.report.records import candidate, decision, fill, outcome, record

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
WIDE = 1 << 30


def line_of(**entries: object) -> bytes:
    known = {"time": "2026-01-02T03:04:05.000+00:00", "query": "#433911c6eb0d"}
    return json.dumps({**known, **entries}, separators=(",", ":")).encode() + b"\n"


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["n"] for line in path.read_text().splitlines()]


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
        append_line(path, line_of(name=name, number=number, padding=name * 20_000), WIDE)


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
        append_line(str(path), line_of(n=number + 100), 10 * len(line_of(n=100)))
    assert numbers(path) == [number + 100 for number in range(20, 25)]
    assert numbers(tmp_path / "log.jsonl.1") == [number + 100 for number in range(10, 20)]
    assert {each.name for each in tmp_path.iterdir()} <= {"log.jsonl", "log.jsonl.1", "log.jsonl.lock"}


def test_a_line_longer_than_a_file_gets_one_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_line(str(path), line_of(n=1), 10)
    assert numbers(path) == [1]


def test_a_log_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    append_line(str(path), line_of(n=1), WIDE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("most_bytes", [WIDE, 10])
@pytest.mark.parametrize("strange", STRANGE)
def test_what_is_no_log_of_ours_is_left_as_it_is(tmp_path: Path, strange: str, most_bytes: int) -> None:
    path = tmp_path / "log.jsonl"
    make_strange(path, strange)
    before = state_of(tmp_path)
    with pytest.raises(QueryLogError, match=r"log\.jsonl can't be written: .*rtfilter\.log\.path"):
        append_line(str(path), line_of(n=1), most_bytes)
    assert state_of(tmp_path) == before


@pytest.mark.parametrize("suffix", [ROTATED_SUFFIX, LOCK_SUFFIX])
@pytest.mark.parametrize("strange", STRANGE)
def test_no_full_log_takes_the_place_of_what_is_not_ours(tmp_path: Path, strange: str, suffix: str) -> None:
    path = tmp_path / "log.jsonl"
    append_line(str(path), line_of(n=1), WIDE)
    make_strange(tmp_path / f"log.jsonl{suffix}", strange)
    before = state_of(tmp_path)
    with pytest.raises(QueryLogError, match=re.escape(suffix)):
        append_line(str(path), line_of(n=2), 10)
    assert state_of(tmp_path) == before


def test_a_path_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(QueryLogError, match=r"missing.*rtfilter\.log\.path"):
        append_line(str(tmp_path / "missing" / "log.jsonl"), b"x\n", WIDE)


def test_a_line_after_half_a_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a full disk cuts off is lost; what comes once there is room is not."""
    log = tmp_path / "log.jsonl"
    whole = os.write
    append_line(str(log), line_of(n=1), WIDE)
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda descriptor, line: whole(descriptor, line[:5]))
        with pytest.raises(QueryLogError, match=r"took 5 of \d+ bytes"):
            append_line(str(log), line_of(n=2), WIDE)
    for number in range(2):
        append_line(str(log), line_of(n=number + 3), WIDE)
    assert log.read_bytes().splitlines() == [line_of(n=1)[:-1], line_of(n=2)[:5], line_of(n=3)[:-1], line_of(n=4)[:-1]]
