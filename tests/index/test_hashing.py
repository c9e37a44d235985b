"""The store's hash is xxHash64 with seed 0, whatever the length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.store.sketches.arrays import byte_strings
from rtfilter.store.sketches.hashing import hash_longs, hash_strings

MASK = 2**64 - 1
P1, P2, P3, P4, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


def step(accumulated: int, lane: int) -> int:
    return rotated(accumulated + lane * P2 & MASK, 31) * P1 & MASK


def by_the_book(data: bytes) -> int:
    """One value at a time, in Python's own numbers."""
    at = 0
    if len(data) >= 32:
        lanes = [P1 + P2 & MASK, P2, 0, -P1 & MASK]
        while at + 32 <= len(data):
            lanes = [step(lane, int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little")) for i, lane in enumerate(lanes)]
            at += 32
        value = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            value = ((value ^ step(0, lane)) * P1 + P4) & MASK
    else:
        value = P5
    value = value + len(data) & MASK
    while at + 8 <= len(data):
        value = (rotated(value ^ step(0, int.from_bytes(data[at : at + 8], "little")), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        value = (rotated(value ^ int.from_bytes(data[at : at + 4], "little") * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        value = rotated(value ^ byte * P5 & MASK, 11) * P1 & MASK
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"xxhash", 0x32DD38952C4BC720),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_published_values_come_out(text: bytes, expected: int) -> None:
    assert int(hash_strings(byte_strings([text]))[0]) == expected == by_the_book(text)


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_strings_of_any_length_hash_as_one_by_one(texts: list[bytes]) -> None:
    assert hash_strings(byte_strings(texts)).tolist() == [by_the_book(text) for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_a_whole_number_hashes_as_its_eight_bytes(values: list[int]) -> None:
    hashes = hash_longs(np.array(values, dtype=np.int64)).tolist()
    assert hashes == [by_the_book(value.to_bytes(8, "little", signed=True)) for value in values]
