"""Writers are found, installed ones write what they are given, and missing ones are named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.writers import make_environment
from tests.writers.catalogue import BY_NAME, WRITERS, Source
from tests.writers.hand_over import PROGRAMS, WriterFailedError, WriterMissingError, write


def test_each_writer_stands_once_is_pinned_and_has_a_program() -> None:
    assert len(BY_NAME) == len(WRITERS) >= 12
    for writer in WRITERS:
        assert (PROGRAMS / writer.program).is_file()
        mark = "@" if writer.source is Source.NPM else "=="
        assert all(mark in package[1:] for package in writer.packages), writer


@pytest.mark.parametrize("name", [writer.name for writer in make_environment.installed() if writer.name != "pyspark-3.5"])
def test_a_writer_writes_the_rows_it_is_given_in_packs(tmp_path: Path, name: str) -> None:
    table = pa.table({"k": pa.array(range(90), pa.int64()), "s": [f"row {i}" for i in range(90)]})
    written = write(name, table, tmp_path / "written", 30)
    assert written.without == {}
    tables = [pq.read_table(file) for file in written.files]
    assert sorted(row for each in tables for row in zip(*(each[c].to_pylist() for c in ("k", "s")), strict=True)) == [
        (i, f"row {i}") for i in range(90)
    ]
    assert sum(pq.read_metadata(file).num_row_groups for file in written.files) == 3


def test_a_missing_writer_is_named_with_the_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path / "empty"))
    assert "polars" in [writer.name for writer in make_environment.missing()]
    with pytest.raises(WriterMissingError, match=r"make_environment.py polars"):
        write("polars", pa.table({"k": [1]}), tmp_path / "written", 10)


def test_what_a_writer_says_as_it_fails_is_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(WriterFailedError, match=r"duckdb: (.|\n)*Error"):
        write("duckdb", pa.table({"k": pa.array([1], pa.decimal256(60, 2))}), tmp_path / "written", 10)


def test_no_time_left_installs_nothing_and_prints_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RTFILTER_CACHE", str(tmp_path))
    assert make_environment.main(["--seconds", "0", "polars", "pyarrow"]) == 0
    assert "writers here: pyarrow\nwriters missing: polars\n" in capsys.readouterr().out
    assert make_environment.main(["--list", "polars"]) == 0
