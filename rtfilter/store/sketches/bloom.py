"""Split-block bloom filters of packs.

Layout and salts are those of Parquet's bloom filters (parquet-format, BloomFilter.md): blocks of eight 32-bit words; the upper
half of a hash chooses the block, the lower half one bit in each word. The number of blocks is a power of two, and block `i` of a
filter of 2n blocks belongs to block `i // 2` of one of n: ORing neighbours folds a filter onto half its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rtfilter.store.sketches.arrays import Bools, Int64s, UInt32s, UInt64s, little_endian
from rtfilter.store.sketches.column_tests import ByteKeys, KeyBloom, LongKeys, Values, enumerated
from rtfilter.store.sketches.columns import string_column
from rtfilter.store.sketches.domain import BYTES, LONG, PackValues
from rtfilter.store.sketches.hashing import hash_longs, hash_strings

WORDS_PER_BLOCK = 8
BLOCK_BYTES = 32
LARGEST_BYTES = 16 << 20
_SALTS = np.array([0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], dtype=np.uint32)
# With so many expected false positives among the keys a pack is kept in all but one of 150 cases: asking is not worth it.
MOST_FALSE_POSITIVES = 5.0
_PAIRS_AT_ONCE = 1 << 18
_MOST_BLOCKS_AT_ONCE = 1 << 15

FIELDS = {LONG: [("bits", pa.binary())], BYTES: [("bits", pa.binary())]}


def bloom_bytes(distinct: int, fpp: float) -> int:
    """The size of a filter: -8 n / ln(1 - fpp^(1/8)) bits in blocks, their number rounded up to a power of two, at most 16 MiB.

    The formula is that of Putze, Sanders and Singler (Cache-, Hash- and Space-Efficient Bloom Filters) for eight bits a key.
    """
    bits = -8.0 * distinct / math.log(1.0 - fpp ** (1.0 / 8.0))
    blocks = max(1, math.ceil(bits / (8 * BLOCK_BYTES)))
    return min(LARGEST_BYTES, BLOCK_BYTES << (blocks - 1).bit_length())


def build(values: PackValues, fpp: float) -> dict[str, Any]:
    """The row of one pack."""
    if values.longs is not None:
        hashes = hash_longs(values.longs)
    else:
        assert values.strings is not None
        hashes = hash_strings(values.strings)
    return {"bits": little_endian(bloom_words(hashes, bloom_bytes(len(hashes), fpp) // BLOCK_BYTES))}


def bloom_words(hashes: UInt64s, blocks: int) -> UInt32s:
    """The words of a filter of `blocks` blocks (a power of two) with these hashes in it."""
    bits = np.zeros(blocks * BLOCK_BYTES * 8, dtype=np.uint8)
    first_word = _blocks(hashes, np.uint64(blocks)).astype(np.int64) * WORDS_PER_BLOCK
    for word in range(WORDS_PER_BLOCK):
        bits[(first_word + word) * 32 + _bit(hashes, word).astype(np.int64)] = 1
    return np.packbits(bits, bitorder="little").view("<u4")


def folded(words: UInt32s, blocks: int) -> UInt32s:
    """A filter brought down to `blocks` blocks: the same as one of that size with the same keys."""
    here = len(words) // WORDS_PER_BLOCK
    smaller: UInt32s = np.bitwise_or.reduce(words.reshape(blocks, here // blocks, WORDS_PER_BLOCK), axis=1)
    return smaller.reshape(-1)


def may_hold(words: UInt32s, hashes: UInt64s) -> Bools:
    """For each hash, whether a filter may hold its key."""
    first = _blocks(hashes, np.uint64(len(words) // WORDS_PER_BLOCK)).astype(np.int64) * WORDS_PER_BLOCK
    found = np.ones(len(hashes), dtype=np.bool_)
    for word in range(WORDS_PER_BLOCK):
        found &= (words[first + word] >> _bit(hashes, word)) & np.uint32(1) != 0
    return found


def chance_meetings(words: UInt32s, fpp: float) -> float:
    """Of how many blocks one expects, by chance, to be met in a pack's filter of the same size and with other keys.

    A filter made for `fpp` has at most the share fpp^(1/8) of its bits set, so a word in which c bits are set shares one with it
    with the probability 1 - (1 - fpp^(1/8))^c; a block meets when all of its words do.
    """
    unset = 1.0 - fpp ** (1.0 / WORDS_PER_BLOCK)
    bits_set = np.unpackbits(words.astype("<u4").view(np.uint8)).reshape(-1, 32).sum(axis=1)
    return float((1.0 - unset**bits_set).reshape(-1, WORDS_PER_BLOCK).prod(axis=1).sum())


def is_filter(byte_count: int) -> bool:
    """Whether a number of bytes can be that of a filter."""
    return BLOCK_BYTES <= byte_count <= LARGEST_BYTES and byte_count & (byte_count - 1) == 0


def _blocks(hashes: UInt64s, blocks: Any) -> UInt64s:
    chosen: UInt64s = ((hashes >> np.uint64(32)) * blocks) >> np.uint64(32)
    return chosen


def _bit(hashes: UInt64s, word: int) -> UInt32s:
    bit: UInt32s = ((hashes & np.uint64(0xFFFFFFFF)).astype(np.uint32) * _SALTS[word]) >> np.uint32(27)
    return bit


@dataclass(frozen=True, slots=True)
class Blooms:
    """Filters end to end: that of pack `i` has `blocks[i]` blocks from word `first_words[i]` on."""

    first_words: Int64s
    blocks: Int64s
    words: UInt32s
    fpp: float
    valid: Bools

    def might_hold(self, values: Values, at: Int64s) -> Bools:
        asked = enumerated(values)
        if isinstance(asked, KeyBloom):
            return self._meets(asked.words, at)
        if isinstance(asked, LongKeys | ByteKeys) and len(asked.keys) * self.fpp <= MOST_FALSE_POSITIVES:
            return self._any_of(asked.hashes(), at)
        return np.ones(len(at), dtype=np.bool_)

    def holds_only(self, values: Values, at: Int64s) -> Bools:
        """A bloom filter can't tell: never sure."""
        return np.zeros(len(at), dtype=np.bool_)

    def _meets(self, words: UInt32s, at: Int64s) -> Bools:
        """Which of the packs `at` may share a key with another filter: both are folded to the size of the smaller one, and a
        shared key leaves a bit in each word of one block, in both. Only blocks where the other filter has a key are looked at.
        """
        found = np.ones(len(at), dtype=np.bool_)
        here = len(words) // WORDS_PER_BLOCK
        for blocks in np.unique(self.blocks[at]).tolist():
            mine = np.flatnonzero(self.blocks[at] == blocks)
            shared = min(blocks, here)
            asked = folded(words, shared).reshape(shared, WORDS_PER_BLOCK)
            if chance_meetings(asked, self.fpp) > MOST_FALSE_POSITIVES:
                continue
            busy = np.flatnonzero((asked != 0).all(axis=1))
            # Where the pack's filter is the larger one, its blocks that fold onto a busy one.
            folds = (busy[:, None] * (blocks // shared) + np.arange(blocks // shared)).reshape(-1) * WORDS_PER_BLOCK
            step = max(1, _MOST_BLOCKS_AT_ONCE // max(1, len(folds)))
            for begin in range(0, len(mine), step):
                part = mine[begin : begin + step]
                places = self.first_words[at[part]][:, None, None] + folds[:, None] + np.arange(WORDS_PER_BLOCK)
                there = self.words[places].reshape(len(part), len(busy), blocks // shared, WORDS_PER_BLOCK)
                both = np.bitwise_or.reduce(there, axis=2) & asked[busy]
                found[part] = (both != 0).all(axis=2).any(axis=1)
        return found

    def _any_of(self, hashes: UInt64s, at: Int64s) -> Bools:
        """Whether one of the hashes is in a pack's filter; pairs of pack and hash are asked together, word by word."""
        masks = [np.uint32(1) << _bit(hashes, word) for word in range(WORDS_PER_BLOCK)]
        found = np.zeros(len(at), dtype=np.bool_)
        begin = 0
        while begin < len(hashes):
            open_packs = np.flatnonzero(~found)
            if not len(open_packs):
                break
            end = min(len(hashes), begin + max(1, _PAIRS_AT_ONCE // len(open_packs)))
            for first in range(0, len(open_packs), _PAIRS_AT_ONCE):
                part = open_packs[first : first + _PAIRS_AT_ONCE]
                found[self._hits(hashes, masks, slice(begin, end), part, at)] = True
            begin = end
        return found

    def _hits(self, hashes: UInt64s, masks: list[UInt32s], keys: slice, part: Int64s, at: Int64s) -> Int64s:
        """Which of the packs `at[part]` hold one of a slice of the hashes."""
        packs = at[part]
        chosen = _blocks(hashes[keys][None, :], self.blocks[packs].astype(np.uint64)[:, None]).astype(np.int64)
        words = (self.first_words[packs][:, None] + chosen * WORDS_PER_BLOCK).reshape(-1)
        count = chosen.shape[1]
        pair = np.arange(len(words), dtype=np.int64)
        for word in range(WORDS_PER_BLOCK):
            set_there = (self.words[words[pair] + word] & masks[word][keys][pair % count]) != 0
            pair = pair[set_there]
        hit: Int64s = part[pair // count]
        return hit


def load(batches: Sequence[Any], domain: str, fpp: float) -> Blooms:
    """Filters out of record batches of a sketch file; one of a size that no filter has is not valid."""
    strings, valid = string_column(pa.Table.from_batches(batches)["bits"])
    lengths = strings.lengths
    sizes_fit = np.array([is_filter(length) for length in lengths.tolist()], dtype=np.bool_)
    first = int(strings.offsets[0])
    words_end = first + (int(strings.offsets[-1]) - first) // 4 * 4
    # A size that does not fit shifts what comes after it off the words' grid.
    aligned = (strings.offsets[:-1] - first) % 4 == 0
    words = np.frombuffer(strings.blob[first:words_end].tobytes(), dtype="<u4")
    return Blooms((strings.offsets[:-1] - first) // 4, lengths // BLOCK_BYTES, words, fpp, valid & sizes_fit & aligned)
