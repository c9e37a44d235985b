"""`rtfilter advise --event-log`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rtfilter.cli import main
from tests.advice.event_logs.golden_logs import golden_log


@pytest.fixture
def item(tmp_path: Path) -> Path:
    """A table of the columns that the log's queries ask for, in no order."""
    numbers = list(range(20_000))
    columns = {
        "i_id": numbers,
        "i_kind": ["toys", "tools"] * 10_000,
        "i_size": [n * 7_919 % 9_973 for n in numbers],
        "i_code": [f"x{n}" for n in numbers],
    }
    pq.write_table(pa.table(columns), tmp_path / "item.parquet", row_group_size=500)
    return tmp_path / "item.parquet"


def test_advice_for_an_event_log_needs_no_sqlglot(item: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    done = CliRunner().invoke(
        main, ["advise", "--event-log", str(golden_log("spark-3.5.zstd")), "--table", f"item={item}", "--json"]
    )
    assert done.exit_code == 0, done.output
    advice = json.loads(done.output)
    assert advice["items"] and all(each["columns"] == ["i_size"] for each in advice["items"])
    assert advice["items"][0]["gain_ms"] > 0
    assert advice["read"]["skipped"]["queries that ended in an error"]["count"] == 1


def test_what_is_no_event_log_is_a_clear_line(item: Path, tmp_path: Path) -> None:
    gone = CliRunner().invoke(main, ["advise", "--event-log", str(tmp_path / "gone"), "--table", f"item={item}"])
    assert gone.exit_code != 0 and "gone: the event log can't be read: No such file or directory" in gone.output
    other = CliRunner().invoke(main, ["advise", "--event-log", str(item), "--table", f"item={item}"])
    assert other.exit_code == 0 and "files without an event of a query" in other.output
