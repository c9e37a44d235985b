"""Which shares of a scan's rows its filters let through, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.decision.figures import NO_FORM, RANGE, SET, FilterDecision, FilterFigures

# The share of rows with a partner where neither the fill nor the planning knows anything.
UNKNOWN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Left:
    """The shares of rows and of packs' rows that the filters decided before leave for the next one.

    `in_full`: the joins of which rows are tested for all keys together; a test for one of them drops nothing of what that leaves.
    """

    tested: float = 1.0
    scanned: float = 1.0
    in_full: frozenset[int] = frozenset()

    def holds_in_full(self, figures: FilterFigures) -> bool:
        """Whether all rows that are left have a partner by all keys of the filter's join."""
        return figures.ahead.join in self.in_full

    def before(self, later: Sequence[FilterFigures]) -> Left:
        """The same for a row test: no row of a pack that a later filter rejects gets to it."""
        return replace(self, tested=self.tested * math.prod(share_in_kept_packs(figures) for figures in later))

    def after(self, figures: FilterFigures, decision: FilterDecision) -> Left:
        """What a decided filter leaves. Rejections are taken as independent."""
        if not decision.applied:
            return self
        kept = share_in_kept_packs(figures)
        join, tested = figures.ahead.join, 1.0 if self.holds_in_full(figures) else share_passed(figures)
        in_full = {join} if decision.rows and figures.form == NO_FORM and join is not None else frozenset()
        return Left(self.tested * (tested if decision.rows else kept), self.scanned * kept, self.in_full | in_full)


def most_selective_first(filters: Sequence[FilterFigures]) -> list[int]:
    """The order in which row tests are worth running: a row that the first one drops is not tested by the others."""
    return sorted(range(len(filters)), key=lambda number: share_passed(filters[number]))


def share_in_kept_packs(figures: FilterFigures) -> float:
    """The share of rows in packs that a filter keeps."""
    return 1.0 - figures.rows_rejected / figures.rows_total if figures.rows_total else 1.0


def share_passed(figures: FilterFigures) -> float:
    """The share of rows that probably have a partner.

    The column's values are taken as evenly spread over its span, and a range passes all between its ends; where that says nothing
    it is what the planning expected. What each key of a set let through in an earlier query says more: of a span that is not full
    (order numbers of TPC-H: a quarter) few values are there.
    """
    if figures.keys == 0:
        return 0.0
    if figures.ahead.key_share is not None and figures.kind == SET:
        return min(figures.keys * figures.ahead.key_share, 1.0)
    guess = UNKNOWN_SHARE if figures.ahead.kept is None else figures.ahead.kept
    if not figures.value_span:
        return guess
    accepted = figures.keys
    if figures.kind == RANGE:
        if figures.key_span is None:
            return guess
        accepted = figures.key_span
    return min(accepted / figures.value_span, 1.0)
