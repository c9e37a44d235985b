"""Rows of a tree by their keys: a few whole numbers that are equal where rows are, and in order as a tree's rows are.

A key has a field for its *block* and one for each dimension, in split order. The star of a dimension is the code behind all others.
The rows without stars are block 0. Rows whose last star is dimension d are block d + 1. Behind these are the rows that are made to
sum up nodes, those of the root last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

# Of a long without its sign.
_WORD_BITS = 63
# Blocks are 0 to 2 * 12 + 1.
_BLOCK_BITS = 5

Words = Sequence[NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class _Field:
    word: int
    shift: int
    bits: int

    @property
    def ones(self) -> int:
        return ((1 << self.bits) - 1) << self.shift


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """Where the fields of keys are; `sizes`: how many codes each dimension has."""

    sizes: tuple[int, ...]
    block: _Field
    fields: tuple[_Field, ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> KeyLayout:
        """A layout for dimensions of so many codes."""
        taken, word, places = _BLOCK_BITS, 0, []
        for size in sizes:
            bits = size.bit_length()
            if taken + bits > _WORD_BITS:
                taken, word = 0, word + 1
            taken += bits
            places.append((word, taken, bits))
        # The first field of a word has the highest bits.
        fields = tuple(_Field(word, _WORD_BITS - end, bits) for word, end, bits in places)
        return cls(tuple(sizes), _Field(0, _WORD_BITS - _BLOCK_BITS, _BLOCK_BITS), fields)

    @property
    def names(self) -> list[str]:
        """The columns of a key."""
        return [f"k{number}" for number in range(self.fields[-1].word + 1)]

    def packed(self, codes: Sequence[Column]) -> list[Column]:
        """The key of a row without stars, by its codes."""
        words = []
        for number, name in enumerate(self.names):
            mine = [(code, field) for code, field in zip(codes, self.fields, strict=True) if field.word == number]
            value = F.lit(0).cast("bigint")
            for code, field in mine:
                value = value.bitwiseOR(F.shiftleft(code.cast("bigint"), field.shift))
            words.append(value.alias(name))
        return words

    def prefix(self, level: int) -> list[Column]:
        """What tells nodes of a level apart, of the keys of their rows."""
        last = self._last(level)
        return [*(F.col(name) for name in self.names[: last.word]), F.shiftright(F.col(self.names[last.word]), last.shift)]

    def starred(self, block: int, dimensions: Collection[int]) -> list[Column]:
        """Keys with stars in place of these dimensions, in another block."""
        changed = [(self.block, block), *((self.fields[each], self.sizes[each]) for each in dimensions)]
        words = []
        for number, name in enumerate(self.names):
            mine = [(field, value) for field, value in changed if field.word == number]
            kept = (1 << _WORD_BITS) - 1
            for field, _ in mine:
                kept &= ~field.ones
            bits = sum(value << field.shift for field, value in mine)
            words.append(F.col(name).bitwiseAND(F.lit(kept)).bitwiseOR(F.lit(bits)).alias(name))
        return words

    def star_block(self, dimension: int) -> int:
        """The block of rows whose last star is this dimension."""
        return dimension + 1

    def made_block(self, level: int) -> int:
        """The block of rows that sum up nodes of this level."""
        return 2 * len(self.sizes) + 1 - level

    def codes(self, words: Words) -> NDArray[np.int32]:
        """[rows, dimensions] codes, the star among them, out of keys."""
        return self._codes(words, len(self.sizes))

    def prefix_codes(self, words: Words, level: int) -> NDArray[np.int32]:
        """[nodes, level] codes, the star among them, out of prefixes of a level."""
        return self._codes([*words[:-1], words[-1] << self._last(level).shift], level)

    def _codes(self, words: Words, level: int) -> NDArray[np.int32]:
        found = np.empty((len(words[0]), level), np.int32)
        for number, field in enumerate(self.fields[:level]):
            found[:, number] = (words[field.word] & field.ones) >> field.shift
        return found

    def blocks(self, words: Words, level: int) -> NDArray[np.int64]:
        """The blocks of prefixes of a level."""
        last = self._last(level)
        found: NDArray[np.int64] = words[0] >> (self.block.shift - (last.shift if last.word == 0 else 0))
        return found

    def _last(self, level: int) -> _Field:
        return self.fields[level - 1] if level else self.block
