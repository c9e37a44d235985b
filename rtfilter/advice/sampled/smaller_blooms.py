"""Bloom filters of sampled packs with more false positives, made from those that are there: for budgets that are tight.

A filter that is folded is the same as one of that size with the same keys (`folded`). How many keys it has, its bits tell.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rtfilter.advice.sampled.pack_sample import PackSample
from rtfilter.store.sketches.arrays import Int64s, UInt32s
from rtfilter.store.sketches.bloom import BLOCK_BYTES, WORDS_PER_BLOCK, Blooms, bloom_bytes, folded
from rtfilter.store.sketches.kinds import Bloom

FALSE_POSITIVES = (0.05, 0.1, 0.2)
_BITS = 32


def with_smaller_blooms(sample: PackSample, sketch: Bloom) -> tuple[PackSample, tuple[Bloom, ...]]:
    """The sample with further filters of the same column, and these: each smaller than the one before it."""
    rows = sample.sketches[sketch]
    if not isinstance(rows.sketch, Blooms):
        return sample, ()
    sketches, sizes, found = dict(sample.sketches), dict(sample.sizes), list[Bloom]()
    size = int(rows.sketch.blocks.sum())
    for fpp in FALSE_POSITIVES:
        smaller = _smaller(rows.sketch, fpp)
        blocks = int(smaller.blocks.sum())
        if fpp > sketch.fpp and blocks < size:
            made, size = Bloom(sketch.column, fpp), blocks
            sketches[made] = replace(rows, sketch=smaller)
            sizes[made] = round(sample.sizes[sketch] * blocks / max(1, int(rows.sketch.blocks.sum())))
            found.append(made)
    return replace(sample, sketches=sketches, sizes=sizes), tuple(found)


def _smaller(blooms: Blooms, fpp: float) -> Blooms:
    parts: list[UInt32s] = []
    blocks: list[int] = []
    for first, here, is_valid in zip(blooms.first_words.tolist(), blooms.blocks.tolist(), blooms.valid.tolist(), strict=True):
        words = blooms.words[first : first + here * WORDS_PER_BLOCK]
        fewer = min(here, bloom_bytes(_keys(words), fpp) // BLOCK_BYTES) if is_valid else 0
        parts.append(folded(words, fewer) if fewer else words[:0])
        blocks.append(fewer)
    counts: Int64s = np.array(blocks, dtype=np.int64)
    firsts = (np.cumsum(counts) - counts) * WORDS_PER_BLOCK
    return Blooms(firsts, counts, np.concatenate(parts) if parts else blooms.words[:0], fpp, blooms.valid)


def _keys(words: UInt32s) -> int:
    """About how many keys a filter has: each sets one bit in every word of its block, so a bit is left unset by n of them with
    exp(-n / bits of these words)."""
    bits = len(words) // WORDS_PER_BLOCK * _BITS
    unset = 1.0 - float(np.unpackbits(words.view(np.uint8)).mean())
    return max(1, round(-bits * math.log(unset))) if unset > 0 else bits * _BITS
