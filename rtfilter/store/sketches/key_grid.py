"""Whether sorted keys have one between two bounds, for millions of pairs of bounds.

A binary search per pair costs a tenth of a microsecond and more. A grid over the span of the keys, with the number of keys below
each of its cells, settles nearly all pairs with two look-ups; the rest is searched.
"""

from __future__ import annotations

import numpy as np

from rtfilter.store.sketches.arrays import Bools, Int64s, UInt64s

# Fewer pairs or keys are searched at once: the grid would cost more than it saves.
FEWEST_PAIRS = 20_000
FEWEST_KEYS = 8
_LEAST_BITS, _MOST_BITS = 12, 19


def key_between(keys: Int64s, lows: Int64s, highs: Int64s) -> Bools:
    """For each pair of bounds (both included) whether one of the sorted keys (at least one) lies between them."""
    if len(lows) < FEWEST_PAIRS or len(keys) < FEWEST_KEYS:
        return _searched(keys, lows, highs)
    first, last = keys[0], keys[-1]
    # Up to eight cells a key: most cells are empty then, and a pair within an empty one is settled too.
    bits = min(_MOST_BITS, max(_LEAST_BITS, (8 * len(keys)).bit_length()))
    span = int(last) - int(first)
    shift = np.uint64(max(0, span.bit_length() - bits))
    cells = (span >> int(shift)) + 1
    below = np.zeros(cells + 2, dtype=np.int32)
    np.cumsum(np.bincount(_cell(keys, first, shift), minlength=cells + 1), out=below[1:])
    low_cell = _cell(np.clip(lows, first, last), first, shift)
    high_cell = _cell(np.clip(highs, first, last), first, shift)
    near = (highs >= first) & (lows <= last)
    # A key in a cell strictly between those of the bounds is between the bounds; one in their own cells may be.
    found: Bools = near & (below[high_cell] > below[low_cell + 1])
    near &= below[high_cell + 1] > below[low_cell]
    near &= ~found
    rest = np.flatnonzero(near)
    found[rest] = _searched(keys, lows[rest], highs[rest])
    return found


def _searched(keys: Int64s, lows: Int64s, highs: Int64s) -> Bools:
    at = np.searchsorted(keys, lows, "left")
    there: Bools = at < len(keys)
    there &= keys[np.minimum(at, len(keys) - 1)] <= highs
    return there


def _cell(values: Int64s, first: np.int64, shift: np.uint64) -> Int64s:
    # Unsigned: the span of int64 needs all 64 bits.
    distance: UInt64s = values.view(np.uint64) - np.asarray(first).view(np.uint64)
    return (distance >> shift).view(np.int64)
