"""TPC-H tables as Parquet, at any scale factor: DuckDB's dbgen as it is, and with skew."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from rtfilter.bench.suites.data_cache import DataCache, Dataset, Manifest
from rtfilter.bench.suites.duckdb_generators import TPCH, generated_tables
from rtfilter.errors import BenchError
from tpch.skew import SkewedTables

LARGEST_ZIPF = 4.0


def tpch_tables(cache: DataCache, sf: float, tables: tuple[str, ...] = (), say: Callable[[str], None] = lambda _: None) -> Dataset:
    """Finds or makes `TABLE.parquet` for the named tables (none: all 8), in dbgen's row order.

    Raises:
        BenchError: duckdb or its tpch wheel is missing, or the cache cannot be written.
    """
    return generated_tables(cache, TPCH, sf, tables, say)


def skewed_tables(cache: DataCache, sf: float, zipf: float, say: Callable[[str], None] = lambda _: None) -> Dataset:
    """All 8 tables with values drawn from a Zipf law of that exponent, in dbgen's row order; dbgen's own for 0.

    The manifest's `distributions` has what was drawn beside what the law says.

    Raises:
        BenchError: an exponent outside 0 … 4, or as `tpch_tables`.
    """
    if not (math.isfinite(zipf) and 0 <= zipf <= LARGEST_ZIPF):
        raise BenchError(f"--zipf is {zipf:g}; it must be a number from 0 (dbgen's data unchanged) to {LARGEST_ZIPF:g}.")
    if zipf == 0:
        return tpch_tables(cache, sf, (), say)

    def build(directory: Path) -> Manifest:
        uniform = tpch_tables(cache, sf, (), say)
        distributions = SkewedTables(uniform.path, zipf, say).write(directory)
        return {**uniform.manifest, "zipf": zipf, "distributions": distributions}

    return cache.dataset(f"tpch-sf{sf:g}-zipf{zipf:.12g}", build)
