"""`rtfilter advise --check`: whether indexes have paid, by the query log from before and after."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtfilter.index import Index
from rtfilter.store.sketches.kinds import Bloom
from tests.advice.test_advise import run, written


def line(began_s: float, ms: float, table: Path, column: str = "customer", **scan: Any) -> dict[str, Any]:
    end = datetime.fromtimestamp(began_s + ms / 1000, UTC).isoformat(timespec="milliseconds")
    asked = {
        **{"table": "sales", "path": f"file:{table}", "predicate": {"column": column, "op": "=", "values": 1}, "partitions": None},
        **{"joins": [], "group_keys": [], "aggregates": [], "rows": True, "columns": [column], "partial": False, "literals": "#1"},
    }
    shape = {"digest": column, "partial": False, "limit": None, "scans": [asked | scan]}
    common = {"query": "#0", "filters": [], "scans": [], "version": 2, "failed": False, "again": False}
    return {**common, "time": end, "ms": ms, "shape": shape}


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    (tmp_path / "sales").mkdir()
    r = np.random.default_rng(1)
    columns = {"customer": r.integers(0, 9_000, 20_000), "item": r.integers(0, 9_000, 20_000)}
    pq.write_table(pa.table(columns), tmp_path / "sales" / "a.parquet", row_group_size=1_000)
    return tmp_path / "sales"


def checked(log: Path, sales: Path) -> Any:
    done = run("advise", "--check", "--log", log, "--table", f"sales={sales}", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_calls_before_and_since_are_compared(sales: Path, tmp_path: Path) -> None:
    before = time.time() - 60
    Index.create(None, str(sales), [Bloom("customer")], name="advised_bloom_customer")
    Index.create(None, str(sales), [Bloom("item")], name="advised_bloom_item")
    since = time.time() + 5
    lines: list[Any] = [line(before, 400, sales), line(before, 600, sales), line(before, 100, sales, "item")]
    lines += [line(since, 100 + number, sales, packs_kept=2, packs_total=20) for number in range(4)]
    lines += [line(since, 130, sales, "item"), {**line(since, 1, sales), "time": "soon"}, {"sql": "select 1"}]
    found = checked(written(tmp_path / "log.jsonl", lines), sales)
    customer, item = found["indexes"]
    assert (customer["index"], customer["columns"]) == ("advised_bloom_customer", ["customer"])
    assert customer["saved_ms"] == 4 * 500 - 406 and customer["verdict"].startswith("has paid: the queries take 80% less")
    (query,) = customer["queries"]
    assert (query["calls_before"], query["ms_before"], query["calls_since"], query["ms_since"]) == (2, 500, 4, 101.5)
    assert query["packs_kept"] == 0.1
    assert item["saved_ms"] == -30 and item["verdict"] == "has not paid: the queries take 30% more"
    assert {why: each["count"] for why, each in found["skipped"].items()} == {
        "lines without a time": 1,
        "lines that are not of rtfilter's own query log": 1,
    }
    text = run("advise", "--check", "--log", tmp_path / "log.jsonl", "--table", f"sales={sales}").output
    assert "500 ms in 2 calls before, 102 ms in 4 since, keeps 10.0% of the row groups" in text


def test_what_can_not_be_compared_is_said(sales: Path, tmp_path: Path) -> None:
    Index.create(None, str(sales), [Bloom("customer")], name="new")
    only_before = written(tmp_path / "before.jsonl", [line(time.time() - 60, 10, sales)])
    assert checked(only_before, sales)["indexes"][0]["verdict"] == "not asked since it is there"
    only_since = written(tmp_path / "since.jsonl", [line(time.time() + 5, 10, sales)])
    assert checked(only_since, sales)["indexes"][0]["verdict"] == "no calls from before to compare with"


def test_bad_input(sales: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [])
    for arguments, text in (
        (("--log", log, "--table", f"sales={sales}"), "has an index to check"),
        (("--table", f"sales={sales}"), "--log"),
        (("--log", tmp_path / "gone", "--table", f"sales={sales}"), "gone"),
        (("--log", log, "--table", f"sales={sales}", "--apply", "1"), "--apply"),
    ):
        if "gone" in text:
            Index.create(None, str(sales), [Bloom("customer")], name="new")
        done = run("advise", "--check", *arguments)
        assert done.exit_code == 2 and text in done.output, done.output
