"""Which packs may hold a key of a filter.

Two certain outcomes and one open one: a pack whose bounds miss every key, or whose values are all null, is rejected (a null equals
nothing); one of which nothing is known is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rtfilter.store.filters import EmptyFilter, KeyFilter, RangeFilter

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackBounds:
    """One column over many packs. A pack is `unknown`, or `bounded` by `lows` and `highs`, or neither: then all values are null."""

    lows: Int64s
    highs: Int64s
    unknown: Bools
    bounded: Bools
    value_span: int | None

    @property
    def memory_bytes(self) -> int:
        return self.lows.nbytes + self.highs.nbytes + self.unknown.nbytes + self.bounded.nbytes


def pack_bounds(lows: Int64s, highs: Int64s, has_bounds: Bools, all_null: Bools) -> PackBounds:
    """Bounds of packs; without bounds and not all null means unknown.

    `value_span` of the result is the highest minus the lowest bound plus 1, None when no pack has bounds.
    """
    unknown = ~(has_bounds | all_null)
    span = int(highs[has_bounds].max()) - int(lows[has_bounds].min()) + 1 if bool(has_bounds.any()) else None
    return PackBounds(lows, highs, unknown, has_bounds, span)


def might_match(packs: PackBounds, keys: KeyFilter) -> Bools:
    """For each pack, whether it may hold a value that the filter lets through."""
    if isinstance(keys, EmptyFilter):
        return np.array(packs.unknown)
    if isinstance(keys, RangeFilter):
        near: Bools = packs.unknown | (packs.bounded & overlaps_range(packs, keys.low, keys.high))
        return near
    kept: Bools = packs.unknown | _holds_a_key(packs, keys.keys)
    return kept


def overlaps_range(packs: PackBounds, low: int, high: int) -> Bools:
    """Whether [lows, highs] and [low, high] meet; says nothing about packs without bounds."""
    meets: Bools = (packs.lows <= high) & (packs.highs >= low)
    return meets


def _holds_a_key(packs: PackBounds, keys: Int64s) -> Bools:
    """Whether a key lies within a pack's bounds: more keys are below or at its end than are below its start."""
    near: Bools = packs.bounded & overlaps_range(packs, int(keys[0]), int(keys[-1]))
    at = np.flatnonzero(near)
    near[at] = np.searchsorted(keys, packs.lows[at], "left") < np.searchsorted(keys, packs.highs[at], "right")
    return near
