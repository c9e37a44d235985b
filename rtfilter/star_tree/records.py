"""Aggregated rows: a code for each dimension, which of them are stars, and states that merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
# How states of several rows become one. Each gives the same whatever the order of rows; of sums of whole numbers that holds
# modulo 2^64, as Spark adds them with ANSI off.
MERGES = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True, slots=True)
class Records:
    """Rows of a tree.

    Attributes:
        codes: [rows, dimensions]. What stands at a star means nothing, and is 0.
        stars: [rows], bit d is set where dimension d is the star: the row is about all of its values.
        states: One array [rows] a state.
    """

    codes: Codes
    stars: NDArray[np.int32]
    states: tuple[NDArray[np.generic], ...]

    def __len__(self) -> int:
        return len(self.stars)

    def at(self, rows: Rows) -> Records:
        """The rows with these numbers."""
        return Records(self.codes[rows], self.stars[rows], tuple(state[rows] for state in self.states))


def appended(parts: Sequence[Records]) -> Records:
    """The rows of all parts, one after the other; at least one part."""
    return Records(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.stars for part in parts]),
        tuple(np.concatenate(states) for states in zip(*(part.states for part in parts), strict=True)),
    )


def merged(records: Records, keys: Sequence[NDArray[np.generic]], merges: Sequence[str]) -> tuple[Records, Rows]:
    """Rows with equal keys made one, in the order of the keys, the first one foremost.

    Codes and stars are those of the first row with each key.

    Returns:
        The rows, and of each the number of its first row before.
    """
    if not len(records):
        return records, np.zeros(0, np.int64)
    order = np.lexsort(tuple(reversed(keys))) if keys else np.arange(len(records))
    is_new = np.zeros(len(records), bool)
    is_new[0] = True
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_new)
    states = tuple(MERGES[merge].reduceat(state[order], starts) for state, merge in zip(records.states, merges, strict=True))
    first = order[starts]
    return Records(records.codes[first], records.stars[first], states), first
