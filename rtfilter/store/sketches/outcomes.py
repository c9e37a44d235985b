"""Verdicts on packs: reject (no row passes), accept (every row passes), or partial, which is neither.

They are combined as they are and never negated: what is not known is partial, and stays so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rtfilter.store.sketches.arrays import Bools


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One entry per pack. A pack without rows may be both."""

    reject: Bools
    accept: Bools

    def __len__(self) -> int:
        return len(self.reject)


def partial(packs: int) -> Outcome:
    """Nothing known of any pack."""
    return Outcome(np.zeros(packs, dtype=np.bool_), np.zeros(packs, dtype=np.bool_))


def agreed(outcomes: Iterable[Outcome], packs: int) -> Outcome:
    """What several sketches say to the same test: each of them is right."""
    joined = partial(packs)
    for each in outcomes:
        joined = Outcome(joined.reject | each.reject, joined.accept | each.accept)
    return joined


def all_of(outcomes: Iterable[Outcome], packs: int) -> Outcome:
    """The verdict on tests joined by AND."""
    reject, accept = np.zeros(packs, dtype=np.bool_), np.ones(packs, dtype=np.bool_)
    for each in outcomes:
        reject, accept = reject | each.reject, accept & each.accept
    return Outcome(reject, accept)


def any_of(outcomes: Iterable[Outcome], packs: int) -> Outcome:
    """The verdict on tests joined by OR."""
    reject, accept = np.ones(packs, dtype=np.bool_), np.zeros(packs, dtype=np.bool_)
    for each in outcomes:
        reject, accept = reject & each.reject, accept | each.accept
    return Outcome(reject, accept)
