"""The filters that could be placed: for each join its direction, and for each of its keys and each scan a filter or a reason."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from planner.cost.history import refuse_lost_filter
from planner.inputs.settings import PlanSettings
from planner.legality.early_errors import refuse_early_error
from planner.legality.joins import Direction
from planner.legality.keys import follow_keys, refuse_by_hint, refuse_repeated_keys
from planner.legality.row_order import refuse_by_row_order, with_splits_kept
from planner.plan.proposals import Entry, checked
from planner.plan.tree import Plan


def propose_filters(plan: Plan, settings: PlanSettings, directions: Sequence[tuple[Direction, ...]]) -> tuple[Entry, ...]:
    """The entries of all joins, in the order of the joins.

    A join's first direction is taken, unless only another one has a scan to filter.
    """
    return tuple(entry for of_join in directions for entry in _of_join(plan, settings, of_join))


def _of_join(plan: Plan, settings: PlanSettings, directions: Sequence[Direction]) -> list[Entry]:
    tried: list[list[Entry]] = []
    for direction in directions:
        entries = _of_direction(plan, settings, direction)
        if any(entry.proposal for entry in entries):
            return entries
        tried.append(entries)
    return tried[0]


def _of_direction(plan: Plan, settings: PlanSettings, direction: Direction) -> list[Entry]:
    """The entries of a direction. A filter that breaks several rules gets the reason of the first."""
    entries = refuse_repeated_keys(direction, follow_keys(plan, settings, direction))
    entries = checked(entries, partial(refuse_by_hint, plan, settings))
    entries = with_splits_kept(plan, settings, checked(entries, partial(refuse_by_row_order, plan)))
    entries = checked(entries, partial(refuse_early_error, plan))
    return checked(entries, partial(refuse_lost_filter, plan, settings))
