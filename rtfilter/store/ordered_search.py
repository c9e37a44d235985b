"""Whether sorted keys have one between two bounds, for many pairs of bounds at once.

A value is a tuple of levels (numpy arrays of any number type) that are compared one after the other: a whole number is one level, a
byte string one per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rtfilter.store.arrays import Bools, Int64s, Levels


def at_most(values: Levels, limit: Levels) -> Bools:
    """For each value whether it is <= the one value of `limit`."""
    below: Bools = values[-1] <= limit[-1][0]
    for value, bound in zip(values[-2::-1], limit[-2::-1], strict=True):
        below = (value < bound[0]) | ((value == bound[0]) & below)
    return below


def at_least(values: Levels, limit: Levels) -> Bools:
    """For each value whether it is >= the one value of `limit`."""
    above: Bools = values[-1] >= limit[-1][0]
    for value, bound in zip(values[-2::-1], limit[-2::-1], strict=True):
        above = (value > bound[0]) | ((value == bound[0]) & above)
    return above


def range_between(range_lows: Int64s, range_highs: Int64s, lows: Int64s, highs: Int64s) -> Bools:
    """For each pair of bounds whether one of the sorted disjoint ranges meets it.

    More ranges begin at or below a pair's end than end below its start: one of them is in between.
    """
    found: Bools = np.searchsorted(range_highs, lows, "left") < np.searchsorted(range_lows, highs, "right")
    return found


def key_between(keys: Levels, lows: Levels, highs: Levels) -> Bools:
    """For each pair of bounds (both included) whether one of the sorted keys, at least one, lies between them.

    Level by level: what the levels so far make certain, one way or the other, is settled; only pairs with a bound that agrees with
    a key so far go on to the next level.
    """
    found = np.zeros(len(lows[0]), dtype=np.bool_)
    still_open = np.arange(len(found))
    # Where a bound stands among the distinct beginnings of keys: 2i + 1 is at the i-th, 2i just before it. All share the empty one.
    prefixes = np.zeros(len(keys[0]), dtype=np.int64)
    low_at = high_at = np.ones(len(found), dtype=np.int64)
    for words, low_words, high_words in zip(keys, lows, highs, strict=True):
        step = _Step(prefixes, words)
        low_at = step.places(low_at, low_words[still_open])
        high_at = step.places(high_at, high_words[still_open])
        prefixes = step.numbers
        touched = low_at >> 1 < (high_at + 1) >> 1
        within = (low_at + 1) >> 1 < high_at >> 1
        found[still_open[within]] = True
        goes_on = touched & ~within
        still_open, low_at, high_at = still_open[goes_on], low_at[goes_on], high_at[goes_on]
    # Equal in every level is equal: what still touches a key holds it.
    found[still_open] = True
    return found


class _Step:
    """One level of the keys: beginnings one level longer than `prefixes`, numbered in order (`numbers`, one per key)."""

    def __init__(self, prefixes: Int64s, words: npt.NDArray[Any]) -> None:
        self.words = np.unique(words)
        # One sorted number per pair of prefix and word.
        codes = prefixes * len(self.words) + np.searchsorted(self.words, words)
        is_new = np.concatenate([[True], codes[1:] != codes[:-1]])
        self.numbers: Int64s = np.cumsum(is_new) - 1
        self.codes = codes[is_new]
        self.first_of_prefix = np.searchsorted(self.codes, np.arange(int(prefixes[-1]) + 2) * len(self.words))

    def places(self, at: Int64s, words: npt.NDArray[Any]) -> Int64s:
        """Places among the longer beginnings, from places among the shorter ones and the next word of each bound."""
        prefix = at >> 1
        word = np.searchsorted(self.words, words)
        is_word = self.words[np.minimum(word, len(self.words) - 1)] == words
        code = prefix * len(self.words) + word
        if len(self.first_of_prefix) == 2:
            place, is_code = word, is_word
        else:
            place = np.searchsorted(self.codes, code)
            is_code = is_word & (self.codes[np.minimum(place, len(self.codes) - 1)] == code)
        tied = (at & 1).astype(np.bool_)
        placed: Int64s = np.where(tied, 2 * place + is_code, 2 * self.first_of_prefix[prefix])
        return placed
