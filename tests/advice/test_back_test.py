"""Logs with times: how long they are, what they advise of one half for the other, and what refreshing takes away."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rtfilter.advice.logs.lines import day_of
from rtfilter.advice.workload.fingerprints import Calls, Fingerprint, TableUse
from rtfilter.advice.workload.halves import halves
from rtfilter.advice.workload.literals import Literals
from rtfilter.cli.command import main

ROWS, PACK, FILES = 40_000, 500, 4
DAY_S = 86_400


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    folder = tmp_path / "sales"
    folder.mkdir()
    random_ = np.random.default_rng(3)
    columns = {name: random_.integers(0, 30_000, ROWS) for name in ("customer", "item", "price")}
    for part in range(FILES):
        table = pa.table(columns).slice(part * ROWS // FILES, ROWS // FILES)
        pq.write_table(table, folder / f"{part}.parquet", row_group_size=PACK)
    return folder


def advised(sales: Path, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    log = sales.parent / "q.jsonl"
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = ["advise", "--log", str(log), "--table", f"sales={sales}", "--budget", "100%", "--json"]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def line(column: str, value: int, day: int | None, ms: int = 100) -> dict[str, Any]:
    time = {} if day is None else {"time": f"2026-03-{day + 1:02d}T10:00:00Z"}
    return {"sql": f"select price from sales where {column} = {value}", "ms": ms, **time}


def indexes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["kind"], item["columns"][0]) for item in found["items"] if item["kind"] not in ("cluster_by", "row_index")]


def test_what_a_month_advises_is_judged_on_its_second_half(sales: Path) -> None:
    same = [line("customer", 7 * day, day) for day in range(30)]
    found = advised(sales, same)
    test = found["back_test"]
    assert found["read"]["days"] == 30 and test["by"] == "time" and test["calls"] == [15, 15] and test["indexes"] == 1
    assert 0.9 < test["promised"] <= 1 and test["found"] == pytest.approx(test["promised"], abs=0.05) == test["possible"]
    (item,) = (item for item in found["items"] if item["kind"] == "bloom")
    assert item["gain_ms_per_day"] == pytest.approx(item["gain_ms"] / 30, abs=0.1)
    # From the middle of the month on they ask for something else.
    turned = [line("customer" if day < 15 else "item", 7 * day, day) for day in range(30)]
    test = advised(sales, turned)["back_test"]
    assert test["promised"] > 0.9 and test["found"] == 0 and test["possible"] > 0.9


def test_without_times_literals_cut_the_log(sales: Path) -> None:
    lines = [line("customer", 7 * i, None) for i in range(30)]
    found = advised(sales, lines)
    assert found["back_test"]["by"] == "digest" and sum(found["back_test"]["calls"]) == pytest.approx(30)
    assert "days" not in found["read"] and found["items"][0]["gain_ms_per_day"] is None
    random.Random(3).shuffle(lines)
    assert advised(sales, lines) == found
    assert "back_test" not in advised(sales, lines[:19])


def test_refreshing_takes_time_away(sales: Path) -> None:
    lines = [line("customer", 7 * day, day, ms=1) for day in range(30)]
    for part in range(FILES):
        os.utime(sales / f"{part}.parquet", (part * 2 * DAY_S, part * 2 * DAY_S))
    slow = advised(sales, [{**each, "ms": 1_000} for each in lines])
    (item,) = (item for item in slow["items"] if item["kind"] == "bloom")
    grown = sum((sales / f"{part}.parquet").stat().st_size for part in range(1, FILES)) / 1e9 / 6
    upkeep = 1_000 * item["refresh"] * grown * 30
    assert item["gain_ms"] == pytest.approx(30_000 * (1 - item["kept"][0]["after"]) - upkeep, rel=0.05)
    assert 0 < item["gain_low"] <= item["gain_ms"] <= item["gain_high"] and "Refreshing takes" in item["reason"]
    # The same queries, so short that an index would cost more than it saves.
    assert indexes(advised(sales, lines)) == []


@pytest.mark.parametrize(
    ("time", "day"),
    [
        ("1970-01-02T03:00:00Z", 1),
        ("1970-01-03", 2),
        (86_400, 1),
        (86_400_000 * 20_000, 20_000),
        (1.5 * 86_400, 1),
        ("soon", None),
        (None, None),
        (-1, None),
        (True, None),
    ],
)
def test_days_of_times(time: Any, day: int | None) -> None:
    assert day_of(time) == day


def test_halves_are_all_of_the_log() -> None:
    fingerprints = [Fingerprint((TableUse(name),)) for name in "ab"]
    workload = {each: Calls() for each in fingerprints}
    for i in range(40):
        sample = ((Literals((i,)),),) if i % 2 else ()
        workload[fingerprints[i % 2]].add(1 + i % 3, i, None, sample)
    cut = halves(workload)
    assert cut is not None and cut.by == "digest"
    for fingerprint in fingerprints:
        parts = [half[fingerprint] for half in (cut.first, cut.second)]
        assert sum(part.weight for part in parts) == workload[fingerprint].weight
        assert sum(part.ms for part in parts) == workload[fingerprint].ms
        assert {**parts[0].samples, **parts[1].samples} == workload[fingerprint].samples
    assert halves({fingerprints[0]: Calls()}) is None
