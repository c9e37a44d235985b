"""An index of a table with a column that pyarrow can't decode holds the others, and says which one it lacks."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from rtfilter import Bloom, Index, MinMax
from rtfilter.errors import IndexDefinitionError, IndexStorageError
from tests.index.test_index_cli import run
from tests.store.test_undecodable_columns import with_optional_map_keys, with_untrue_arrow_schema


def with_wide_deltas(folder: Path, name: str = "w.parquet") -> Path:
    """DuckDB's second page format stores differences of 32-bit numbers in up to 64 bits: pyarrow refuses to read such a column."""
    folder.mkdir(exist_ok=True)
    extremes = "case i when 7 then -2147483648 when 8 then 2147483647 else i end::int as wide"
    rows = f"select i as a, {extremes}, 's' || i as s from range(1000) t(i)"
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"copy ({rows}) to '{folder / name}' (format parquet, parquet_version v2)")
    return folder


def test_pyarrow_can_not_read_the_column_of_these_tests(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"InitBlock|bit width"):
        pq.read_table(with_wide_deltas(tmp_path), columns=["wide"])


def test_the_other_columns_are_indexed_and_the_lost_one_is_named(tmp_path: Path) -> None:
    table = with_wide_deltas(tmp_path)
    index = Index.create(None, str(table), [MinMax("a"), MinMax("wide"), Bloom("s")], name="i")
    built = index.last_build
    assert built is not None and (built.files, built.problems) == (1, ())
    (lost,) = built.not_held
    assert (lost.column, lost.files) == ("wide", 1) and "can't decode it" in lost.reason
    assert index.stats()["files_indexed"] == 1
    with_wide_deltas(tmp_path, "x.parquet")
    refreshed = index.refresh()
    assert [(each.column, each.files) for each in refreshed.not_held] == [("wide", 1)]
    assert [(each.column, each.files) for each in index.refresh("full").not_held] == [("wide", 2)]
    assert refreshed.to_dict()["not_held"] == {"wide": {"files": 1, "reason": lost.reason}}


def test_the_command_line_names_it(tmp_path: Path) -> None:
    table = with_wide_deltas(tmp_path)
    made = run("create", table, "--name", "i", "--minmax", "a", "--minmax", "wide")
    assert made.exit_code == 0 and made.stdout.startswith("i: ACTIVE, files 1, packs 1, ")
    assert "rtfilter: the column 'wide' is not indexed in 1 of 1 file: pyarrow " in made.stderr
    again = run("refresh", table, "--name", "i", "--mode", "full", "--json")
    assert json.loads(again.stdout)["not_held"]["wide"]["files"] == 1 and "'wide'" in again.stderr


def test_an_index_of_nothing_else_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(IndexStorageError, match=r"no column of it can be read, such as 'wide': pyarrow .* can't decode it"):
        Index.create(None, str(with_wide_deltas(tmp_path)), [MinMax("wide")], name="i")


@pytest.mark.parametrize("make", [with_optional_map_keys, with_untrue_arrow_schema])
def test_files_that_pyarrow_does_not_open_are_indexed(tmp_path: Path, make: object) -> None:
    make(tmp_path / "t.parquet")  # type: ignore[operator]
    built = Index.create(None, str(tmp_path), [MinMax("a"), Bloom("a")], name="i").last_build
    assert built is not None and (built.packs, built.problems, built.not_held) == (4, (), ())


def test_a_column_without_an_arrow_type_is_refused_with_the_reason(tmp_path: Path) -> None:
    with_optional_map_keys(tmp_path / "t.parquet")
    with pytest.raises(IndexDefinitionError, match="Map keys must be annotated as required"):
        Index.create(None, str(tmp_path), [MinMax("a"), MinMax("m")], name="i")
