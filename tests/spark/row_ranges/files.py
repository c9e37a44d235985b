"""Parquet files as writers may leave them, by chance: types, encodings, versions and sizes of pages, nulls, indexes or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEY_TYPES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32())
DAY = date(2001, 1, 1)


@dataclass(frozen=True)
class WrittenFile:
    """A file, and how it was written."""

    path: Path
    rows: int
    how: dict[str, Any]


def as_key(number: int, key_type: pa.DataType) -> Any:
    return DAY + timedelta(days=number) if pa.types.is_date(key_type) else number


def key_numbers(r: np.random.Generator, rows: int, key_type: pa.DataType) -> np.ndarray[Any, Any]:
    """Keys of rows: all over the place, in runs of neighbours, sorted, or few."""
    most = 100 if key_type == pa.int8() else int(r.choice([20, 300, 5_000]))
    shape = r.choice(["random", "runs", "sorted"])
    numbers = r.integers(0, most, rows)
    if shape == "runs":
        length = int(r.integers(2, 60))
        numbers = np.repeat(r.integers(0, most, rows // length + 1), length)[:rows]
    return np.sort(numbers) if shape == "sorted" else numbers


def _texts(r: np.random.Generator, rows: int) -> list[str]:
    few = int(r.choice([3, 50, 10**6]))
    return [f"text {number:0{int(r.integers(1, 12))}d}" for number in r.integers(0, few, rows)]


def _decimals(digits: int) -> Callable[[np.random.Generator, int], pa.Array]:
    def make(r: np.random.Generator, rows: int) -> pa.Array:
        most = 10 ** min(digits, 15)
        return pa.array([Decimal(int(n)).scaleb(-2) for n in r.integers(-most + 1, most, rows)], pa.decimal128(digits, 2))

    return make


def _lists(r: np.random.Generator, rows: int) -> pa.Array:
    values = [None if r.random() < 0.1 else [int(v) for v in r.integers(0, 9, int(n))] for n in r.integers(0, 4, rows)]
    return pa.array(values, pa.list_(pa.int32()))


def _structs(r: np.random.Generator, rows: int) -> pa.Array:
    values = [None if n == 0 else {"a": int(n), "b": None if n % 3 == 0 else f"b{n}"} for n in r.integers(0, 9, rows)]
    return pa.array(values, pa.struct({"a": pa.int64(), "b": pa.string()}))


def _maps(r: np.random.Generator, rows: int) -> pa.Array:
    values = [[(f"k{i}", int(v)) for i, v in enumerate(r.integers(0, 9, int(n)))] for n in r.integers(0, 3, rows)]
    return pa.array(values, pa.map_(pa.string(), pa.int32()))


COLUMNS: dict[str, Callable[[np.random.Generator, int], pa.Array]] = {
    "i": lambda r, n: pa.array(r.integers(-(2**31), 2**31, n), pa.int32()),
    "l": lambda r, n: pa.array(r.integers(-(2**62), 2**62, n)),
    "few": lambda r, n: pa.array(r.integers(0, 5, n), pa.int16()),
    "f": lambda r, n: pa.array(r.random(n), pa.float32()),
    "d": lambda r, n: pa.array(np.where(r.random(n) < 0.1, -0.0, r.normal(size=n))),
    "s": lambda r, n: pa.array(_texts(r, n)),
    "x": lambda r, n: pa.array([text.encode() for text in _texts(r, n)]),
    "b": lambda r, n: pa.array(r.random(n) < 0.5),
    "day": lambda r, n: pa.array(r.integers(-10_000, 20_000, n), pa.int32()).cast(pa.date32()),
    "ts": lambda r, n: pa.array([datetime(2000, 1, 1) + timedelta(milliseconds=int(m)) for m in r.integers(0, 10**12, n)]),
    "p9": _decimals(9),
    "p18": _decimals(18),
    "p30": _decimals(30),
    "li": _lists,
    "st": _structs,
    "ma": _maps,
}


def write_random_file(r: np.random.Generator, path: Path, key_type: pa.DataType, names: tuple[str, ...], rows: int) -> WrittenFile:
    """A file with a key column `k` and the columns of these names, in any way that pyarrow can write it."""
    numbers = key_numbers(r, rows, key_type)
    nulls = r.random(rows) < r.choice([0.0, 0.05, 0.5])
    keys = pa.array([None if null else as_key(int(n), key_type) for n, null in zip(numbers, nulls, strict=True)], key_type)
    columns = {"k": keys, **{name: _some_null(r, COLUMNS[name](r, rows)) for name in names}}
    order = r.permutation(list(columns))
    table = pa.table({name: columns[name] for name in order})
    flat = [name for name in table.column_names if name not in ("li", "st", "ma")]
    how: dict[str, Any] = {
        "row_group_size": int(r.choice([rows, max(rows // 3, 1), 700])),
        "compression": str(r.choice(["none", "snappy", "zstd", "gzip"])),
        "data_page_version": str(r.choice(["1.0", "2.0"])),
        "data_page_size": int(r.choice([64, 200, 1_000, 1 << 20])),
        "write_batch_size": int(r.choice([1, 16, 100])),
        "use_dictionary": [str(name) for name in flat if r.random() < 0.5] or False,
        "dictionary_pagesize_limit": int(r.choice([100, 1 << 20])),
        "write_page_index": bool(r.random() < 0.9),
        "store_decimal_as_integer": bool(r.random() < 0.5),
        "use_deprecated_int96_timestamps": bool(r.random() < 0.2),
        "write_statistics": bool(r.random() < 0.9),
    }
    pq.write_table(table, path, **how)
    return WrittenFile(path, rows, how)


def _some_null(r: np.random.Generator, values: pa.Array) -> pa.Array:
    share = r.choice([0.0, 0.1, 0.9])
    if share == 0.0:
        return values
    keep = r.random(len(values)) >= share
    return values.take(pa.array([int(i) if kept else None for i, kept in enumerate(keep)], pa.int64()))
