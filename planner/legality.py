"""Which side of a join may lose rows that find no partner.

Filtering a side drops its rows whose key the other side does not have, before the join sees them. That is right exactly for a side
that the join does not preserve: such a row would leave no trace in the result.
"""

from __future__ import annotations

import functools

from planner.nodes import LEFT, RIGHT
from planner.reasons import ANTI_JOIN, EXISTENCE_JOIN, FULL_OUTER_JOIN, NULL_AWARE_JOIN, PRESERVED_SIDE, Refusal

# Sides that may be filtered with the keys of the other side.
_FILTERABLE: dict[str, tuple[str, ...]] = {
    "Inner": (LEFT, RIGHT),
    "Cross": (LEFT, RIGHT),
    "LeftSemi": (LEFT, RIGHT),
    "LeftOuter": (RIGHT,),
    "LeftSingle": (RIGHT,),
    "RightOuter": (LEFT,),
    "LeftAnti": (RIGHT,),
    "ExistenceJoin": (RIGHT,),
    "FullOuter": (),
}

# Why the other sides may not, in one line each.
_REFUSED: dict[str, Refusal] = {
    "LeftOuter": Refusal(PRESERVED_SIDE, "A left outer join keeps every left row, partner or not."),
    "LeftSingle": Refusal(PRESERVED_SIDE, "The join of a scalar subquery keeps every left row, partner or not."),
    "RightOuter": Refusal(PRESERVED_SIDE, "A right outer join keeps every right row, partner or not."),
    "LeftAnti": Refusal(ANTI_JOIN, "An anti join returns the left rows without a partner: those a filter would drop."),
    "ExistenceJoin": Refusal(EXISTENCE_JOIN, "An existence join returns every left row, with a flag."),
    "FullOuter": Refusal(FULL_OUTER_JOIN, "A full outer join keeps the rows without a partner of both sides."),
}

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


def refuse_to_filter(join_type: str, side: str, null_aware: bool) -> Refusal | None:
    """Why `side` may not be filtered with the keys of the other side; None when it may.

    It holds for either direction and every strategy: the keys come from the side that is not `side`, whichever of them is built.
    """
    if null_aware:
        return Refusal(NULL_AWARE_JOIN, "A null-aware anti join (NOT IN) depends on null keys and on rows without a partner.")
    name = join_type_name(join_type)
    sides = _FILTERABLE.get(name)
    if sides is None:
        return Refusal(PRESERVED_SIDE, f"What a {name} join keeps of rows without a partner is not known here.")
    return None if side in sides else _REFUSED[name]


def reaches_across(join_type: str, side: str, null_aware: bool) -> bool:
    """Whether a filter of a join above, on a key of `side` of this join, is right for the equal key of the other side as well.

    A null-aware anti join looks at every row of its other side: a single null there empties the result.
    """
    return not null_aware and passes_key_down(join_type, side)


def passes_key_down(join_type: str, side: str) -> bool:
    """Whether a filter of a join above, on a column of `side`, may be moved below this join onto that side."""
    return side in _PASSES_KEY.get(join_type_name(join_type), ())
