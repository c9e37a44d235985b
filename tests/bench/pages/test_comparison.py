"""`rtfilter bench compare`: two results of one suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rtfilter.bench.pages.comparison import compare_files
from rtfilter.cli import main
from rtfilter.errors import BenchError


def entry(query_id: str, mode: str, ms: list[float], packs: int | None = None, digest: str = "d") -> dict[str, Any]:
    return {
        "id": query_id,
        "mode": mode,
        "ms": ms,
        "median_ms": sorted(ms)[len(ms) // 2],
        "packs_kept": packs,
        "result_sha256": digest,
    }


def written(file: Path, queries: list[dict[str, Any]], **other: Any) -> Path:
    settings = {"suite": "tpch", "sf": 1.0, "zipf": None, "layout": "natural", "modes": ["off", "rtfilter"], "machine": {"cpus": 2}}
    file.write_text(json.dumps({**settings, "queries": queries, "summary": {}, **other}))
    return file


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    before = [entry("1", "rtfilter", [100, 110, 120], 50), entry("2", "rtfilter", [50, 51, 52], 9), entry("3", "off", [5, 5, 5])]
    after = [
        entry("1", "rtfilter", [40, 41, 42], 20),
        entry("2", "rtfilter", [51, 70, 71], 9, "other"),
        entry("4", "off", [1, 1, 1]),
    ]
    return written(tmp_path / "a.json", before), written(tmp_path / "b.json", after, layout="clustered", machine={"cpus": 4})


def compared(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["bench", "compare", *map(str, arguments)])


def test_pairs_hold_medians_packs_and_whether_runs_overlap(files: tuple[Path, Path]) -> None:
    first, second = compare_files(*files).pairs
    assert first.ratio == pytest.approx(110 / 41)
    assert (first.overlap, first.before_packs, first.after_packs) == (False, 50, 20)
    assert (second.before_ms, second.after_ms, second.overlap, second.same_rows) == (51, 70, True, False)


def test_what_only_one_has_and_what_differs_is_named(files: tuple[Path, Path]) -> None:
    comparison = compare_files(*files)
    assert comparison.only_before == ("3 [off]",) and comparison.only_after == ("4 [off]",)
    assert comparison.unequal == ("layout: natural / clustered", "cpus: 2 / 4")
    assert comparison.totals() == {"rtfilter": (161, 111)}


def test_the_command_prints_the_largest_loss_first_and_json_on_demand(files: tuple[Path, Path]) -> None:
    text = compared(*files)
    assert text.exit_code == 0 and "differ in: layout: natural / clustered" in text.stdout
    assert text.stdout.index("runs overlap, another result") < text.stdout.index("faster")
    assert json.loads(compared(*files, "--json").stdout)["pairs"][0]["ratio"] == 2.683


def test_results_that_another_engine_judged_are_not_called_different(tmp_path: Path) -> None:
    digests = [{**entry("1", "off", [9, 9, 9], digest=judge), "judge": judge} for judge in ("duckdb", "off")]
    before, after = (written(tmp_path / f"{number}.json", [each]) for number, each in enumerate(digests))
    assert compare_files(before, after).pairs[0].same_rows is None
    assert "another judge" in compared(before, after).stdout and "another result" not in compared(before, after).stdout


def test_numbers_of_runs_and_settings_of_only_one_are_named(tmp_path: Path) -> None:
    before = written(tmp_path / "a.json", [], runs=5)
    after = written(tmp_path / "b.json", [], runs=1, options={"master": "local[1]"})
    assert compare_files(before, after).unequal == ("runs: 5 / 1", "master: None / local[1]")


def test_results_of_two_suites_are_not_compared(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = written(tmp_path / "c.json", [], suite="tpcds")
    with pytest.raises(BenchError, match=r"of suite 'tpch' and .* of 'tpcds'"):
        compare_files(files[0], other)


@pytest.mark.parametrize(
    ("text", "says"), [("{", "is no result.json"), ("[]", "has no 'suite'"), ('{"suite": 1}', "has no 'machine'")]
)
def test_a_file_that_is_no_result_ends_with_status_2(files: tuple[Path, Path], tmp_path: Path, text: str, says: str) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(text)
    done = compared(files[0], broken)
    assert done.exit_code == 2 and says in done.stderr


def test_a_missing_file_ends_with_status_2(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert compared(files[0], tmp_path / "none.json").exit_code == 2
