"""The micro-benchmark of the seed in full: what runs, in which condition, and what comes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from rtfilter.bench.engines.execution import Execution
from rtfilter.bench.engines.modes import SPARK_CONF_BY_MODE
from rtfilter.bench.engines.page_cache import ColdEngine, drop_from_page_cache, files_below
from rtfilter.bench.figures.matrix import CONDITIONS, Cell, build_of, cells_of, modes_of, query_ids
from rtfilter.bench.pages.matrix_table import matrix_tables
from rtfilter.bench.run.interleaved import Failure, Measurement, Outcome
from rtfilter.bench.suites.suite import Query
from rtfilter.cli import main
from rtfilter.errors import BenchError

IDS = ("p=1.0", "p=0.001", "attr p=1.0", "attr p=0.001", "swapped p=1.0", "swapped p=0.001", "limit p=0.001")


def query(query_id: str = "p=0.001") -> Query:
    return Query(query_id, "", "", ("item",), selectivity=0.001)


def measured(mode: str, *ms: float, query_id: str = "p=0.001", packs: tuple[int, int] | None = None) -> Measurement:
    total, kept = packs or (None, None)
    last = Execution(ms[-1], (), packs_total=total, packs_kept=kept)
    return Measurement(query(query_id), mode, ms, 1, "x", None, last)


class TestWhatRuns:
    def test_the_queries_of_the_asked_build_sides_and_selectivities(self) -> None:
        assert query_ids(("small", "large"), (), IDS) == ("p=1.0", "p=0.001", "swapped p=1.0", "swapped p=0.001")
        assert query_ids(("attr",), ("0.001",), IDS) == ("attr p=0.001",)
        with pytest.raises(BenchError, match=r"no selectivity '0.7'. Those that exist: 1.0, 0.001"):
            query_ids(("small",), ("0.001", "0.7"), IDS)

    def test_every_query_of_the_matrix_knows_its_build_side(self) -> None:
        assert [build_of(query_id) for query_id in ("p=1.0", "attr p=1.0", "swapped p=1.0")] == ["small", "attr", "large"]

    def test_without_pruning_is_with_warm_files_only(self) -> None:
        assert modes_of(cold=False) == ("off", "rtfilter", "rtfilter-rows")
        assert modes_of(cold=True) == ("off", "rtfilter")

    def test_without_pruning_no_filter_skips_a_pack_and_nothing_is_remembered(self) -> None:
        assert SPARK_CONF_BY_MODE["rtfilter-rows"]["rtfilter.packs.enabled"] == "false"
        assert SPARK_CONF_BY_MODE["rtfilter-rows"]["rtfilter.feedback.enabled"] == "false"


class TestCells:
    def test_a_query_fills_the_cells_of_its_conditions_with_medians(self) -> None:
        modes = (measured("off", 90, 100, 200), measured("rtfilter", 9, 10, 11, packs=(100, 5)), measured("rtfilter-rows", 50))
        pruned, unpruned = cells_of(2, False, Outcome("p=0.001", modes, ()))
        assert pruned == Cell(2, "small", 0.001, "memory + pruning", 10, 100, 100, 5)
        assert (unpruned.condition, unpruned.ratio) == ("memory, no pruning", 2.0)
        assert pruned.to_dict()["ratio"] == 10.0

    def test_cold_runs_fill_the_cell_of_io(self) -> None:
        (cell,) = cells_of(1, True, Outcome("p=0.001", (measured("off", 100), measured("rtfilter", 10)), ()))
        assert cell.condition == "I/O + pruning"

    def test_a_mode_that_failed_leaves_its_cell_out(self) -> None:
        failure = Failure("p=0.001", "rtfilter", "no", timed_out=False)
        cells = cells_of(1, False, Outcome("p=0.001", (measured("off", 100), measured("rtfilter-rows", 10)), (failure,)))
        assert [cell.condition for cell in cells] == ["memory, no pruning"]

    def test_there_is_a_table_for_each_build_side_and_dop_with_a_row_for_each_selectivity(self) -> None:
        cells = [
            Cell(dop, build, p, condition.name, 10, 100, 100, 5)
            for dop in (1, 2)
            for build in ("small", "large")
            for p in (1.0, 0.001)
            for condition in CONDITIONS
        ]
        tables = list(matrix_tables(cells[:-1]))
        assert [str(table.title) for table in tables] == [
            f"{build} build side, dop {dop}" for dop in (1, 2) for build in ("small", "large")
        ]
        assert [table.row_count for table in tables] == [2] * 4
        assert [list(column.cells) for column in tables[0].columns][:3] == [["1", "0.001"], ["10/100"] * 2, ["10.00"] * 2]
        assert list(tables[-1].columns[5].cells) == ["10/100", "-"]


class TestColdFiles:
    def test_files_are_dropped_before_every_run_and_the_run_is_the_engines(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t").mkdir()
        (tmp_path / "t" / "part-0.parquet").write_bytes(b"x" * 10_000)
        (tmp_path / "single.parquet").write_bytes(b"x")
        events: list[str] = []

        def advise(descriptor: int, offset: int, length: int, advice: int) -> None:
            events.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
            assert (offset, length, advice) == (0, 0, os.POSIX_FADV_DONTNEED)

        class Engine:
            def run(self, query: Query, count_bytes: bool = False) -> Execution:
                events.append(f"run {query.id}")
                return Execution(5.0, ())

        monkeypatch.setattr(os, "posix_fadvise", advise)
        engine = ColdEngine(Engine(), files_below([tmp_path / "t", tmp_path / "single.parquet"]))
        assert engine.run(query()).ms == 5.0
        engine.run(query())
        assert events == ["single.parquet", "part-0.parquet", "run p=0.001"] * 2

    def test_the_system_takes_the_advice(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"x" * 100_000)
        drop_from_page_cache([tmp_path / "f"])
        assert (tmp_path / "f").read_bytes() == b"x" * 100_000

    def test_a_file_that_is_gone_and_a_system_that_cannot_are_errors_that_say_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(BenchError, match="gone"):
            drop_from_page_cache([tmp_path / "gone"])
        monkeypatch.delattr(os, "posix_fadvise")
        with pytest.raises(BenchError, match="Linux"):
            drop_from_page_cache([])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--dop", "0"], "--dop"), (["--dop", ""], "--dop"), (["--builds", "tiny"], "small, attr, large"), (["--sf", "0"], "--sf")],
)
def test_unusable_arguments_are_refused_before_anything_runs(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(main, ["bench", "matrix", *arguments])
    assert done.exit_code == 2 and words in done.output


# The suite is registered here, so that the test also runs where the project is not installed.
COMMAND = """
from importlib.metadata import EntryPoint
from rtfilter.bench.suites import suite
from rtfilter.cli import main
suite.entry_points = lambda group: [EntryPoint("imci-micro", "tpcds.imci_micro:SUITE", group)]
main()
"""


@pytest.mark.jvm
def test_the_matrix_at_a_tiny_size_has_all_cells_and_reads_fewer_packs_only_where_it_prunes(tmp_path: Path) -> None:
    arguments = [
        "bench",
        "matrix",
        "--sf",
        "0.01",
        "--p",
        "0.01",
        "--runs",
        "1",
        "--data",
        str(tmp_path),
        "--out",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "small build side, dop 1" in done.stdout and "large build side, dop 2" in done.stdout
    content = json.loads((tmp_path / "out/matrix.json").read_text())
    cells = {(cell["dop"], cell["build"], cell["condition"]): cell for cell in content["cells"]}
    assert len(cells) == len(content["cells"]) == 2 * 2 * 3
    assert content["failures"] == content["mismatches"] == []
    for dop in (1, 2):
        for condition in ("I/O + pruning", "memory + pruning"):
            cell = cells[dop, "small", condition]
            assert 0 < cell["packs_kept"] < cell["packs_total"]
        unpruned = cells[dop, "small", "memory, no pruning"]
        assert unpruned["packs_kept"] == unpruned["packs_total"]
