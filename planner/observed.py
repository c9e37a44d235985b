"""What filters did in earlier queries, and what follows from it for one that is about to be placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

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

    `packs`: of rows in packs that it kept; `kept`: after its row test too, where there was one.
    """

    losses: int = 0
    kept: float | None = None
    packs: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """The shares of an `Observation`; `at_least`: they may be more without other filters that were there then."""

    kept: float
    packs: float | None = None
    at_least: bool = False

    def share_of(self, estimated: float | None) -> float:
        """What to expect, where nothing observed would let one expect `estimated`."""
        return max(self.kept, estimated) if self.at_least and estimated is not None else self.kept

    def packs_with(self, share: float) -> float | None:
        """The share of rows in packs that are kept if `share` of the rows is let through; None where nothing observed says so."""
        return self.packs if share <= self.kept else None


# The past of a filter of exactly these traits, None where there is none.
Recall: TypeAlias = Callable[[Traits], Observation | None]


def refuse_lost(observation: Observation | None) -> Refusal | None:
    """Why a filter is not tried again."""
    if observation is None or observation.losses < MOST_LOSSES:
        return None
    return Refusal(
        LOST_TWICE,
        f"It brought in less than it cost the last {observation.losses} times, with the same conditions and with these "
        "tables as they are: it is not tried until they or their indexes change. The hint RTFILTER(always) tries it.",
    )
