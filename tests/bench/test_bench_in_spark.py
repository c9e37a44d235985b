"""`rtfilter bench` with Spark, in a process of its own: its Spark session must not be another test's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("duckdb")

# The suite is registered here, so that the test also runs where the project is not installed.
COMMAND = """
from importlib.metadata import EntryPoint
from rtfilter.bench.suites import suite
from rtfilter.cli import main
suite.entry_points = lambda group: [EntryPoint("imci-micro", "tpcds.imci_micro:SUITE", group)]
main()
"""


@pytest.mark.jvm
def test_bench_compares_the_modes_and_reads_fewer_packs_with_the_layer_on(tmp_path: Path) -> None:
    arguments = ["bench", "--suite", "imci-micro", "--sf", "0.01", "--queries", "attr p=0.01", "--runs", "1"]
    arguments += [
        "--modes",
        "off,rtfilter,duckdb",
        "--master",
        "local[2]",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
    ]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "attr p=0.01" in done.stdout and "warm-up" not in done.stdout
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert content["summary"]["mismatches"] == 0
    entries = {(entry["id"], entry["mode"]): entry for entry in content["queries"]}
    off, on = entries["attr p=0.01", "off"], entries["attr p=0.01", "rtfilter"]
    assert off["rows"] == on["rows"] == 1
    assert off["scan_rows"] == 23_490 + 180
    assert off["packs_total"] is None and off["filters"] == []
    assert on["packs_total"] == 5873 and 0 < on["packs_kept"] < 600
    assert on["scan_rows"] < off["scan_rows"] / 4
    assert off["bytes_read"] > 0 and on["bytes_read"] > 0
    assert [candidate["decision"] for candidate in on["filters"]] == ["applied"]
    assert entries["attr p=0.01", "duckdb"]["bytes_read"] is None
