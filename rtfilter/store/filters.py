"""The forms of a filled filter: which whole numbers a probe key may have. Dates are days since 1970-01-01."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class EmptyFilter:
    """No key at all: a filled filter that every pack with rows fails."""


@dataclass(frozen=True, slots=True)
class RangeFilter:
    """Keys from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"a range filter needs low <= high, not {self.low} and {self.high}; no key at all is EmptyFilter")


@dataclass(frozen=True, slots=True, eq=False)
class SetFilter:
    """Exactly these keys: int64, sorted, at least one. Sets of equal keys are equal."""

    keys: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.keys.dtype != np.int64 or self.keys.ndim != 1 or len(self.keys) == 0:
            raise ValueError("a set filter needs a one-dimensional int64 array with at least one key; no key at all is EmptyFilter")
        if not bool(np.all(self.keys[:-1] <= self.keys[1:])):
            raise ValueError("the keys of a set filter must be sorted")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SetFilter) and np.array_equal(self.keys, other.keys)

    def __hash__(self) -> int:
        return hash(self.keys.tobytes())


KeyFilter: TypeAlias = EmptyFilter | RangeFilter | SetFilter


def filter_of_keys(keys: npt.NDArray[np.int64]) -> EmptyFilter | SetFilter:
    """The filter of exactly these sorted keys."""
    return SetFilter(keys) if len(keys) else EmptyFilter()
