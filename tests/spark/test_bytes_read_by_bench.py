"""What bench counts as bytes read: footers, column chunks and looks at dictionaries, and no buffers around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

pytest.importorskip("duckdb")

from rtfilter.bench.engines.spark_engine import SparkEngine, register_tables  # after the check that the bench extra is there
from rtfilter.bench.suites.suite import Query

ROWS, PACK_ROWS = 60_000, 1_000
COLUMNS = [f"c{number}" for number in range(12)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Small packs of chunks that are far below the 64 KiB of a buffer, and no two of which a query reads lie side by side."""
    rng = np.random.default_rng(5)
    columns = {name: pa.array(rng.integers(0, 2**40, ROWS)) for name in COLUMNS} | {"k": pa.array(np.arange(ROWS))}
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "t" / "a.parquet", row_group_size=PACK_ROWS, use_dictionary=["c3"])
    return tmp_path / "t"


@pytest.fixture
def engine(spark: SparkSession, table: Path) -> Iterator[SparkEngine]:
    register_tables(spark, {"t": table})
    yield SparkEngine(spark, "off")


def stored(table: Path, columns: tuple[str, ...]) -> tuple[int, int]:
    """The bytes of these columns' chunks, and of the footer."""
    metadata = pq.read_metadata(table / "a.parquet")
    packs = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [pack.column(leaf) for pack in packs for leaf in range(pack.num_columns)]
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns), metadata.serialized_size


def counted(engine: SparkEngine, sql: str) -> int:
    found = engine.run(Query("q", sql, sql, ("t",)), count_bytes=True).bytes_read
    assert found is not None
    return found


@pytest.mark.parametrize("columns", [("c1",), ("c2", "c5", "c9"), ("c3", "k"), (*COLUMNS, "k")], ids=len)
def test_a_scan_reads_the_chunks_of_its_columns_and_the_footer(engine: SparkEngine, table: Path, columns: tuple[str, ...]) -> None:
    chunks, footer = stored(table, columns)
    found = counted(engine, f"select {', '.join(f'sum({name})' for name in columns)} from t")
    # A footer is read by each task, and once for the schema.
    assert chunks <= found <= 1.02 * chunks + 6 * (footer + 2_000)
    assert found < table.joinpath("a.parquet").stat().st_size * 1.2


def test_packs_that_are_skipped_are_not_counted(engine: SparkEngine, table: Path) -> None:
    whole = counted(engine, "select sum(c1) from t where k >= 0")
    half = counted(engine, f"select sum(c1) from t where k < {ROWS // 2}")
    _, footer = stored(table, ())
    assert 0.4 * whole < half < 0.5 * whole + 6 * (footer + 2_000)


def test_packs_that_a_runtime_filter_rejects_are_not_counted(spark: SparkSession, engine: SparkEngine, table: Path) -> None:
    sql = "select /*+ broadcast(dim) */ sum(c1), count(name) from t join dim on k = id where name in ('n500', 'n1500', 'n2500')"
    found = SparkEngine(spark, "rtfilter-always").run(Query("q", sql, sql, ("t",)), count_bytes=True)
    chunks, footer = stored(table, ("c1", "k"))
    assert found.packs_kept == 3, found.filters
    assert found.bytes_read is not None
    # A footer is read by each task of the two tables.
    assert 2 * chunks // (ROWS // PACK_ROWS) < found.bytes_read < 0.1 * chunks + 8 * (footer + 2_000)
    assert counted(engine, sql) > chunks > found.bytes_read


def test_runs_that_are_measured_read_as_ever(spark: SparkSession, engine: SparkEngine) -> None:
    keys = ("io.file.buffer.size", "fs.file.impl.disable.cache", "parquet.hadoop.vectored.io.enabled")
    before = [spark.conf.get(key, None) for key in keys]
    engine.run(Query("q", "select sum(c1) from t", "", ("t",)), count_bytes=True)
    engine.run(Query("q", "select sum(c1) from t", "", ("t",)))
    assert [spark.conf.get(key, None) for key in keys] == before
