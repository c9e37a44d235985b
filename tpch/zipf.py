"""Zipf's law over a finite domain: the k-th most frequent value has a frequency proportional to 1 / k^z."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

SEED = 20260101
Indices = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


def zipf_shares(size: int, z: float) -> Shares:
    """Expected share of each rank, most frequent first; `z` = 0 is uniform."""
    weights: Shares = np.arange(1, size + 1, dtype=np.float64) ** -z
    weights /= weights.sum()
    return weights


@dataclass
class ZipfSampler:
    """Draws positions in a domain of `size` values; which value is the frequent one is a seeded permutation of them.

    The stream of draws depends on `name`, `size` and `z` only, not on how many are drawn at a time. `counts` has how often each
    rank was drawn so far.
    """

    name: str
    size: int
    z: float
    counts: Indices = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([SEED, zlib.crc32(self.name.encode())])
        self._position_of_rank = self._random.permutation(self.size)
        cumulative = np.cumsum(zipf_shares(self.size, self.z))
        # The last one is 1 but for rounding; a draw above it would be a rank that does not exist.
        self._bounds = cumulative[:-1]
        self.counts = np.zeros(self.size, dtype=np.int64)

    def draw(self, count: int) -> Indices:
        """`count` positions, each in 0 … size − 1."""
        ranks = np.searchsorted(self._bounds, self._random.random(count), side="right")
        self.counts += np.bincount(ranks, minlength=self.size)
        return self._position_of_rank[ranks]
