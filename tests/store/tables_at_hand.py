"""Parquet files for tests, and their listing as Spark gives it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtfilter.store.bounds.filters import KeyFilter, SetFilter, filter_of_keys
from rtfilter.store.parquet.column_bounds import ColumnBounds
from rtfilter.store.parquet.pack_statistics import FileStats, FooterProblem, read_local_footer
from rtfilter.store.tables.footer_store import FooterStore
from rtfilter.store.tables.verdict import ColumnFilter, Verdict

PATIENCE_S = 20.0


def write(path: Path, columns: Mapping[str, Any], pack_rows: int = 10, **options: Any) -> Path:
    """A Parquet file of these arrays with packs of `pack_rows` rows."""
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    pq.write_table(table, path, row_group_size=pack_rows, **options)
    return path


def listing(paths: Iterable[Path]) -> tuple[list[str], list[int], list[int]]:
    """Hadoop path texts, sizes, times in ms."""
    files = list(paths)
    status = [os.stat(path) for path in files]
    return [f"file:{path}" for path in files], [each.st_size for each in status], [each.st_mtime_ns // 1_000_000 for each in status]


def stats_of(path: Path, *columns: str) -> FileStats:
    found = read_local_footer(str(path), *_identity(path), columns)
    assert isinstance(found, FileStats), found
    return found


def problem_of(path: Path, *columns: str) -> str:
    found = read_local_footer(str(path), *_identity(path), columns)
    assert isinstance(found, FooterProblem), found
    return found.reason


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns // 1_000_000


def bounds_of(path: Path, column: str, case_sensitive: bool = False) -> ColumnBounds | None:
    return stats_of(path, column).bounds_of(column, case_sensitive)


def known_bounds(bounds: ColumnBounds | None) -> list[tuple[int, int] | str]:
    """Per pack its bounds, `all null` or `unknown`. Of whole numbers only."""
    assert bounds is not None and len(bounds.lows) == 1
    rows = zip(bounds.lows[0].tolist(), bounds.highs[0].tolist(), bounds.has_bounds.tolist(), bounds.all_null.tolist(), strict=True)
    return [(low, high) if has else "all null" if null else "unknown" for low, high, has, null in rows]


def keys(*values: int) -> KeyFilter:
    return filter_of_keys(np.array(sorted(values), dtype=np.int64))


def set_of(values: Iterable[int]) -> SetFilter:
    return SetFilter(np.array(sorted(values), dtype=np.int64))


def loaded(store: FooterStore, paths: Sequence[Path], *columns: str, digest: str = "t") -> str:
    """The digest of a table whose footers are being read."""
    store.add_list(digest, *listing(paths))
    store.prefetch(digest, columns)
    return digest


def verdict_on(
    store: FooterStore, digest: str, column: str, keys: KeyFilter, type: str = "int", case_sensitive: bool = False
) -> Verdict:
    verdict = store.verdict(digest, [ColumnFilter(column, type, keys)], case_sensitive, wait_s=PATIENCE_S)
    assert verdict is not None
    return verdict


def kept(
    store: FooterStore, digest: str, column: str, keys: KeyFilter, type: str = "int", case_sensitive: bool = False
) -> list[bool]:
    kept_packs: list[bool] = verdict_on(store, digest, column, keys, type, case_sensitive).keep[0].tolist()
    return kept_packs
