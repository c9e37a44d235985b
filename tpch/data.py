"""TPC-H tables from DuckDB's dbgen as Parquet, at any scale factor."""

from __future__ import annotations

from collections.abc import Callable

from rtfilter.bench.cache import DataCache, Dataset
from rtfilter.bench.duckgen import TPCH, generated_tables


def tpch_tables(cache: DataCache, sf: float, tables: tuple[str, ...] = (), say: Callable[[str], None] = lambda _: None) -> Dataset:
    """Finds or makes `TABLE.parquet` for the named tables (none: all 8), in dbgen's row order.

    Raises:
        BenchError: duckdb or its tpch wheel is missing, or the cache cannot be written.
    """
    return generated_tables(cache, TPCH, sf, tables, say)
