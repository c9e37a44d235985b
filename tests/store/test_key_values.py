"""Values in the domain of keys: int64 order is the order of doubles, byte order that of long decimals."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.store.parquet.key_values import LONG_DECIMAL_LIMIT, NAN_KEY, long_decimals, sortable_doubles, unscaled_values


def key_of(value: float) -> int:
    return int(sortable_doubles(np.array([value]))[0])


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_order_of_keys_is_the_order_of_doubles(one: float, other: float) -> None:
    assert (one < other) == (key_of(one) < key_of(other))
    assert (one == other) == (key_of(one) == key_of(other))


def test_zeros_are_one_and_every_nan_is_one_above_infinity() -> None:
    assert key_of(-0.0) == key_of(0.0) == 0
    odd_nan = struct.unpack("<d", struct.pack("<q", -1))[0]
    assert math.isnan(odd_nan) and key_of(odd_nan) == key_of(math.nan) == NAN_KEY == 0x7FF8000000000000
    assert NAN_KEY > key_of(math.inf) > key_of(1e308)


def test_the_key_of_a_negative_double_is_as_the_protocol_says() -> None:
    bits = struct.unpack("<q", struct.pack("<d", -1.5))[0]
    assert key_of(-1.5) == bits ^ 0x7FFFFFFFFFFFFFFF < 0


unscaled = st.one_of(st.integers(-(10**38), 10**38), st.integers(-3, 3), st.sampled_from([2**63, -(2**63), 2**64, -(2**64)]))


@given(st.lists(unscaled, min_size=1))
def test_long_decimals_are_in_value_order_and_come_back(values: list[int]) -> None:
    words = long_decimals(values)
    assert unscaled_values(words) == values
    pairs = list(zip(*(word.tolist() for word in words), strict=True))
    assert sorted(pairs) == [pairs[i] for i in sorted(range(len(values)), key=lambda i: values[i])]


def test_the_bytes_of_a_long_decimal_are_twos_complement_with_the_sign_flipped() -> None:
    for value in (0, 1, -1, 10**38 - 1, 1 - 10**38):
        stored = bytearray(value.to_bytes(16, "big", signed=True))
        stored[0] ^= 0x80
        assert b"".join(int(word[0]).to_bytes(8, "big") for word in long_decimals([value])) == bytes(stored)


def test_a_value_too_large_for_sixteen_bytes_is_refused() -> None:
    for value in (LONG_DECIMAL_LIMIT, -LONG_DECIMAL_LIMIT - 1):
        with pytest.raises(OverflowError):
            long_decimals([value])
