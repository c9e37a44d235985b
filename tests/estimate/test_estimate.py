"""`rtfilter estimate` on a golden log, with the times of a larger table, and on tables that fit it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from rtfilter.advice.event_files.decompress import lines_of
from rtfilter.cli import main
from rtfilter.estimate.estimate import estimate_logs
from tests.advice.event_logs.golden_logs import golden_log

LARGER = 1_000
LEAST_LARGE = 5_000


def enlarged(event: dict[str, Any]) -> dict[str, Any]:
    """The same with a fact table so many times as large, whose scan took so many times as long."""
    for each in event.get("Task Info", {}).get("Accumulables", ()):
        number = int(each["Update"])
        if each["Name"] == "scan time" or number >= LEAST_LARGE:
            each["Update"] = str(number * LARGER)
    if event["Event"].endswith("SQLExecutionEnd"):
        event["time"] += 60_000
    return event


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """31 of 50 million rows of sales joined with 250 tools; 7.75 million come out. It took a minute."""
    file = tmp_path_factory.mktemp("log") / "app-1"
    lines = [line for line in lines_of(golden_log("spark-4.3")) if isinstance(line, bytes)]
    file.write_text("".join(f"{json.dumps(enlarged(json.loads(line)))}\n" for line in lines))
    return file


def write_tables(folder: Path, in_order: bool) -> None:
    """100 packs of sales, and items of which the tools are numbers 0 to 249."""
    items = [n * 37 % 1_000 if not in_order else n // 10 for n in range(10_000)]
    columns = {"s_item": items, "s_day": [20] * len(items), "s_price": items}
    pq.write_table(pa.table(columns), folder / "sales.parquet", row_group_size=100)
    kinds = ["tools" if n < 250 else "toys" for n in range(1_000)]
    pq.write_table(pa.table({"i_id": list(range(1_000)), "i_kind": kinds}), folder / "item.parquet")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["estimate", *map(str, arguments)])


def test_without_tables_the_range_is_wide(log: Path) -> None:
    found = estimate_logs([log], {})
    (join,) = found.joins
    assert join.ms.least == 0.0 < join.ms.most and not join.is_sure and join.packs is None
    # Three quarters of 34 s of scanning on two cores, and some joining.
    assert 12_000 < join.ms.most < 16_000
    assert (join.rows_scanned, join.rows_in, join.rows_joined) == (50_000_000, 31_000_000, 7_750_000)
    assert set(found.unreadable) == {"item"}


def test_keys_that_lie_together_make_it_narrow_and_sure(log: Path, tmp_path: Path) -> None:
    write_tables(tmp_path, in_order=True)
    found = estimate_logs([log], {"sales": str(tmp_path / "sales.parquet"), "item": str(tmp_path / "item.parquet")})
    (join,) = found.joins
    assert join.is_sure and join.is_exact and join.packs is not None
    assert (join.packs.packs, join.packs.kept) == (100, 25)
    assert join.ms.most > 12_000 and join.ms.most - join.ms.least < 0.1 * join.ms.most
    assert found.total == join.ms and join.bytes.least == join.packs.bytes - join.packs.bytes_kept > 0


def test_keys_that_are_everywhere_gain_nothing(log: Path, tmp_path: Path) -> None:
    """In a broadcast join dropped rows spare no work but the look-up."""
    write_tables(tmp_path, in_order=False)
    found = estimate_logs([log], {"sales": str(tmp_path / "sales.parquet"), "item": str(tmp_path / "item.parquet")})
    assert sum(found.refused.values()) + len(found.joins) == 1
    assert all(join.packs is not None and join.packs.kept == 100 and join.bytes.most == 0 for join in found.joins)
    assert found.total.most < 1_000


def test_of_keys_that_are_tried_half_were_there(log: Path, tmp_path: Path) -> None:
    """250 rows in the log, 500 now, of which each pack has ten: that none of these was there is not to be hoped for."""
    write_tables(tmp_path, in_order=True)
    items = pq.read_table(tmp_path / "item.parquet")
    doubled = pa.table({"i_id": items["i_id"], "i_kind": ["tools" if n < 500 else "toys" for n in range(1_000)]})
    pq.write_table(doubled, tmp_path / "item.parquet")
    (join,) = estimate_logs([log], {"sales": str(tmp_path / "sales.parquet"), "item": str(tmp_path / "item.parquet")}).joins
    assert join.packs is not None and join.packs.kept == 50 and not join.is_exact
    assert join.ms.least < join.ms.most < 1.1 * join.ms.least


def test_text_is_one_screen_that_says_what_to_do(log: Path, tmp_path: Path) -> None:
    write_tables(tmp_path, in_order=True)
    done = run(log, "--table", f"sales={tmp_path / 'sales.parquet'}", "--table", f"item={tmp_path / 'item.parquet'}")
    assert done.exit_code == 0, done.output
    assert "broadcast: sales.s_item = item.i_id" in done.output
    assert (
        "75 of 100 packs of sales hold no key of the other side" in done.output
        and 'spark.conf.set("rtfilter.enabled", True)' in done.output
    )
    assert "1 query of Spark 4.3.0" in done.output and len(done.output.splitlines()) < 30


def test_what_is_not_sure_stands_apart(log: Path) -> None:
    done = run(log)
    assert done.exit_code == 0 and "rtfilter would save up to" in done.output
    assert "Joins that may gain" in done.output and "\n1. " not in done.output
    assert "--table NAME=PATH for each table that was not read" in done.output


def test_json(log: Path) -> None:
    done = run(log, "--json")
    found = json.loads(done.stdout)
    assert found["gaining"][0]["gains"] == "maybe" and found["gaining"][0]["packs"] is None
    assert found["saved_ms"][0] == 0.0 < found["saved_ms"][1]


def test_a_log_without_gains_says_so() -> None:
    done = run(golden_log("spark-3.5.zstd"))
    assert done.exit_code == 0 and "a join of this type keeps every row of the large side" in done.output
    assert "queries that failed, or did not end" in done.output


def test_bad_input_is_one_clear_line(tmp_path: Path) -> None:
    gone = run(tmp_path / "gone")
    assert gone.exit_code == 2 and "gone: the event log can't be read: No such file or directory" in gone.output
    (tmp_path / "other").write_text('{"a": 1}\n')
    other = run(tmp_path / "other")
    assert other.exit_code == 2 and "no query with a scan of files was found" in other.output
    assert "Traceback" not in gone.output + other.output


def test_a_table_that_is_no_parquet_is_named(log: Path, tmp_path: Path) -> None:
    (tmp_path / "item.parquet").write_text("no parquet")
    done = run(log, "--table", f"item={tmp_path / 'item.parquet'}")
    assert done.exit_code == 0 and "table item:" in done.output
