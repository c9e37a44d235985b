"""Every kind of sketch over random packs and tests: no row that passes is in a rejected pack, no other in an accepted one."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtfilter.store.parquet.key_values import sortable_doubles
from rtfilter.store.sketches.arrays import byte_strings
from rtfilter.store.sketches.bloom import bloom_words
from rtfilter.store.sketches.cmap import key_cmap
from rtfilter.store.sketches.column_tests import (
    AnyValue,
    BytePrefix,
    ByteRange,
    KeyBloom,
    NoValue,
    Values,
    ValueTest,
    byte_keys,
    long_keys,
    long_ranges,
)
from rtfilter.store.sketches.domain import LONG, domain_of
from rtfilter.store.sketches.hashing import hash_longs, hash_strings
from rtfilter.store.sketches.histogram import key_histogram
from rtfilter.store.sketches.kinds import Bloom, CMap, Histogram, MinMax, Sketch, ValueSet
from tests.cases_share import cases
from tests.index.sketching import ARROW, judged, sketched

EPOCH = datetime.datetime(1970, 1, 1)
US = datetime.timedelta(microseconds=1)
LONG_SKETCHES: tuple[Sketch, ...] = (MinMax("a"), Bloom("a", 0.05), ValueSet("a", 4), Histogram("a"))
BYTE_SKETCHES: tuple[Sketch, ...] = (MinMax("a"), Bloom("a", 0.05), ValueSet("a", 4), CMap("a"))


def sortable(value: float) -> int:
    return int(sortable_doubles(np.array([value], dtype=np.float64))[0])


# The default context rounds to 28 digits.
EXACT = Context(prec=60)
# What stands for a value in the domain of its type.
KEY_OF: dict[str, Callable[[Any], Any]] = {
    "boolean": int,
    "date": lambda day: (day - datetime.date(1970, 1, 1)).days,
    "timestamp": lambda time: (time - EPOCH) // US,
    "timestamp_ntz": lambda time: (time - EPOCH) // US,
    "float": lambda value: sortable(float(np.float32(value))),
    "double": sortable,
    "decimal(9,2)": lambda value: int(value.scaleb(2, EXACT)),
    "decimal(30,4)": lambda value: (int(value.scaleb(4, EXACT)) + 2**127).to_bytes(16, "big"),
    "string": str.encode,
}
near = st.integers(-60, 60)
times = st.datetimes(datetime.datetime(1900, 1, 2), datetime.datetime(2200, 1, 1))
floats = st.sampled_from([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), -float("inf")]) | st.floats(width=32)
words = st.text("ab", max_size=4).map(lambda tail: "item-" + tail) | st.text(max_size=80)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": near,
    "int": near | st.integers(-(2**31), 2**31 - 1),
    "bigint": near | st.integers(-(2**63), 2**63 - 1),
    "date": st.dates(datetime.date(1582, 10, 15)),
    "timestamp": times,
    "timestamp_ntz": times,
    "boolean": st.booleans(),
    "float": floats,
    "double": floats,
    "decimal(9,2)": st.decimals(-9999999, 9999999, places=2),
    "decimal(30,4)": st.decimals(Decimal(-(10**26)) + 1, Decimal(10**26) - 1, places=4) | near.map(Decimal),
    "string": words,
    "binary": st.binary(max_size=3) | st.sampled_from([b"a", b"a\0", b"a\0\0", b"\xff", b"\xff\xff", b"x" * 40, b"x" * 40 + b"\0"]),
}


def key_of(value: Any, spark_type: str) -> Any:
    return KEY_OF[spark_type](value) if spark_type in KEY_OF else value


@st.composite
def long_tests(draw: st.DrawFn, keys: Sequence[int]) -> tuple[Values, Callable[[int], bool]]:
    form = draw(st.sampled_from(["keys", "ranges", "bloom", "histogram", "any", "none"]))
    chosen = sorted(set(keys))
    if form == "any":
        return AnyValue(), lambda value: True
    if form == "none" or not chosen:
        return NoValue(), lambda value: False
    if form == "keys":
        return long_keys(chosen), lambda value: value in chosen
    if form == "ranges":
        ranges = [(a, b) for a, b in zip(chosen[::2], chosen[1::2], strict=False)]
        return long_ranges(ranges), lambda value: any(low <= value <= high for low, high in ranges)
    array = np.array(chosen, dtype=np.int64)
    values = KeyBloom(bloom_words(hash_longs(array), draw(st.sampled_from([1, 2, 8])))) if form == "bloom" else key_histogram(array)
    return values, lambda value: value in chosen


@st.composite
def byte_tests(draw: st.DrawFn, keys: Sequence[bytes]) -> tuple[Values, Callable[[bytes], bool]]:
    form = draw(st.sampled_from(["keys", "range", "from", "to", "prefix", "bloom", "cmap", "any", "none"]))
    chosen = sorted(set(keys))
    if form == "any":
        return AnyValue(), lambda value: True
    if form == "none" or not chosen:
        return NoValue(), lambda value: False
    low, high = chosen[0], chosen[-1]
    if form == "range":
        return ByteRange(low, high), lambda value: low <= value <= high
    if form == "from":
        return ByteRange(low, None), lambda value: low <= value
    if form == "to":
        return ByteRange(None, high), lambda value: value <= high
    prefix = high[: draw(st.integers(1, 8))]
    if form == "prefix" and prefix:
        return BytePrefix(prefix), lambda value: value.startswith(prefix)
    if form == "bloom":
        hashes = hash_strings(byte_strings(chosen))
        return KeyBloom(bloom_words(hashes, draw(st.sampled_from([1, 2, 8])))), lambda value: value in chosen
    if form == "cmap":
        return key_cmap(byte_strings(chosen)), lambda value: value in chosen
    return byte_keys(chosen), lambda value: value in chosen


@pytest.mark.parametrize("spark_type", sorted(ARROW))
@settings(max_examples=cases(80), deadline=None)
@given(data=st.data())
def test_no_verdict_is_wrong(spark_type: str, data: st.DataObject) -> None:
    values = VALUES[spark_type]
    packs = data.draw(st.lists(st.lists(values | st.none(), max_size=12), min_size=1, max_size=6))
    there = [key_of(value, spark_type) for pack in packs for value in pack if value is not None]
    others = data.draw(st.lists(values, max_size=6))
    picked = data.draw(st.lists(st.sampled_from(there), max_size=6)) if there else []
    keys = [key_of(value, spark_type) for value in others] + picked
    is_long = domain_of(spark_type) == LONG
    tests: st.SearchStrategy[tuple[Values, Callable[[Any], bool]]] = long_tests(keys) if is_long else byte_tests(keys)
    tested, passes = data.draw(tests)
    nulls = data.draw(st.booleans())
    # Blooms, maps and histograms of keys let more through than the keys themselves.
    exact = not isinstance(tested, KeyBloom) and data.draw(st.booleans())
    truth = [[nulls if value is None else passes(key_of(value, spark_type)) for value in pack] for pack in packs]
    for sketch in LONG_SKETCHES if is_long else BYTE_SKETCHES:
        if exact and type(tested).__name__ in ("KeyCMap", "KeyHistogram"):
            exact = False
        outcome = judged(sketched(packs, spark_type, sketch), ValueTest(tested, nulls, exact))
        for pack, rows in enumerate(truth):
            assert not (outcome.reject[pack] and any(rows)), (sketch, packs[pack], tested)
            assert not (outcome.accept[pack] and not all(rows)), (sketch, packs[pack], tested)


@pytest.mark.parametrize(
    ("values", "rejected"),
    [
        (BytePrefix(b"\xc3"), [True, False, True]),
        (BytePrefix(b"i"), [False, False, True]),
        (ByteRange(b"\xc3", None), [True, False, True]),
        (ByteRange(None, b"j"), [False, False, True]),
        (byte_keys([b"\xc3"]), [True, False, True]),
    ],
    ids=str,
)
def test_bounds_are_compared_as_unsigned_bytes_whatever_their_lengths(values: Values, rejected: list[bool]) -> None:
    """Numpy before 2.0 compares two byte strings as signed bytes where their widths differ."""
    packs = [["item-", "item-z"], ["item-", "é"], ["~", "~~"]]
    outcome = judged(sketched(packs, "string", MinMax("a")), ValueTest(values, False, False))
    assert outcome.reject.tolist() == rejected
