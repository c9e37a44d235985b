"""Columns of sketch files as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rtfilter.store.sketches.arrays import Bools, ByteStrings, Int64s
from rtfilter.store.sketches.domain import binary_strings


def binary_array(strings: ByteStrings) -> Any:
    """Byte strings as a pyarrow array, without a copy."""
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(strings), [None, pa.py_buffer(strings.offsets), pa.py_buffer(strings.blob)]
    )


def int64_column(column: Any) -> tuple[Int64s, Bools]:
    """The numbers, 0 for null, and which ones are not null."""
    valid = np.asarray(pc.is_valid(column))
    numbers = np.asarray(column.fill_null(0) if column.null_count else column).astype(np.int64, copy=False)
    return numbers, valid


def string_column(column: Any) -> tuple[ByteStrings, Bools]:
    """The byte strings, empty for null, and which ones are not null."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    valid = np.asarray(pc.is_valid(whole))
    return binary_strings(whole.fill_null(b"") if whole.null_count else whole), valid
