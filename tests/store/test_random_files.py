"""Random values of every key type in real files of many packs, under random filters: no pack that holds a key is ever rejected."""

from __future__ import annotations

import datetime
import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rtfilter.store.bounds.filters import (
    BytesRangeFilter,
    BytesSetFilter,
    EmptyFilter,
    KeyFilter,
    RangesFilter,
    filter_of_keys,
    filter_of_range,
)
from rtfilter.store.parquet.key_values import DECIMAL_BYTES, LONG_DECIMAL_LIMIT, sortable_doubles
from rtfilter.store.tables.footer_store import FooterStore
from tests.cases_share import cases
from tests.store.tables_at_hand import kept, loaded, write

# Examples a type and writer; a number of one's own makes them random ones.
ASKED_EXAMPLES = os.environ.get("RTFILTER_STORE_EXAMPLES")
EXAMPLES = int(ASKED_EXAMPLES or cases(30, least=10))
PACKS = 24
# DuckDB's smallest pack is a vector of its.
DUCKDB_PACK_ROWS = 2048

# Python's own context rounds to 28 digits.
DIGITS = Context(prec=60)
EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class KeyType:
    """A type of Spark's, the Arrow type that it is stored as, values of it, and a value's key."""

    spark: str
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    key: Callable[[Any], int | bytes]
    options: tuple[tuple[str, Any], ...] = ()


def micros(value: datetime.datetime) -> int:
    return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)


def double_key(value: float) -> int:
    return int(sortable_doubles(np.array([value], dtype=np.float64))[0])


def unscaled(scale: int) -> Callable[[Decimal], int]:
    return lambda value: int(value.scaleb(scale, DIGITS))


def long_decimal_key(scale: int) -> Callable[[Decimal], bytes]:
    return lambda value: (int(value.scaleb(scale, DIGITS)) + LONG_DECIMAL_LIMIT).to_bytes(DECIMAL_BYTES, "big")


def near(least: int, greatest: int) -> st.SearchStrategy[int]:
    """Mostly numbers that lie close to each other, so that filters and packs meet and miss."""
    return st.one_of(
        st.integers(max(least, -60), min(greatest, 60)), st.integers(least, greatest), st.sampled_from([least, greatest])
    )


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return near(-limit, limit).map(lambda number: Decimal(number).scaleb(-scale, DIGITS))


def times(step: datetime.timedelta) -> st.SearchStrategy[datetime.datetime]:
    # Also from before 1900, which no verdict may be made of.
    return st.one_of(st.integers(0, 100), st.integers(-(10**7), 10**7)).map(lambda number: EPOCH + step * number * 997)


floats = st.one_of(
    st.integers(-40, 40).map(lambda number: number / 4),
    st.floats(width=32),
    st.sampled_from([math.nan, -0.0, 0.0, math.inf, -math.inf]),
)
texts = st.one_of(
    st.text("abé\x00", max_size=3), st.text("abé", max_size=4).map(lambda end: "AAAAAAAAB" + end), st.text(max_size=50)
).filter(lambda text: not any(0xD800 <= ord(letter) < 0xE000 for letter in text))
blobs = st.one_of(st.binary(max_size=3), st.binary(max_size=40))
SECOND, MILLI, MICRO = datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=1), datetime.timedelta(microseconds=1)


def whole(bits: int) -> st.SearchStrategy[int]:
    return near(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TYPES = [
    KeyType("tinyint", pa.int8(), whole(8), int),
    KeyType("smallint", pa.int16(), whole(16), int),
    KeyType("int", pa.int32(), whole(32), int),
    KeyType("bigint", pa.int64(), whole(64), int),
    KeyType("bigint", pa.uint32(), near(0, 2**32 - 1), int),
    KeyType("boolean", pa.bool_(), st.booleans(), int),
    KeyType("date", pa.date32(), st.dates(), lambda day: (day - EPOCH.date()).days),
    KeyType("timestamp", pa.timestamp("us", "UTC"), times(SECOND), micros),
    KeyType("timestamp_ntz", pa.timestamp("us"), times(MICRO), micros),
    KeyType("timestamp_ntz", pa.timestamp("ms"), times(MILLI), micros),
    KeyType("timestamp", pa.timestamp("ns", "UTC"), times(MICRO), micros),
    KeyType("decimal(7,2)", pa.decimal128(7, 2), decimals(7, 2), unscaled(2)),
    KeyType("decimal(18,3)", pa.decimal128(18, 3), decimals(18, 3), unscaled(3), (("store_decimal_as_integer", True),)),
    KeyType("decimal(18,5)", pa.decimal128(9, 2), decimals(9, 2), unscaled(5)),
    KeyType("decimal(38,4)", pa.decimal128(38, 4), decimals(38, 4), long_decimal_key(4)),
    KeyType("decimal(30,4)", pa.decimal128(22, 2), decimals(22, 2), long_decimal_key(4)),
    KeyType("float", pa.float32(), floats, double_key),
    KeyType("double", pa.float64(), floats, double_key),
    KeyType("double", pa.float32(), floats, double_key),
    KeyType("string", pa.string(), texts, lambda text: text.encode()),
    KeyType("binary", pa.binary(), blobs, bytes),
]

Packs = list[list[Any]]


def packs_of(values: st.SearchStrategy[Any], rows: int) -> st.SearchStrategy[Packs]:
    """Packs of sorted slices of random values, so that they differ, and some of anything, with nulls in between."""

    def cut(drawn: tuple[list[Any], list[list[Any]]]) -> Packs:
        ordered = sorted(drawn[0], key=lambda value: (isinstance(value, float) and math.isnan(value), value))
        slices = [ordered[i : i + rows] for i in range(0, len(ordered), rows)]
        return [pack for pack in [*slices, *drawn[1]] if pack]

    mixed = st.lists(st.lists(st.one_of(st.none(), values), min_size=1, max_size=rows), max_size=6)
    return st.tuples(st.lists(values, min_size=rows, max_size=rows * (PACKS - 6)), mixed).map(cut)


def write_with_arrow(path: Path, type: KeyType, packs: Packs) -> None:
    """A pack each."""
    schema = pa.schema([("a", type.arrow)])
    with pq.ParquetWriter(path, schema, **dict(type.options)) as writer:
        for pack in packs:
            writer.write_table(pa.table([pa.array(pack, type.arrow)], schema=schema))


def write_with_duckdb(path: Path, type: KeyType, packs: Packs) -> None:
    """A pack each, its values repeated until there are as many as DuckDB wants."""
    rows = [(pack * (DUCKDB_PACK_ROWS // len(pack) + 1))[:DUCKDB_PACK_ROWS] for pack in packs]
    table = pa.table({"a": pa.array([value for pack in rows for value in pack], type.arrow)})
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("t", table)
        connection.execute(f"copy t to '{path}' (format parquet, row_group_size {DUCKDB_PACK_ROWS})")


def number_filters(keys: list[int], keep_nulls: bool) -> list[KeyFilter]:
    ordered = sorted(set(keys))
    ranges = RangesFilter(np.array(ordered[::2]), np.array([*ordered[1::2], *ordered[-1:]][: len(ordered[::2])]), keep_nulls)
    return [filter_of_keys(np.array(ordered), keep_nulls), filter_of_range(ordered[0], ordered[-1], keep_nulls), ranges]


def byte_filters(keys: list[bytes], keep_nulls: bool) -> list[KeyFilter]:
    ordered = sorted(set(keys))
    offsets = np.cumsum([0, *(len(each) for each in ordered)]).astype(np.int64)
    blob = np.frombuffer(b"".join(ordered), dtype=np.uint8)
    return [BytesSetFilter(offsets, blob, keep_nulls), BytesRangeFilter(ordered[0], ordered[-1], keep_nulls)]


def filters_of(keys: list[Any], keep_nulls: bool) -> list[KeyFilter]:
    if not keys:
        return [EmptyFilter(keep_nulls)]
    return byte_filters(keys, keep_nulls) if isinstance(keys[0], bytes) else number_filters(keys, keep_nulls)


def lets_through(filter: KeyFilter, key: Any) -> bool:
    """The plain meaning of a filter."""
    if key is None:
        return filter.keep_nulls
    if isinstance(filter, EmptyFilter):
        return False
    if isinstance(filter, BytesRangeFilter):
        return bool(filter.low <= key <= filter.high)
    if isinstance(filter, BytesSetFilter):
        blob, offsets = filter.blob.tobytes(), filter.offsets.tolist()
        return any(blob[start:end] == key for start, end in itertools.pairwise(offsets))
    if isinstance(filter, RangesFilter):
        return any(low <= key <= high for low, high in zip(filter.lows.tolist(), filter.highs.tolist(), strict=True))
    return key in set(filter.keys.tolist())


def name_of(type: KeyType) -> str:
    return f"{type.spark} from {type.arrow}"


@pytest.mark.parametrize("write_file", [write_with_arrow, write_with_duckdb], ids=["pyarrow", "duckdb"])
@pytest.mark.parametrize("type", TYPES, ids=name_of)
def test_no_pack_with_a_key_is_rejected_and_some_without_are(
    tmp_path_factory: pytest.TempPathFactory, type: KeyType, write_file: Callable[[Path, KeyType, Packs], None]
) -> None:
    rejected = 0
    by_duckdb = write_file is write_with_duckdb
    path = tmp_path_factory.mktemp("random") / "t.parquet"

    @settings(
        max_examples=max(10, EXAMPLES // 3) if by_duckdb else EXAMPLES,
        deadline=None,
        database=None,
        derandomize=ASKED_EXAMPLES is None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(packs_of(type.values, 3 if by_duckdb else 5), st.lists(type.values, max_size=4), st.booleans())
    def run(packs: Packs, key_values: list[Any], keep_nulls: bool) -> None:
        nonlocal rejected
        write_file(path, type, packs)
        stored = [[None if value is None else type.key(value) for value in pack] for pack in packs]
        assert pq.read_metadata(path).num_row_groups == len(packs)
        store = FooterStore()
        try:
            digest = loaded(store, [path], "a")
            for filter in filters_of([type.key(value) for value in key_values], keep_nulls):
                keep = kept(store, digest, "a", filter, type.spark)
                assert len(keep) == len(packs)
                for pack, keys, keeps in zip(packs, stored, keep, strict=True):
                    assert keeps or not any(lets_through(filter, key) for key in keys), (filter, pack)
                rejected += keep.count(False)
        finally:
            store.close()

    run()
    assert rejected > 10


def test_the_plain_meaning_tells_filters_apart(tmp_path: Path) -> None:
    """The check above can fail: a pack that holds a key is one that the plain meaning lets through."""
    write(tmp_path / "t.parquet", {"a": pa.array([1, 2])})
    for filter in filters_of([1, 5, 9, 12], keep_nulls=False):
        assert lets_through(filter, 1) and not lets_through(filter, 99) and not lets_through(filter, None)
    for filter in filters_of([b"a", b"c"], keep_nulls=True):
        assert lets_through(filter, b"a") and not lets_through(filter, b"d") and lets_through(filter, None)
