"""Which joins may get filters, and which side of a join may lose rows that find no partner.

Filtering a side drops its rows whose key the other side does not have, before the join sees them. That is right exactly for a side
that the join does not preserve: such a row would leave no trace in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.inputs.settings import PlanSettings
from planner.plan.join_types import join_type_name
from planner.plan.nodes import BROADCAST, LEFT, NESTED_LOOP, REUSED_EXCHANGE, RIGHT, Exchange, Join, QueryStage, other_side
from planner.plan.stages import may_change_when_recomputed, source_of
from planner.plan.tree import Plan
from planner.reasons import (
    ADAPTIVE_OFF,
    ANTI_JOIN,
    COST_NEVER,
    EXISTENCE_JOIN,
    FULL_OUTER_JOIN,
    MAY_RAISE,
    NOT_DETERMINISTIC,
    NULL_AWARE_JOIN,
    PRESERVED_SIDE,
    SOURCE_NOT_EXCHANGED,
    Refusal,
)

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


def refuse_query(plan: Plan, settings: PlanSettings) -> Refusal | None:
    """Why no join of a query gets a filter."""
    if not settings.adaptive:
        return Refusal(ADAPTIVE_OFF, "spark.sql.adaptive.enabled is false: there is no moment at which a filter could be filled.")
    # With a hint somewhere each scan has its own answer.
    if settings.cost == "never" and not any(scan.hints for scan in plan.scans()):
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is built.")
    return None


def open_joins(plan: Plan) -> tuple[Join, ...]:
    """The joins with keys in preorder, without those below a started stage or a reused exchange."""
    found: list[Join] = []
    stack = [0]
    while stack:
        node = plan.nodes[stack.pop()]
        if isinstance(node, QueryStage) or (isinstance(node, Exchange) and node.kind == REUSED_EXCHANGE):
            continue
        if isinstance(node, Join) and node.kind != NESTED_LOOP:
            found.append(node)
        stack.extend(reversed(node.children))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Direction:
    """One of a join's two directions: keys of the build side, which node `source` materialises, filter the probe side.

    `refusal`: why no key of the join may.
    """

    join: Join
    probe_side: str
    build_side: str
    source: int | None
    refusal: Refusal | None


def directions_of(plan: Plan, joins: Sequence[Join], no_filter: Refusal | None) -> tuple[tuple[Direction, ...], ...]:
    """By join: the directions that are legal, or one that is not where there is no other.

    A broadcast join filters its streamed side. A shuffled join may have two directions. `no_filter`: why the query gets none.
    """
    return tuple(tuple(_direction(plan, join, side, no_filter) for side in _probe_sides(join)) for join in joins)


def _probe_sides(join: Join) -> tuple[str, ...]:
    if join.kind == BROADCAST:
        return (join.streamed_side or LEFT,)
    return tuple(side for side in (LEFT, RIGHT) if refuse_to_filter(join.join_type, side, join.null_aware) is None) or (LEFT,)


def _direction(plan: Plan, join: Join, probe_side: str, no_filter: Refusal | None) -> Direction:
    build_side = other_side(probe_side)
    source = source_of(plan, join, build_side)
    refusal = no_filter or refuse_to_filter(join.join_type, probe_side, join.null_aware) or _refuse_build_side(plan, join, source)
    return Direction(join, probe_side, build_side, source, refusal)


def _refuse_build_side(plan: Plan, join: Join, source: int | None) -> Refusal | None:
    """Why the keys of a join's build side can't be used, whichever they are."""
    if join.may_raise:
        return Refusal(MAY_RAISE, "The join itself can raise an error, and a filter could drop the row that raises it.")
    if source is None:
        return Refusal(
            SOURCE_NOT_EXCHANGED,
            f"{join.op} gets its build side without an exchange, row by row: its keys are not known before the join runs.",
        )
    unsteady = may_change_when_recomputed(plan, source)
    if unsteady is not None:
        return Refusal(
            NOT_DETERMINISTIC, f"{unsteady.op} in the build side may give other rows when a lost part of it is computed again."
        )
    return None
