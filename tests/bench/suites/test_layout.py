"""Layouts: the same rows in every one of them, in the order and the cuts that its name promises."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

duckdb = pytest.importorskip("duckdb")

from rtfilter.bench.engines.duckdb_engine import DuckDbEngine  # noqa: E402
from rtfilter.bench.suites.data_cache import DataCache  # noqa: E402  # after the check that the bench extra is there
from rtfilter.bench.suites.layout import TableSource, laid_out, write_partitions  # noqa: E402
from rtfilter.bench.suites.suite import DataRequest, Query  # noqa: E402

ROWS = 1000
# Generated dates are neither sorted nor unique, and some are missing.
DATES = [None if i % 97 == 0 else i * 37 % 20 for i in range(ROWS)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> TableSource:
    file = tmp_path_factory.mktemp("generated") / "sales.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "day": DATES, "price": [i % 7 for i in range(ROWS)]}), file)
    return TableSource("sales", file, "made", "day")


def written(source: TableSource, layout: str, cache: Path, pack_rows: int = 64, files: int = 3) -> Path:
    return laid_out(DataRequest(1.0, None, layout, DataCache(cache), lambda step: None, pack_rows, files), source)


def rows_of(path: Path) -> Any:
    return pa.concat_tables(pq.read_table(file) for file in sorted(path.iterdir()))


def test_natural_keeps_the_generators_order_and_cuts_files_and_packs(source: TableSource, tmp_path: Path) -> None:
    path = written(source, "natural", tmp_path)
    assert rows_of(path)["id"].to_pylist() == list(range(ROWS))
    metas = [pq.read_metadata(file) for file in sorted(path.iterdir())]
    assert [meta.num_row_groups for meta in metas] == [5, 5, 6]
    assert {meta.row_group(g).num_rows for meta in metas for g in range(meta.num_row_groups)} == {64, ROWS % 64}


def test_packs_have_the_page_index_that_sparks_own_writer_makes(source: TableSource, tmp_path: Path) -> None:
    """Without one Parquet reads whole packs, and tables that Spark wrote would gain more than what is measured here."""
    for layout in ("natural", "partitioned"):
        for file in written(source, layout, tmp_path).rglob("*.parquet"):
            chunk = pq.read_metadata(file).row_group(0).column(0)
            assert chunk.has_column_index and chunk.has_offset_index


def test_clustered_is_ordered_by_date_with_ties_in_the_generators_order(source: TableSource, tmp_path: Path) -> None:
    rows = rows_of(written(source, "clustered", tmp_path)).to_pylist()
    keys = [(-1 if row["day"] is None else row["day"], row["id"]) for row in rows]
    assert keys == sorted(keys) and len(keys) == ROWS


def test_shuffled_is_the_same_random_order_every_time(source: TableSource, tmp_path: Path) -> None:
    first, second = (rows_of(written(source, "shuffled", tmp_path / name))["id"].to_pylist() for name in ("a", "b"))
    assert first == second and sorted(first) == list(range(ROWS))
    assert sum(a < b for a, b in itertools.pairwise(first)) == pytest.approx(ROWS / 2, rel=0.1)


def test_partitioned_has_a_directory_per_date_and_one_for_rows_without(source: TableSource, tmp_path: Path) -> None:
    path = written(source, "partitioned", tmp_path)
    assert {place.name for place in path.iterdir()} == {
        f"day={day}" for day in [*sorted({day for day in DATES if day is not None}), "__HIVE_DEFAULT_PARTITION__"]
    }
    assert "day" not in pq.read_schema(path / "day=3" / "part-00000.parquet").names
    engine = DuckDbEngine(duckdb.connect(), {"sales": path}, threads=1)
    sql = "SELECT count(*), count(day), sum(day), sum(id) FROM sales"
    expected = (ROWS, ROWS - DATES.count(None), sum(day for day in DATES if day is not None), ROWS * (ROWS - 1) // 2)
    assert list(engine.run(Query("q", sql, sql, ())).rows) == [expected]


@pytest.mark.parametrize("layout", ["clustered", "partitioned"])
def test_a_table_without_a_date_lies_as_it_was_generated(source: TableSource, tmp_path: Path, layout: str) -> None:
    dimension = TableSource("sales", source.file, "made", None)
    assert written(dimension, layout, tmp_path) == written(dimension, "natural", tmp_path)


def test_other_packs_or_files_are_other_data(source: TableSource, tmp_path: Path) -> None:
    paths = {written(source, "natural", tmp_path, pack_rows, files) for pack_rows, files in ((64, 3), (64, 4), (65, 3))}
    assert len(paths) == 3


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 4))), st.integers(1, 7), st.integers(1, 5))
def test_partitions_hold_every_row_once_in_whole_packs(values: list[int | None], batch_rows: int, pack_rows: int) -> None:
    import tempfile

    days = sorted(values, key=lambda value: -1 if value is None else value)
    table = pa.table({"day": pa.array(days, pa.int64()), "id": pa.array(range(len(days)), pa.int64())})
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "out"
        write_partitions(table.to_batches(max_chunksize=batch_rows), table.schema, "day", pack_rows, place)
        found: list[tuple[str, int]] = []
        for file in place.glob("*/*.parquet"):
            meta = pq.read_metadata(file)
            assert all(meta.row_group(g).num_rows == pack_rows for g in range(meta.num_row_groups - 1))
            found += [(file.parent.name.removeprefix("day="), i) for i in pq.ParquetFile(file).read()["id"].to_pylist()]
    expected = [("__HIVE_DEFAULT_PARTITION__" if day is None else str(day), i) for i, day in enumerate(days)]
    assert sorted(found) == sorted(expected)
