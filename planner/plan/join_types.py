"""What a join does with a key of one of its sides, by Spark's names of join types."""

from __future__ import annotations

import functools

from planner.plan.nodes import LEFT, RIGHT

# Which sides keep the join's result right when rows are dropped *for a reason of another join above*: every row that the join
# returns must stem from one row of that side and carry its columns unchanged.
# From the same sides a filter on a key goes across the equality to the other side too. A row there whose key the filter rejects
# only ever meets rows of this side whose keys it rejects as well. Without it such a row may lose its partner, gain a place in the
# result (anti join) or get nulls beside it (outer join), but it still carries the rejected key, and the join above drops it.
# The join of a scalar subquery fails on a left row with two partners: no row may be kept from it.
_PASSES_KEY: dict[str, tuple[str, ...]] = {
    "Inner": (LEFT, RIGHT),
    "Cross": (LEFT, RIGHT),
    "LeftSemi": (LEFT,),
    "LeftAnti": (LEFT,),
    "ExistenceJoin": (LEFT,),
    "LeftOuter": (LEFT,),
    "LeftSingle": (),
    "RightOuter": (RIGHT,),
    "FullOuter": (),
}


@functools.lru_cache(maxsize=256)
def join_type_name(join_type: str) -> str:
    """Spark's join type without arguments: `ExistenceJoin(exists#12)` is `ExistenceJoin`."""
    return join_type.split("(", 1)[0]


def reaches_across(join_type: str, side: str, null_aware: bool) -> bool:
    """Whether a filter of a join above, on a key of `side` of this join, is right for the equal key of the other side as well.

    A null-aware anti join looks at every row of its other side: a single null there empties the result.
    """
    return not null_aware and passes_key_down(join_type, side)


def passes_key_down(join_type: str, side: str) -> bool:
    """Whether a filter of a join above, on a column of `side`, may be moved below this join onto that side."""
    return side in _PASSES_KEY.get(join_type_name(join_type), ())
