"""What filters did in earlier queries, and what follows from it for one that is about to be placed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from planner.counted import counted
from planner.reasons import LOST_TWICE, Refusal

# So many times in a row without a gain, on the same inputs and with the same literals, and a filter is left out.
MOST_LOSSES = 2


@dataclass(frozen=True, slots=True)
class Traits:
    """What names a filter beyond one query.

    `key`: probe table and columns, build keys, tables of the build side and the shape of the predicates on them, without literals.
    `literals`: what the build side and the probe's scan ask of their rows, literals included; None where that can't be told: then
    no two filters are the same. `inputs`: the sizes of all these tables, and what the filter may be made of. `root`: where the
    probe table is.
    """

    key: str
    literals: str | None
    inputs: str
    root: str


@dataclass(frozen=True, slots=True)
class Observation:
    """The past of a filter: how often in a row it won nothing, and the shares of rows that it let through the last time.

    `packs`: of rows in packs that it kept; `kept`: after its row test too, where there was one. `build_rows`: of how many rows its
    keys were. `key_share`: the share of the scan's rows that each key let through on average; None where rows were not tested.
    """

    losses: int = 0
    kept: float | None = None
    packs: float | None = None
    build_rows: int | None = None
    key_share: float | None = None

    def had_more(self, rows: float, fewer_rows: float) -> bool:
        """Whether the build side had more rows then: rather `rows` than the `fewer_rows` that filters of its scans make of them.

        Both are estimates, each as likely to be too high by some factor as too low: the nearer one counts.
        """
        return self.build_rows is not None and fewer_rows < rows and self.build_rows > math.sqrt(rows * fewer_rows)


@dataclass(frozen=True, slots=True)
class Observed:
    """The shares of an `Observation`.

    `at_least`: they may be more without other filters that were there then; `at_most`: less with others that were not.
    """

    kept: float
    packs: float | None = None
    at_least: bool = False
    at_most: bool = False

    def share_of(self, estimated: float | None) -> float:
        """What to expect, where nothing observed would let one expect `estimated`."""
        if estimated is None:
            return self.kept
        share = max(self.kept, estimated) if self.at_least else self.kept
        return min(share, estimated) if self.at_most else share

    def packs_with(self, share: float) -> float | None:
        """The share of rows in packs that are kept if `share` of the rows is let through; None where nothing observed says so.

        Packs were seen with the keys that let `kept` through: of fewer keys they may be fewer, of more they may be more.
        """
        return self.packs if share == self.kept else None


# The past of a filter of exactly these traits, None where there is none.
Recall: TypeAlias = Callable[[Traits], Observation | None]


def refuse_lost(observation: Observation | None) -> Refusal | None:
    """Why a filter is not tried again."""
    if observation is None or observation.losses < MOST_LOSSES:
        return None
    return Refusal(
        LOST_TWICE,
        f"It brought in less than it cost the last {counted(observation.losses, 'time')}, with the same conditions and with these "
        "tables as they are: it is not tried until they or their indexes change. The hint RTFILTER(always) tries it.",
    )
