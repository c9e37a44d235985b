"""Byte strings as words: the order of unsigned bytes, never stricter than it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtfilter.store.parquet.byte_words import (
    MOST_BYTES,
    Words,
    are_sorted,
    widened,
    words_needed,
    words_of_slices,
    words_of_strings,
)


def tuples(words: Words) -> list[tuple[int, ...]]:
    return list(zip(*(word.tolist() for word in words), strict=True))


def test_words_are_big_endian_and_filled_with_zero_bytes() -> None:
    assert tuples(words_of_strings([b"", b"a", b"12345678", b"12345678\xff"], 2)) == [
        (0, 0),
        (0x6100000000000000, 0),
        (0x3132333435363738, 0),
        (0x3132333435363738, 0xFF00000000000000),
    ]


def test_strings_are_cut_out_of_a_blob_that_holds_more() -> None:
    blob = np.frombuffer(b"xxabcyy", dtype=np.uint8)
    assert tuples(words_of_slices(np.array([2, 4, 5], dtype=np.int64), blob, 1)) == tuples(words_of_strings([b"ab", b"c"], 1))


def test_no_strings_have_no_words() -> None:
    assert tuples(words_of_strings([], 3)) == []


@pytest.mark.parametrize(("longest", "words"), [(0, 1), (1, 1), (8, 1), (9, 2), (32, 4), (33, 5), (10**6, 512)])
def test_as_many_words_as_the_longest_string_needs_up_to_512(longest: int, words: int) -> None:
    assert words_needed(longest) == words


def test_widening_adds_zero_words_and_narrowing_drops_words() -> None:
    strings = [b"12345678abc", b"z"]
    assert tuples(widened(words_of_strings(strings, 2), 4)) == tuples(words_of_strings(strings, 4))
    assert tuples(widened(words_of_strings(strings, 4), 1)) == tuples(words_of_strings(strings, 1))


def test_sortedness_is_seen_in_every_word() -> None:
    assert are_sorted(words_of_strings([b"a", b"a", b"a\x01", b"b"]))
    assert are_sorted(words_of_strings([])) and are_sorted(words_of_strings([b"b"]))
    assert not are_sorted(words_of_strings([b"12345678b", b"12345678a"]))
    assert not are_sorted(words_of_strings([b"b", b"a\xff"]))


strings = st.one_of(st.binary(max_size=40), st.text("ab\x00\xff", max_size=40).map(str.encode))


@given(st.lists(strings, min_size=1, max_size=20), st.integers(1, 4))
def test_words_never_turn_the_order_round_and_are_exact_but_for_zero_bytes_and_the_cut(values: list[bytes], words: int) -> None:
    made = tuples(words_of_strings(values, words))
    for one, one_words in zip(values, made, strict=True):
        for other, other_words in zip(values, made, strict=True):
            if one <= other:
                assert one_words <= other_words
            if one_words == other_words:
                cut = min(8 * words, MOST_BYTES)
                assert one[:cut].rstrip(b"\0") == other[:cut].rstrip(b"\0")
