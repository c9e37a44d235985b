"""The decision on a static filter: its verdict costs nothing more once it is known, so whatever it rejects is not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.counted import counted, rejects
from planner.reasons import APPLIED, COST_NEVER, REJECTS_NO_PACK, Refusal
from planner.static.answer import STATIC
from planner.static.index_remarks import codes_of


@dataclass(frozen=True, slots=True)
class StaticFigures:
    """What a static filter does to its scan, by all indexes together.

    `packs_told`: packs of which some index holds anything about the columns that are asked. `rows_sure`: rows of packs in which
    every row passes. `remarks`: on indexes that were used; `refusals`: why others were not.
    """

    id: str
    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    rows_sure: int
    packs_told: int
    remarks: tuple[Refusal, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def decide_static(figures: StaticFigures, cost: str = "auto") -> dict[str, object]:
    """The entry of a static filter in the answer to a fill; its reason is an index's own where that is why nothing is rejected."""
    outcome = _outcome(figures, cost)
    codes = [] if cost == "never" else codes_of((*figures.remarks, *figures.refusals))
    return {
        "id": figures.id,
        "kind": STATIC,
        "decision": "applied" if outcome.reason == APPLIED else "skipped",
        "reason": outcome.reason,
        "detail": outcome.detail,
        "keys": None,
        "build_rows": None,
        "packs_total": figures.packs_total,
        "packs_kept": figures.packs_total - figures.packs_rejected,
        "rows_total": figures.rows_total,
        "rows_kept": figures.rows_total - figures.rows_rejected,
        "rows_sure": figures.rows_sure,
        "estimated_gain_ms": None,
        "rows": False,
        **({"index_reasons": codes} if codes else {}),
    }


def _outcome(figures: StaticFigures, cost: str) -> Refusal:
    if cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is applied.")
    remarks = [each.detail for each in (*figures.remarks, *figures.refusals)]
    if figures.packs_rejected:
        return Refusal(APPLIED, _sentences(f"It {rejects(figures.packs_rejected, figures.packs_total)}.", remarks))
    if figures.refusals:
        return Refusal(figures.refusals[0].reason, _sentences("", remarks))
    what = f"It {rejects(0, figures.packs_told)} that an index tells something of."
    if not figures.packs_told:
        what = f"The table's indexes tell nothing of the {counted(figures.packs_total, 'pack')} of the scan."
    return Refusal(REJECTS_NO_PACK, _sentences(what, remarks))


def _sentences(first: str, more: Sequence[str]) -> str:
    return " ".join(part for part in (first, *more) if part)
