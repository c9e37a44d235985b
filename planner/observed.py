"""What filters did in earlier queries, and what follows from it for one that is about to be placed."""

from __future__ import annotations

from dataclasses import dataclass

from planner.reasons import LOST_TWICE, Refusal

# So many times in a row without a gain, on the same inputs, and a filter is left out.
MOST_LOSSES = 2


@dataclass(frozen=True, slots=True)
class Observation:
    """The past of a filter on its latest inputs: how often in a row it won nothing, and the share of rows that it let through."""

    inputs: str
    losses: int = 0
    kept: float | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What names a filter beyond one query.

    `key`: probe table and columns, build keys, tables of the build side and the shape of the predicates on them, without literals.
    `inputs`: the sizes of all these tables. `root`: where the probe table is.
    """

    key: str
    inputs: str
    root: str


def refuse_lost(observation: Observation | None, traits: Traits) -> Refusal | None:
    """Why a filter is not tried again."""
    if observation is None or observation.inputs != traits.inputs or observation.losses < MOST_LOSSES:
        return None
    return Refusal(
        LOST_TWICE,
        f"It rejected no pack and next to no row the last {observation.losses} times, with these tables as they are: it is not "
        "tried until they or their indexes change. The hint RTFILTER(always) tries it.",
    )


def share_observed(observation: Observation | None, traits: Traits) -> float | None:
    """The share of rows that a filter let through the last time on these inputs, None where that is not known."""
    return None if observation is None or observation.inputs != traits.inputs else observation.kept
