"""Values in the domain that keys are compared in (docs/protocol.md, key domains), where that is not the value itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rtfilter.store.parquet.arrays import Int64s, Levels
from rtfilter.store.parquet.byte_words import Words

# Long decimals are byte strings of this length: two's complement with the sign bit flipped, so that byte order is value order.
DECIMAL_BYTES = 16
LONG_DECIMAL_LIMIT = 1 << 8 * DECIMAL_BYTES - 1
LONGEST_SHORT_DECIMAL = 18

_ALL_BUT_SIGN = np.int64(2**63 - 1)


def sortable_doubles(values: npt.NDArray[np.float64]) -> Int64s:
    """Doubles as int64 in the same order; -0.0 is 0.0, every NaN the same and above infinity."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = plain.view(np.int64)
    return np.where(bits >= 0, bits, bits ^ _ALL_BUT_SIGN)


NAN_KEY = int(sortable_doubles(np.array([np.nan]))[0])


def long_decimals(unscaled: Sequence[int]) -> Words:
    """Unscaled values of long decimals as the two words of their byte strings.

    Raises:
        OverflowError: a value does not fit 16 bytes.
    """
    flipped = b"".join((value + LONG_DECIMAL_LIMIT).to_bytes(DECIMAL_BYTES, "big") for value in unscaled)
    words = np.frombuffer(flipped, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return words[:, 0].copy(), words[:, 1].copy()


def unscaled_values(decimals: Levels) -> list[int]:
    """Unscaled values of decimals, short ones (one level of int64) or long ones (two words)."""
    if decimals[0].dtype == np.int64:
        return [int(value) for value in decimals[0].tolist()]
    pairs = zip(decimals[0].tolist(), decimals[1].tolist(), strict=True)
    return [(high << 64 | low) - LONG_DECIMAL_LIMIT for high, low in pairs]
