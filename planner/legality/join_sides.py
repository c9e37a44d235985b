"""Which side of a join may lose rows that find no partner.

Filtering a side drops its rows whose key the other side does not have, before the join sees them. That is right exactly for a side
that the join does not preserve: such a row would leave no trace in the result.
"""

from __future__ import annotations

from planner.plan.join_types import join_type_name
from planner.plan.nodes import LEFT, RIGHT
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
