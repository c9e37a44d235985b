"""Indexes that a table has: they are no gain once more, and those that serve nothing may go."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rtfilter.advice.trials.existing_indexes import ExistingIndex, covers
from rtfilter.cli.command import main
from rtfilter.store.sketches.kinds import Bloom, MinMax, ValueSet

ROWS, PACK = 40_000, 1_000


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    folder = tmp_path / "sales"
    folder.mkdir()
    random = np.random.default_rng(3)
    columns = {name: random.integers(0, 30_000, ROWS) for name in ("customer", "item", "price")}
    pq.write_table(pa.table(columns), folder / "0.parquet", row_group_size=PACK)
    return folder


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def items(sales: Path, sql: str) -> list[dict[str, Any]]:
    log = sales.parent / "q.sql"
    log.write_text(sql, encoding="utf-8")
    found = json.loads(run("advise", "--sql", log, "--table", f"sales={sales}", "--budget", "100%", "--json"))["items"]
    return [item for item in found if item["kind"] not in ("cluster_by", "row_index")]


def told(sales: Path, sql: str) -> list[tuple[str, str]]:
    return [(item["kind"], item.get("index", item["columns"][0])) for item in items(sales, sql)]


ASKS = "select price from sales where customer = 5; select price from sales where customer = 6 and item > 70"


def test_an_index_that_is_there_is_not_advised_again(sales: Path) -> None:
    assert told(sales, ASKS) == [("bloom", "customer")]
    run("index", "create", sales, "--name", "mine", "--bloom", "customer")
    assert told(sales, ASKS) == []


def test_what_serves_nothing_may_go(sales: Path) -> None:
    for name, option in (("a", "--bloom=customer"), ("b", "--bloom=customer"), ("c", "--bloom=price"), ("d", "--minmax=item")):
        run("index", "create", sales, "--name", name, option)
    found = {item["index"]: item for item in items(sales, ASKS)}
    # Of two that tell the same one stays.
    assert set(found) == {"b", "c", "d"} and {item["kind"] for item in found.values()} == {"drop"}
    assert "a has the same sketches" in found["b"]["reason"] and "no query" in found["c"]["reason"].lower()
    assert "rejects no row group" in found["d"]["reason"] and found["b"]["command"].endswith("delete " + f"{sales} --name b")
    assert len({item["id"] for item in found.values()}) == 3
    joined = "select price from sales join other on sales.price = other.k; " + ASKS
    assert {item["index"] for item in items(sales, joined)} == {"b", "d"}
    text = run("advise", "--sql", sales.parent / "q.sql", "--table", f"sales={sales}")
    assert "index b: a has the same sketches" in text


def test_an_index_that_does_not_know_all_files_covers_nothing(sales: Path) -> None:
    run("index", "create", sales, "--name", "old", "--bloom", "customer")
    shutil.copy(sales / "0.parquet", sales / "1.parquet")
    assert told(sales, ASKS) == [("bloom", "customer")]


def test_who_covers_whom() -> None:
    bloom, better = (ExistingIndex("i", (Bloom("a", fpp),), True, 1) for fpp in (0.05, 0.01))
    assert covers(better, bloom) and not covers(bloom, better)
    sets = [
        ExistingIndex("i", (ValueSet("a", most), MinMax("a")), whole, 1) for most, whole in ((9, True), (99, True), (99, False))
    ]
    assert covers(sets[1], sets[0]) and not covers(sets[0], sets[1]) and not covers(sets[2], sets[0])
    assert not covers(sets[1], ExistingIndex("i", (MinMax("b"),), True, 1))
