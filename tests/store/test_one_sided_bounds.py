"""A pack with only one of the two bounds has none, whatever the other one would say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rtfilter.store.bounds.filters import BytesSetFilter
from rtfilter.store.parquet.pack_statistics import FileStats, parse_footer_tail
from rtfilter.store.tables.footer_store import FooterStore
from tests.store.handmade import (
    BYTE_ARRAY,
    DOUBLE,
    FIXED_LEN_BYTE_ARRAY,
    INT32,
    INT64,
    MAX_VALUE,
    MIN_VALUE,
    NULL_COUNT,
    UTF8,
    Field,
    binary,
    double,
    footer_tail,
    int32,
    int64,
)
from tests.store.tables_at_hand import kept, loaded, write


@pytest.mark.parametrize("bound", [MIN_VALUE, MAX_VALUE], ids=["min", "max"])
@pytest.mark.parametrize(
    ("physical", "value", "converted"),
    [
        (INT32, int32(7), None),
        (INT64, int64(7), None),
        (DOUBLE, double(7.0), None),
        (BYTE_ARRAY, binary(b"g"), UTF8),
        (BYTE_ARRAY, binary(b""), UTF8),
        (BYTE_ARRAY, binary(b"g"), None),
        (FIXED_LEN_BYTE_ARRAY, binary(b"abcd"), None),
    ],
    ids=["int", "bigint", "double", "string", "empty string", "binary", "fixed bytes"],
)
def test_one_bound_is_none(physical: int, value: Field, converted: int | None, bound: int) -> None:
    """pyarrow 15 to 17 gave an empty text for the missing bound and said that both are there; of a number it ended the process."""
    tail = footer_tail([{NULL_COUNT: ("i64", 0), bound: value}], physical, converted=converted, type_length=4)
    found = parse_footer_tail(tail, ["a"])
    assert isinstance(found, FileStats)
    bounds = found.bounds_of("a", True)
    assert bounds is not None
    assert (bounds.has_bounds.tolist(), bounds.all_null.tolist(), bounds.no_null.tolist()) == ([False], [False], [True])


def test_a_pack_whose_greatest_text_was_too_long_to_be_a_bound_is_kept(tmp_path: Path, store: FooterStore) -> None:
    """Arrow's C++ leaves out a bound of more than 4,096 bytes, and that one only."""
    path = write(tmp_path / "t.parquet", {"s": ["a", "b", "c", "x" * 5000, "e", "f"]}, pack_rows=2)
    assert [pq.read_metadata(path).row_group(i).column(0).statistics.has_min_max for i in range(3)] == [True, False, True]
    wanted = BytesSetFilter(np.array([0, 5000]), np.frombuffer(b"x" * 5000, dtype=np.uint8), False)
    assert kept(store, loaded(store, [path], "s"), "s", wanted, "string") == [False, True, False]
