"""result.json as the contract shows it, and report.html as one file for every screen."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.figures.result import Result, Settings, as_json, require_writable, write_text_atomically
from rtfilter.bench.pages.report_page import render_report
from rtfilter.bench.pages.result_table import result_table
from rtfilter.bench.run.interleaved import run_query
from rtfilter.bench.suites.suite import Query
from rtfilter.errors import BenchError
from tpcds.imci_micro import imci_queries

MODES = ("off", "rtfilter", "duckdb")
MS = {"off": 100.0, "spark": 40.0, "rtfilter": 40.0, "duckdb": 10.0}
FILTER = {"id": "d1.0", "kind": "set", "build": "item.i_item_sk", "probe": "inventory.inv_item_sk", "decision": "applied"}
MACHINE: dict[str, int | str | None] = {"cpus": 2, "memory_gb": 23, "spark": "4.3.0", "java": "17.0.15", "rtfilter": "0.1.0"}


class Steady:
    """An engine with one time, and a wrong answer for one query if so told."""

    def __init__(self, mode: str, wrong: str = "") -> None:
        self.mode, self.wrong = mode, wrong

    def run(self, query: Query, count_bytes: bool = False) -> Execution:
        rows: list[tuple[object, ...]] = [(8 if query.id == self.wrong else 7,)]
        if self.mode == "duckdb":
            return Execution(MS[self.mode], rows)
        if self.mode == "off":
            return Execution(MS[self.mode], rows, scan_rows=1000, bytes_read=5000)
        slow = 3 if query.id == "p=1.0" else 1
        return Execution(slow * MS[self.mode], rows, 40, 200, packs_total=100, packs_kept=4, filters=[FILTER])


def finished(modes: tuple[str, ...] = MODES, wrong: str = "", queries: tuple[Query, ...] = imci_queries(1000)) -> Result:
    engines = {mode: Steady(mode, wrong if mode == "rtfilter" else "") for mode in modes}
    measured = [entry for query in queries for entry in run_query(query, engines, runs=2, warmup=1).measurements]
    return Result(Settings("imci-micro", 1.0, None, "clustered", modes, 2, 1), MACHINE, tuple(measured))


def test_result_has_the_contracts_fields_and_behind_them_failures_and_options() -> None:
    content = json.loads(as_json(finished().to_dict()))
    assert list(content) == [
        "suite",
        "sf",
        "zipf",
        "layout",
        "modes",
        "runs",
        "machine",
        "queries",
        "summary",
        "failures",
        "options",
    ]
    assert list(content["machine"]) == ["cpus", "memory_gb", "spark", "java", "rtfilter"]
    entry = next(entry for entry in content["queries"] if (entry["id"], entry["mode"]) == ("p=0.001", "rtfilter"))
    digest = entry.pop("result_sha256")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert (entry.pop("judge"), entry.pop("difference")) == ("duckdb", None)
    assert entry == {
        "id": "p=0.001",
        "mode": "rtfilter",
        "ms": [40.0, 40.0],
        "median_ms": 40.0,
        "rows": 1,
        "scan_rows": 40,
        "bytes_read": 200,
        "packs_total": 100,
        "packs_kept": 4,
        "filters": [FILTER],
        "star_trees": [],
    }


def test_summary_holds_totals_speed_up_worst_query_and_mismatches() -> None:
    summary = finished().to_dict()["summary"]
    assert summary["total_ms"] == {"off": 2800.0, "rtfilter": 1200.0, "duckdb": 280.0}
    assert summary["speedup"] == {"rtfilter": pytest.approx(2.333), "duckdb": 10.0}
    assert summary["worst"]["rtfilter"] == {"id": "p=1.0", "ratio": pytest.approx(0.833)}
    assert summary["mismatches"] == 0


def test_a_different_result_is_counted_and_shown() -> None:
    result = finished(wrong="attr p=0.5")
    assert result.to_dict()["summary"]["mismatches"] == 1
    page = render_report(result)
    assert "1 differ" in page and "(8,)" in page


def test_the_printed_table_has_packs_read_and_rows_let_through() -> None:
    packs, rows = result_table(finished()).columns[-2:]
    assert set(packs.cells) == {"4.0% (4)"} and set(rows.cells) == {"4.0%"}
    alone = result_table(finished(modes=("rtfilter",)))
    assert [column.header for column in alone.columns] == ["query", "rtfilter\nms", "packs\nread"]


def test_without_off_there_is_no_speed_up() -> None:
    summary = finished(modes=("rtfilter", "duckdb")).to_dict()["summary"]
    assert summary["speedup"] == {} and summary["worst"] == {}
    assert "Speed-up against selectivity" not in render_report(finished(modes=("rtfilter",)))


def test_report_names_every_query_and_needs_nothing_from_outside() -> None:
    result = finished()
    page = render_report(result)
    for query in imci_queries(1000):
        assert f"<td>{query.id}</td>" in page
    assert not re.search(r"https?:|<script|<link|@import|src=", page)
    assert len(page) < 400_000


def test_report_has_charts_that_follow_the_colour_scheme() -> None:
    page = render_report(finished())
    charts = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    # One of speed-ups, one of packs, one of times for each of the four families.
    assert len(charts) == 6
    for chart in charts:
        assert "var(--ink)" in chart and "#0000" not in chart
    assert "prefers-color-scheme: dark" in page and "@media print" in page and 'name="viewport"' in page


def test_report_escapes_what_it_shows() -> None:
    odd = Query("a<b", "select '<script>'", "", ("t",))
    page = render_report(finished(queries=(odd,)))
    assert "a&lt;b" in page and "<script>" not in page


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "made" / "result.json"
    write_text_atomically(target, "one")
    write_text_atomically(target, "two")
    assert target.read_text() == "two" and list(target.parent.iterdir()) == [target]
    with pytest.raises(BenchError, match="--out DIR"):
        write_text_atomically(target / "below a file" / "x", "three")


def test_an_output_directory_that_cannot_be_written_is_refused_before_the_runs(tmp_path: Path) -> None:
    require_writable(tmp_path / "made")
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="--out DIR"):
        require_writable(tmp_path / "file")


TREE = {
    "name": "cube",
    "table": "sales",
    "used": True,
    "reason": "USED",
    "rows_read": 40,
    "rows_decoded": 4096,
    "base_rows": 2_000_000,
}


def test_rows_of_star_trees_are_drawn_against_those_of_the_table() -> None:
    plain = finished()
    assert "star-trees" not in render_report(plain)
    refused = {**TREE, "name": "other", "used": False, "rows_read": None, "rows_decoded": None}
    measured = list(plain.measurements)
    number = next(i for i, each in enumerate(measured) if each.mode == "rtfilter")
    last = replace(measured[number].last, star_trees=[refused, TREE])
    measured[number] = replace(measured[number], last=last)
    served = replace(plain, measurements=tuple(measured))
    page = render_report(served)
    assert "Rows of star-trees in place of the table" in page and "put out by its scans" in page
    entries = [entry for entry in served.to_dict()["queries"] if entry["star_trees"]]
    assert [(entry["id"], entry["mode"]) for entry in entries] == [(measured[number].query.id, "rtfilter")]
    assert entries[0]["star_trees"] == [refused, TREE]
