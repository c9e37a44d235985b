"""TPC-DS tables from DuckDB's dsdgen as Parquet, at any scale factor."""

from __future__ import annotations

from collections.abc import Callable

from rtfilter.bench.suites.data_cache import DataCache, Dataset
from rtfilter.bench.suites.duckdb_generators import TPCDS, generated_tables


def tpcds_tables(cache: DataCache, sf: float, tables: tuple[str, ...] = (), say: Callable[[str], None] = lambda _: None) -> Dataset:
    """Finds or makes `TABLE.parquet` for the named tables (none: all 24), in dsdgen's row order.

    Raises:
        BenchError: duckdb or its tpcds wheel is missing, or the cache cannot be written.
    """
    return generated_tables(cache, TPCDS, sf, tables, say)
