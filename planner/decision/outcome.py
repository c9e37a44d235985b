"""Is a filled filter applied, and in which form?"""

from __future__ import annotations

from planner.counted import counted, rejects
from planner.decision.figures import (
    EMPTY_FORM,
    NO_FORM,
    PUSH_NONE,
    PUSH_RANGE,
    PUSH_SET,
    SET,
    SET_FORM,
    DecideSettings,
    FilterDecision,
    FilterFigures,
)
from planner.decision.gains import Gains
from planner.decision.key_first import KeyFirst
from planner.reasons import (
    APPLIED,
    COST_NEVER,
    FOOTERS_NOT_KNOWN,
    GAIN_TOO_SMALL,
    KEY_FIRST,
    REJECTS_NO_PACK,
    ROWS_ONLY,
    ROWS_TESTED,
    Refusal,
)

# Reading a pack's dictionary costs a read, and a test per entry: not worth it for more keys than this.
MOST_KEYS_FOR_DICTIONARY = 64


def judge_filter(figures: FilterFigures, gains: Gains, rows: Refusal, key_first: KeyFirst, settings: DecideSettings) -> Refusal:
    """What becomes of a filter as a whole; `rows` and `key_first` are what `judge_rows` and `judge_key_first` say."""
    if settings.cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is applied.")
    tested = rows.reason == ROWS_TESTED
    if figures.packs_rejected == 0 and not tested and key_first.starts:
        return Refusal(KEY_FIRST, f"{_why_no_pack(figures)} {key_first.detail}")
    if figures.packs_rejected == 0 and not tested:
        if rows.reason == GAIN_TOO_SMALL:
            return Refusal(GAIN_TOO_SMALL, f"{_why_no_pack(figures)} {rows.detail}")
        reason = FOOTERS_NOT_KNOWN if figures.packs_total == 0 and figures.files_unknown > 0 else REJECTS_NO_PACK
        return Refusal(reason, _why_no_pack(figures) if reason == FOOTERS_NOT_KNOWN else f"{_why_no_pack(figures)} {rows.detail}")
    saved_ms = gains.packs_ms + (max(gains.rows_ms, 0.0) if tested else 0.0)
    rows_known = figures.files_unknown == 0
    if settings.cost == "auto" and rows_known and saved_ms < gains.ship_ms:
        return Refusal(
            GAIN_TOO_SMALL,
            f"It {_rejects(figures)} and would save about {saved_ms:,.1f} ms, less "
            f"than the {gains.ship_ms:,.1f} ms that sending {counted(figures.keys, 'key')} to the executors takes.",
        )
    if figures.packs_rejected == 0:
        return Refusal(ROWS_ONLY, f"{_why_no_pack(figures)} {rows.detail}")
    packs = f"It {_rejects(figures)}, which saves about {gains.packs_ms:,.1f} ms."
    first = f" {key_first.detail}" if key_first.starts else ""
    return Refusal(APPLIED, f"{packs} {rows.detail}{first}" if tested else packs + first)


def _why_no_pack(figures: FilterFigures) -> str:
    if figures.form == NO_FORM:
        return "A filter of several columns leaves packs to those of each column."
    if figures.packs_total == 0 and figures.files_unknown > 0:
        return _why_no_footer(figures)
    if figures.packs_total == 0:
        return "There is no pack in the files of the scan."
    unbounded = figures.packs_total - figures.packs_bounded
    if figures.packs_bounded == 0:
        why = "footers tell no bounds of the column"
    elif unbounded == 0:
        why = "it may hold one of the keys" if figures.packs_total == 1 else "each of them may hold one of the keys"
    else:
        why = f"footers tell no bounds of the column in {counted(unbounded, 'pack')}, and the others may hold one of the keys"
    if unbounded and figures.column_problem:
        why = f"{why.replace('no bounds of the column', 'no bounds of the column that count')} ({figures.column_problem})"
    return f"It {_rejects(figures)}: {why}."


def _rejects(figures: FilterFigures) -> str:
    return rejects(figures.packs_rejected, figures.packs_total)


def _why_no_footer(figures: FilterFigures) -> str:
    files = "The only file" if figures.files_unknown == 1 else f"None of the {counted(figures.files_unknown, 'file')}"
    verb = "has no footer" if figures.files_unknown == 1 else "has a footer"
    if figures.footer_problem:
        return f"{files} {verb} that can be used: {figures.footer_problem}."
    return f"{files} {verb} that was read in time."


def decision_of(figures: FilterFigures, gains: Gains, rows: Refusal, key_first: KeyFirst, outcome: Refusal) -> FilterDecision:
    """The decision in full. `rows`, `key_first` and `outcome`: what `judge_rows`, `judge_key_first` and `judge_filter` say."""
    tested = rows.reason == ROWS_TESTED
    applied = outcome.reason in (APPLIED, ROWS_ONLY, KEY_FIRST)
    first = applied and key_first.starts
    used_ms = gains.packs_ms + (gains.rows_ms if tested else 0.0) - gains.ship_ms if applied else 0.0
    return FilterDecision(
        id=figures.id,
        kind=figures.kind,
        decision="applied" if applied else "skipped",
        reason=outcome.reason,
        detail=outcome.detail,
        keys=figures.keys,
        build_rows=figures.build_rows,
        packs_total=figures.packs_total,
        packs_kept=figures.packs_total - figures.packs_rejected,
        rows_total=figures.rows_total,
        rows_kept=figures.rows_total - figures.rows_rejected,
        estimated_gain_ms=gains.wait_ms + max(used_ms, 0.0),
        estimated_cost_ms=gains.fill_ms,
        push=PUSH_SET if first else _push_form(figures),
        dictionary=applied and worth_testing_dictionaries(figures),
        rows=applied and tested,
        rows_reason=rows.reason,
        key_first=first,
    )


def _push_form(figures: FilterFigures) -> str:
    """A set without gaps is the same as its range, which is cheaper to test."""
    if figures.form == NO_FORM:
        return PUSH_NONE
    if figures.form == EMPTY_FORM:
        return PUSH_SET
    if figures.form != SET_FORM or figures.kind != SET:
        return PUSH_RANGE
    return PUSH_RANGE if figures.key_span == figures.keys else PUSH_SET


def worth_testing_dictionaries(figures: FilterFigures) -> bool:
    """Whether the Parquet reader should test the dictionaries of kept packs.

    Only with few keys, and where a kept pack probably holds none of them: with d the rows of a pack (an upper bound of its distinct
    values), D the span of the column's values and k keys, taken as independent and uniform,
    P(none) = (1 - d/D)^k, and the test is worth it above one half.
    """
    few = figures.form == SET_FORM and figures.kind == SET and 0 < figures.keys <= MOST_KEYS_FOR_DICTIONARY
    if not few or not figures.value_span or figures.packs_total == 0:
        return False
    rows_per_pack = figures.rows_total / figures.packs_total
    held = min(rows_per_pack / figures.value_span, 1.0)
    return bool((1.0 - held) ** figures.keys > 0.5)
