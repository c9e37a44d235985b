"""Which packs may hold a value that a filter lets through.

Two certain outcomes and one open one: a pack whose bounds miss every key, or whose values are all null, is rejected (a null equals
nothing, unless the filter keeps nulls); one of which nothing is known is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rtfilter.store.arrays import Bools, Levels
from rtfilter.store.byte_words import widened, words_of_strings
from rtfilter.store.filters import BytesFilter, BytesSetFilter, EmptyFilter, KeyFilter, NumberFilter, RangesFilter, SetFilter
from rtfilter.store.ordered_search import at_least, at_most, key_between, range_between


@dataclass(frozen=True, slots=True)
class PackBounds:
    """One column over many packs, in one of the two domains of keys.

    A pack is `unknown`, or `bounded` by `lows` and `highs`, or neither: then all values are null. Whole numbers are one level
    (int64), byte strings one or more (uint64). `nulls`: may hold a null. `hidden`: a whole number that any bounded pack may hold
    besides what is within its bounds (the NaN of floats). `value_span`: the highest minus the lowest bound plus 1; None for byte
    strings and when no pack has bounds.
    """

    lows: Levels
    highs: Levels
    unknown: Bools
    bounded: Bools
    nulls: Bools
    value_span: int | None
    hidden: int | None = None

    @property
    def is_numbers(self) -> bool:
        return bool(self.lows[0].dtype == np.int64)

    @property
    def memory_bytes(self) -> int:
        return sum(array.nbytes for array in (*self.lows, *self.highs, self.unknown, self.bounded, self.nulls))


def pack_bounds(
    lows: Levels, highs: Levels, has_bounds: Bools, all_null: Bools, nulls: Bools | None = None, hidden: int | None = None
) -> PackBounds:
    """Bounds of packs; without bounds and not all null means unknown. `nulls` None: every pack may hold one."""
    unknown = ~(has_bounds | all_null)
    span = None
    if lows[0].dtype == np.int64 and bool(has_bounds.any()):
        span = int(highs[0][has_bounds].max()) - int(lows[0][has_bounds].min()) + 1
    may_hold_null = np.ones_like(unknown) if nulls is None else nulls
    return PackBounds(lows, highs, unknown, has_bounds, may_hold_null, span, hidden)


def might_match(packs: PackBounds, keys: KeyFilter) -> Bools:
    """For each pack, whether it may hold a value that the filter lets through. Always a new array.

    Raises:
        ValueError: packs with bounds in one domain of keys, a filter in the other.
    """
    kept: Bools = packs.unknown.copy()
    if keys.keep_nulls:
        kept |= packs.nulls
    if isinstance(keys, EmptyFilter) or not bool(packs.bounded.any()):
        return kept
    if isinstance(keys, RangesFilter | SetFilter) != packs.is_numbers:
        raise ValueError(f"a {type(keys).__name__} can't be held against bounds that are {_domain(packs)}")
    if packs.hidden is not None and _holds(keys, packs.hidden):
        kept |= packs.bounded
        return kept
    at = np.flatnonzero(packs.bounded & ~kept & _meets_whole(packs, keys))
    kept[at] = _meets(keys, tuple(level[at] for level in packs.lows), tuple(level[at] for level in packs.highs))
    return kept


def _domain(packs: PackBounds) -> str:
    return "whole numbers" if packs.is_numbers else "byte strings"


def _holds(keys: NumberFilter | BytesFilter, number: int) -> bool:
    one = np.array([number], dtype=np.int64)
    return bool(_meets(keys, (one,), (one,))[0])


def _meets_whole(packs: PackBounds, keys: NumberFilter | BytesFilter) -> Bools:
    """Whether a pack meets the filter's whole span, which is cheap and settles most packs."""
    least, greatest = _span(keys, len(packs.lows))
    meets: Bools = at_most(packs.lows, greatest) & at_least(packs.highs, least)
    return meets


def _span(keys: NumberFilter | BytesFilter, levels: int) -> tuple[Levels, Levels]:
    """The least and the greatest key in `levels` levels, each as arrays of one element."""
    if isinstance(keys, SetFilter):
        return (keys.keys[:1],), (keys.keys[-1:],)
    if isinstance(keys, RangesFilter):
        return (keys.lows[:1],), (keys.highs[-1:],)
    if isinstance(keys, BytesSetFilter):
        words = widened(keys.words, levels)
        return tuple(word[:1] for word in words), tuple(word[-1:] for word in words)
    return words_of_strings([keys.low], levels), words_of_strings([keys.high], levels)


def _meets(keys: NumberFilter | BytesFilter, lows: Levels, highs: Levels) -> Bools:
    """Whether a key lies between the bounds, which meet the filter's whole span."""
    if isinstance(keys, SetFilter):
        return range_between(keys.keys, keys.keys, lows[0], highs[0])
    if isinstance(keys, RangesFilter):
        return range_between(keys.lows, keys.highs, lows[0], highs[0])
    if isinstance(keys, BytesSetFilter):
        return key_between(widened(keys.words, len(lows)), lows, highs)
    return np.ones(len(lows[0]), dtype=np.bool_)
