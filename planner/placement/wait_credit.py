"""What a wait spares beside what its filter drops: rows that are there before a probe side starts can turn a join around.

A scan waits for the build side of a shuffled join; that turns out small, and Spark makes a broadcast join of it, in which the rows
of the scan are not shuffled at all. Without the wait their shuffle would have run by then. The filter in the new plan spares but
look-ups: what the wait has spared is told of it with `RowWork.spared_ns`.
"""

from __future__ import annotations

from dataclasses import replace

from planner.cost.formulas import ahead_row_ns
from planner.inputs.machine import Constants
from planner.inputs.row_work import RowWork
from planner.placement.answer import BROADCAST_JOIN, FilterPlan


def waits_of(answer: FilterPlan) -> dict[str, RowWork]:
    """By `key_id`: the work of rows whose scan waits for the build side of a shuffled join."""
    work = {placeholder.id: placeholder.ahead for placeholder in answer.placeholders if placeholder.gate}
    shuffled = (each for each in answer.candidates if each.strategy != BROADCAST_JOIN)
    return {each.key_id: work[each.placeholder] for each in shuffled if each.placeholder in work}


def after_waiting(work: RowWork, before: RowWork, constants: Constants, filters: int) -> RowWork:
    """The work of rows before a broadcast join whose scan has waited, one part of `filters` of it.

    `before`: what they had before them then. That less what they have now is spared.
    """
    spared_ns = max(ahead_row_ns(before, constants) - ahead_row_ns(work, constants), 0.0) / filters
    return replace(work, spared_ns=spared_ns, wait_ms=max(work.wait_ms, before.wait_ms))
