"""Arrow columns as numpy arrays and back, without a Python object per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64s = npt.NDArray[np.int64]
MONEY = pa.decimal128(15, 2)
CENTS = 100


def cents(column: Any) -> Int64s:
    """The unscaled values of a column of decimals without nulls: 12.34 is 1234. Values must fit 64 bits."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    # A decimal128 is two little-endian 64-bit words; the upper one only repeats the sign of values of this size.
    words = np.frombuffer(column.buffers()[1], dtype=np.int64)
    return words[2 * column.offset : 2 * (column.offset + len(column)) : 2].copy()


def money(amounts_cents: Int64s) -> Any:
    """Whole cents as decimal(15, 2)."""
    words = np.empty((len(amounts_cents), 2), dtype=np.int64)
    words[:, 0] = amounts_cents
    words[:, 1] = amounts_cents >> 63
    return pa.Array.from_buffers(MONEY, len(amounts_cents), [None, pa.py_buffer(words)])


def days(column: Any) -> Int64s:
    """Days since 1970-01-01 of a column of dates without nulls."""
    return np.asarray(column.cast(pa.int32())).astype(np.int64)


def dates(days_since_epoch: Int64s) -> Any:
    """A column of dates."""
    return pa.array(days_since_epoch.astype(np.int32)).cast(pa.date32())
