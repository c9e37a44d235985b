"""Byte strings as a few 64-bit words, so that numpy compares them as unsigned bytes and in their true order.

A string is cut to as many words as are asked for, and filled up with zero bytes. Both keep the order, but not strictly: s <= t
gives words(s) <= words(t), while different strings may share their words ("a" and "a" with a zero byte behind it, or two that
differ behind the cut). So a test on words that are all cut alike may keep a pack too many and never rejects one too many. Numpy's
own strings are no way: they drop zero bytes at the end.

Memory: 16 bytes for a pack's two bounds and each word that the longest bound needs, so a million packs take 16 MB for strings of up
to 8 bytes, 32 MB for the 16 bytes of TPC-DS's ids and of long decimals. Longer strings are cut where many of them would take more
than MOST_TOGETHER_BYTES, though never before 64 bytes. Offsets and a blob would take 16 MB for the offsets alone, and as many bytes
as bounds happen to have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = tuple[npt.NDArray[np.uint64], ...]

WORD_BYTES = 8
# As long as bounds in footers are: writers leave longer ones out, or cut them.
MOST_WORDS = 512
MOST_BYTES = WORD_BYTES * MOST_WORDS
# So many words strings always get, however many strings there are.
SHORT_WORDS = 8
MOST_TOGETHER_BYTES = 64 << 20

# By number of bytes that a string has in a word: the bits of these bytes.
_HELD_BITS = np.array([((1 << 8 * held) - 1) << 8 * (WORD_BYTES - held) for held in range(WORD_BYTES + 1)], dtype=np.uint64)


def words_needed(longest_bytes: int) -> int:
    """Words that hold a string of this many bytes, at least 1 and at most MOST_WORDS."""
    return min(max(1, -(-longest_bytes // WORD_BYTES)), MOST_WORDS)


def words_for_many(count: int) -> int:
    """Words that each of `count` strings may take, at least SHORT_WORDS."""
    return min(MOST_WORDS, max(SHORT_WORDS, MOST_TOGETHER_BYTES // (WORD_BYTES * max(1, count))))


def words_of_slices(offsets: npt.NDArray[np.int64], blob: npt.NDArray[np.uint8], words: int = SHORT_WORDS) -> Words:
    """Words of the n strings that n + 1 offsets cut out of a blob; the first word of each, the second of each, and so on."""
    filled = np.concatenate([blob, np.zeros(words * WORD_BYTES, dtype=np.uint8)])
    # The big-endian word that begins at each byte.
    at_byte: npt.NDArray[Any] = np.ndarray((len(filled) - WORD_BYTES + 1,), dtype=">u8", buffer=filled, strides=(1,))
    starts, lengths = offsets[:-1], np.diff(offsets)
    return tuple(
        at_byte[starts + number * WORD_BYTES].astype(np.uint64) & _HELD_BITS[np.clip(lengths - number * WORD_BYTES, 0, WORD_BYTES)]
        for number in range(words)
    )


def words_of_strings(strings: Sequence[bytes], words: int = SHORT_WORDS) -> Words:
    """Words of these strings."""
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in strings], out=offsets[1:])
    return words_of_slices(offsets, np.frombuffer(b"".join(strings), dtype=np.uint8), words)


def widened(words: Words, count: int) -> Words:
    """The same strings in `count` words: zero words behind them, or what is behind `count` words cut off."""
    return (*words[:count], *(np.zeros_like(words[0]) for _ in range(count - len(words))))


def tied_neighbours(words: Words) -> npt.NDArray[np.intp]:
    """The numbers of strings whose words are those of the one behind them."""
    tied = np.ones(max(0, len(words[0]) - 1), dtype=np.bool_)
    for word in words:
        tied &= word[:-1] == word[1:]
    return np.flatnonzero(tied)


def are_sorted(words: Words) -> bool:
    """Whether each string's words are at or above those of the one before."""
    tied = np.ones(max(0, len(words[0]) - 1), dtype=np.bool_)
    for word in words:
        if bool(np.any(tied & (word[:-1] > word[1:]))):
            return False
        tied &= word[:-1] == word[1:]
    return True
