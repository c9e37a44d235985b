"""Events that are not as they should be: counted and named, never raised."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rtfilter.advice.event_files.decompress import lines_of
from rtfilter.advice.event_logs.queries import QueryFacts
from rtfilter.advice.event_logs.read import read_event_logs
from tests.advice.event_logs.golden_logs import golden_log

GOLDEN = [line for line in lines_of(golden_log("spark-4.3")) if isinstance(line, bytes)]


def read(file: Path) -> tuple[list[QueryFacts], list[tuple[str, str]]]:
    found: list[QueryFacts] = []
    skipped: list[tuple[str, str]] = []
    read_event_logs([file], lambda query, _, place: found.append(query), lambda *why: skipped.append(why))
    return found, skipped


def written(file: Path, lines: list[bytes]) -> Path:
    file.write_bytes(b"\n".join(lines) + b"\n")
    return file


def test_the_whole_log(tmp_path: Path) -> None:
    (query,), skipped = read(written(tmp_path / "log", GOLDEN))
    assert query.description == "broadcast" and query.ms is not None and not skipped


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"no json", "broken lines"),
        (b'{"Event":"SparkListenerTaskEnd","Task Info":{"Accum', "broken lines"),
        (b'{"Event":"SparkListenerJobStart","Job ID":3,"Subm', "broken lines"),
        (b"[1, 2]", "no events of Spark"),
        (b'{"sql": "select 1"}', "no events of Spark"),
        (b'{"Event":"SparkListenerTaskEnd","a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "nested too deeply"),
    ],
)
def test_a_broken_line_is_named_with_its_place(tmp_path: Path, line: bytes, reason: str) -> None:
    found, skipped = read(written(tmp_path / "log", [*GOLDEN[:3], line, *GOLDEN[3:]]))
    assert len(found) == 1 and len(skipped) == 1
    assert reason in skipped[0][0] and skipped[0][1] == f"{tmp_path / 'log'}:4"


def test_a_log_that_a_kill_has_cut_gives_the_query_without_its_end(tmp_path: Path) -> None:
    found, skipped = read(written(tmp_path / "log.inprogress", [*GOLDEN[:-1], GOLDEN[-1][:40]]))
    assert len(found) == 1 and found[0].ms is None and found[0].partial == ("its end is not in the log",)
    assert found[0].joins[0].rows == 7_750 and "broken" in skipped[0][0]


def test_a_file_without_events_is_named(tmp_path: Path) -> None:
    found, skipped = read(written(tmp_path / "log", [b'{"a": 1}']))
    assert not found and skipped[-1] == ("files without an event of a query", str(tmp_path / "log"))


def mutated(value: Any, chance: random.Random, share: float) -> Any:
    """The same with a share of all its values replaced by something else."""
    if chance.random() < share:
        return chance.choice([None, -1, 10**30, 1.5, "", "x#1L, [", [], [None], {}, {"a": []}, True])
    if isinstance(value, dict):
        return {key: mutated(each, chance, share) for key, each in value.items() if chance.random() >= share / 2}
    if isinstance(value, list):
        return [mutated(each, chance, share) for each in value]
    return value


@pytest.mark.parametrize("seed", range(60))
def test_events_with_other_values_are_never_raised(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lines = []
    for line in GOLDEN:
        event = json.loads(line)
        # The name stays, so that the rest is looked at.
        lines.append(
            json.dumps({"Event": event.pop("Event"), **{key: mutated(each, chance, 0.02) for key, each in event.items()}}).encode()
        )
    found, skipped = read(written(tmp_path / "log", lines))
    assert len(found) <= 1
    assert not [why for why, _ in skipped if "not as Spark writes them" in why], skipped
