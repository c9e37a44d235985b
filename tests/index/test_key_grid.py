"""Many bounds against many keys: the grid says what a search says, wherever the keys lie."""

from __future__ import annotations

import numpy as np
import pytest

from rtfilter.store.sketches.arrays import Int64s
from rtfilter.store.sketches.key_grid import FEWEST_PAIRS, key_between

PAIRS = FEWEST_PAIRS + 5
KEYS = {
    "even": np.arange(0, 10**6, 37, dtype=np.int64),
    "few": np.array([1, 5, 10**5, 10**5 + 1, 3 * 10**5, 4 * 10**5, 5 * 10**5, 6 * 10**5, 10**6], dtype=np.int64),
    "in clusters": np.concatenate([np.arange(300, dtype=np.int64), np.arange(900_000, 900_400, dtype=np.int64)]),
    "with an outlier": np.concatenate([np.arange(0, 2000, 3, dtype=np.int64), np.array([2**62], dtype=np.int64)]),
    "one place": np.full(10, 5000, dtype=np.int64),
    "the whole span": np.sort(np.random.default_rng(2).integers(-(2**63), 2**63 - 1, 5000, dtype=np.int64)),
    "both ends": np.array([-(2**63), *range(8), 2**63 - 1], dtype=np.int64),
}


def by_search(keys: Int64s, lows: Int64s, highs: Int64s) -> list[bool]:
    return list(np.searchsorted(keys, lows, "left") < np.searchsorted(keys, highs, "right"))


@pytest.mark.parametrize("name", list(KEYS))
@pytest.mark.parametrize("width", [1, 40, 100_000])
def test_the_grid_agrees_with_a_search(name: str, width: int) -> None:
    rng = np.random.default_rng(width)
    keys = KEYS[name]
    spots = rng.choice(keys, PAIRS) if name in ("the whole span", "both ends") else rng.integers(-100, 1_001_000, PAIRS)
    lows = np.where(spots > -(2**63) + width, spots - rng.integers(0, width, PAIRS), spots)
    room = np.iinfo(np.int64).max - np.maximum(lows, 0)
    highs = lows + np.minimum(rng.integers(0, width, PAIRS), room)
    found = key_between(keys, lows, highs)
    assert list(found) == by_search(keys, lows, highs)


def test_bounds_over_the_whole_span_hold_every_key() -> None:
    lows, highs = np.full(PAIRS, -(2**63), dtype=np.int64), np.full(PAIRS, 2**63 - 1, dtype=np.int64)
    for keys in KEYS.values():
        assert key_between(keys, lows, highs).all()
