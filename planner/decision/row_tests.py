"""Are rows tested one by one above the scan?"""

from __future__ import annotations

from planner.cost.formulas import LEAST_BEFORE_JOIN_MS, share_let_through
from planner.decision.figures import DecideSettings, FilterFigures
from planner.decision.gains import Gains
from planner.decision.shares import Left, share_passed
from planner.reasons import GAIN_TOO_SMALL, NOTHING_AHEAD, PASSES_MOST_ROWS, ROWS_TESTED, Refusal


def judge_rows(figures: FilterFigures, gains: Gains, left: Left, settings: DecideSettings) -> Refusal:
    """Whether rows are tested one by one above the scan."""
    if settings.cost == "always":
        return Refusal(ROWS_TESTED, "Rows are tested one by one, for rtfilter.cost is always.")
    all_pass = 0 < figures.rows_total - figures.rows_rejected <= figures.rows_sure and not figures.files_unknown
    nothing_ahead = not figures.ahead.has_work_ahead and gains.rows_ms < LEAST_BEFORE_JOIN_MS
    if nothing_ahead and gains.row_pays and not all_pass and gains.rows_alone_ms >= LEAST_BEFORE_JOIN_MS:
        too_few = "Rows are not tested one by one: of those that other filters of the scan leave too few are dropped."
        return Refusal(GAIN_TOO_SMALL, too_few)
    if nothing_ahead:
        return Refusal(NOTHING_AHEAD, "Rows are not tested one by one: only the join is ahead of them, which costs as little.")
    if left.holds_in_full(figures):
        return Refusal(PASSES_MOST_ROWS, "Rows are not tested one by one: they are for all keys of the join together.")
    if all_pass:
        return Refusal(PASSES_MOST_ROWS, "Rows are not tested one by one: in every pack that is kept all of them pass.")
    passed = share_let_through(figures.kind, share_passed(figures), settings.bloom_fpp)
    if not gains.row_pays:
        return Refusal(
            PASSES_MOST_ROWS,
            f"Rows are not tested one by one: about {passed:.0%} of them would pass, and a test would hardly save what it costs.",
        )
    return Refusal(
        ROWS_TESTED,
        f"Rows are tested one by one: about {passed:.0%} of them pass, and what is dropped saves {gains.row_ns:,.0f} ns a test.",
    )
