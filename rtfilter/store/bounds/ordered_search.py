"""Which of many intervals meet one of many ranges, without a loop over either.

A value is a tuple of levels (arrays of any number type) that are compared one after the other: a whole number is one level, a byte
string one per word. Intervals come in the order of their lows, so that the ranges, which are fewer or come in order at least, are
looked up among them and not the other way round: that costs the same however values are spread and whatever they begin with.
(Only whole numbers, which are one level, are looked up the other way where there are more ranges than intervals.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rtfilter.store.parquet.arrays import Bools, Int64s, Levels


def in_order(values: Levels) -> npt.NDArray[np.intp]:
    """The numbers that put these values in order."""
    # Stable sorting is also the one that is quick on what is in order already.
    order: npt.NDArray[np.intp] = np.argsort(values[0], kind="stable") if len(values) == 1 else np.lexsort(values[::-1])
    return order


def meets_a_range(lows: Levels, highs: Levels, range_lows: Levels, range_highs: Levels) -> Bools:
    """For each interval [low, high], in order of their lows, whether it meets one of the sorted ranges, at least one.

    Ranges may touch but not overlap. An interval meets one exactly if it meets the first range that does not end before it begins.
    """
    if len(lows) == 1 and len(range_highs[0]) > len(lows[0]):
        return _meets_one_of_more(lows[0], highs[0], range_lows[0], range_highs[0])
    # So many intervals begin at or before the end of each range; those between two counts have the latter's range as their first.
    begun = _counts_up_to(lows, range_highs)
    first_of = np.diff(begun, prepend=0)
    reached = int(begun[-1])
    found = np.zeros(len(lows[0]), dtype=np.bool_)
    met: Bools | None = None
    for range_low, high in zip(range_lows[::-1], highs[::-1], strict=True):
        first_low, end = np.repeat(range_low, first_of), high[:reached]
        met = first_low <= end if met is None else (first_low < end) | ((first_low == end) & met)
    found[:reached] = met
    return found


def _meets_one_of_more(
    lows: npt.NDArray[Any], highs: npt.NDArray[Any], range_lows: npt.NDArray[Any], range_highs: npt.NDArray[Any]
) -> Bools:
    """The same the other way round, for fewer intervals than ranges."""
    first = np.searchsorted(range_highs, lows, "left")
    met: Bools = first < len(range_highs)
    met[met] = range_lows[first[met]] <= highs[met]
    return met


def _counts_up_to(ordered: Levels, values: Levels) -> Int64s:
    """For each value how many of the ordered ones are at or below it."""
    begins = np.zeros(len(values[0]), dtype=np.int64)
    ends = np.full(len(values[0]), len(ordered[0]), dtype=np.int64)
    # Level by level, [begins, ends) are those that equal the value so far; where there are none, both are its place.
    for level, value in zip(ordered, values, strict=True):
        if bool(np.all(begins == begins[0]) and np.all(ends == ends[0])):
            first, span = begins[0], level[begins[0] : ends[0]]
            begins, ends = first + np.searchsorted(span, value, "left"), first + np.searchsorted(span, value, "right")
        else:
            begins, ends = _bisect(level, value, begins, ends, np.less), _bisect(level, value, begins, ends, np.less_equal)
    return ends


def _bisect(level: npt.NDArray[Any], values: npt.NDArray[Any], begins: Int64s, ends: Int64s, goes_before: np.ufunc) -> Int64s:
    """For each value its place in a slice of its own of the level: behind the elements that go before it."""
    places: Int64s = begins.copy()
    limits = ends.copy()
    searched = np.flatnonzero(places < limits)
    while len(searched):
        place, limit = places[searched], limits[searched]
        middle = (place + limit) >> 1
        is_before = goes_before(level[middle], values[searched])
        places[searched] = np.where(is_before, middle + 1, place)
        limits[searched] = np.where(is_before, limit, middle)
        searched = searched[places[searched] < limits[searched]]
    return places
