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


def merged(
    records: Records, keys: Sequence[NDArray[np.generic]], merges: Sequence[str], picked: Rows | None = None
) -> tuple[Records, Rows]:
    """Rows with equal keys made one, in the order of the keys, the first one foremost.

    Codes and stars are those of the first row with each key.

    Args:
        keys: Arrays over the rows that are merged.
        picked: The numbers of these rows, each as often as it is to be merged; None: all. So no copy is made of them.

    Returns:
        The rows, and of each the place of its first row among those that are merged.
    """
    count = len(records) if picked is None else len(picked)
    if not count:
        nothing = np.zeros(0, np.int64)
        return records.at(nothing), nothing
    order = np.lexsort(tuple(reversed(keys))) if keys else np.arange(count)
    is_new = np.zeros(count, bool)
    is_new[0] = True
    for key in keys:
        ordered = key[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_new)
    first = order[starts]
    rows = order if picked is None else picked[order]
    states = tuple(MERGES[merge].reduceat(state[rows], starts) for state, merge in zip(records.states, merges, strict=True))
    kept = rows[starts]
    return Records(records.codes[kept], records.stars[kept], states), first
