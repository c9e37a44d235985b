"""The decision after the fill: with the keys and every pack's verdict known, is a filter applied, and in which form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.cost import estimated_gain_ms
from planner.reasons import (
    APPLIED,
    COST_NEVER,
    FOOTERS_NOT_KNOWN,
    NOTHING_AHEAD,
    PASSES_MOST_ROWS,
    REJECTS_NO_PACK,
    ROWS_ONLY,
    ROWS_TESTED,
    Refusal,
)

# What the bridge holds for rows.
SET, BLOOM, RANGE = "set", "bloom", "range"
# What the host gets for packs: no key at all; all keys; ranges that hold them; nothing, for a composite filter.
EMPTY_FORM, SET_FORM, RANGES_FORM, NO_FORM = "empty", "set", "ranges", "none"
# The form that the Parquet reader gets.
PUSH_SET, PUSH_RANGE, PUSH_NONE = "set", "range", "none"

# Reading a pack's dictionary costs a read, and a test per entry: not worth it for more keys than this.
MOST_KEYS_FOR_DICTIONARY = 64
# A row test that passes more than this is taken to cost more than it saves further up; chosen, not measured.
MOST_ROWS_PASSED = 0.9


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """A filled filter and what it would do to its scan alone.

    `kind` is what the bridge holds for rows, `form` what packs were judged by. `keys` is the number of distinct keys, exact for a
    set. `key_min` and `key_max` are those of whole-number key domains, None without keys and in other domains. `ahead` is what a
    row has before it on the way to the join, None for nothing. Packs and rows are those of files whose footers are known.
    `value_span` is the global max - min + 1 of the column over the packs that have bounds; None if none has or it counts nothing.
    """

    id: str
    kind: str
    form: str
    ahead: str | None
    keys: int
    key_min: int | None
    key_max: int | None
    build_rows: int
    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    value_span: int | None = None
    files_unknown: int = 0
    # Rows of packs of which every row surely passes.
    rows_sure: int = 0


@dataclass(frozen=True, slots=True)
class DecideSettings:
    """`cost` as in the option of that name; `cores` that share the scan."""

    cost: str = "auto"
    cores: int = 1


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """What is done with a filled filter. `push` is the form that the Parquet reader gets, `rows` whether rows are tested above it.

    A filter is applied when it rejects packs or tests rows. `reason` is about packs and the whole, `rows_reason` about the rows.
    """

    id: str
    kind: str
    decision: str
    reason: str
    detail: str
    keys: int
    build_rows: int
    packs_total: int
    packs_kept: int
    rows_total: int
    rows_kept: int
    estimated_gain_ms: float
    push: str
    dictionary: bool
    rows: bool
    rows_reason: str

    @property
    def applied(self) -> bool:
        return self.decision == "applied"

    def to_dict(self) -> dict[str, object]:
        """The form of the protocol."""
        return {name: getattr(self, name) for name in self.__slots__}


def decide_filters(filters: Sequence[FilterFigures], settings: DecideSettings) -> tuple[FilterDecision, ...]:
    """One decision per filter of a scan, in their order.

    Each is judged by what it rejects alone; the verdicts of the applied ones intersect.
    """
    return tuple(_decide(figures, settings) for figures in filters)


def _decide(figures: FilterFigures, settings: DecideSettings) -> FilterDecision:
    rows = _judge_rows(figures, settings)
    tested = rows.reason == ROWS_TESTED
    outcome = _judge(figures, tested, rows.detail, settings)
    applied = outcome.reason in (APPLIED, ROWS_ONLY)
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
        estimated_gain_ms=estimated_gain_ms(figures.rows_rejected, settings.cores),
        push=_push_form(figures),
        dictionary=applied and worth_testing_dictionaries(figures),
        rows=applied and tested,
        rows_reason=rows.reason,
    )


def _judge(figures: FilterFigures, tests_rows: bool, why_rows: str, settings: DecideSettings) -> Refusal:
    if settings.cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is applied.")
    if figures.packs_rejected > 0:
        packs = f"It rejects {figures.packs_rejected} of {figures.packs_total} packs"
        return Refusal(APPLIED, f"{packs}. {why_rows}" if tests_rows else f"{packs}.")
    if tests_rows:
        return Refusal(ROWS_ONLY, f"{_why_no_pack(figures)} {why_rows}")
    if figures.packs_total == 0 and figures.files_unknown > 0:
        return Refusal(FOOTERS_NOT_KNOWN, _why_no_pack(figures))
    return Refusal(REJECTS_NO_PACK, f"{_why_no_pack(figures)} {why_rows}")


def _why_no_pack(figures: FilterFigures) -> str:
    if figures.form == NO_FORM:
        return "A filter of several columns leaves packs to those of each column."
    if figures.packs_total == 0 and figures.files_unknown > 0:
        return f"None of {figures.files_unknown} files has a footer that could be read in time."
    why = "no pack has bounds for the column" if figures.value_span is None else "every pack may hold one of the keys"
    return f"It rejects none of {figures.packs_total} packs: {why}."


def _judge_rows(figures: FilterFigures, settings: DecideSettings) -> Refusal:
    """Whether rows are tested one by one above the scan."""
    if settings.cost == "always":
        return Refusal(ROWS_TESTED, "Rows are tested one by one, for rtfilter.cost is always.")
    if figures.ahead is None:
        return Refusal(NOTHING_AHEAD, "Rows are not tested one by one: only the join itself is before them.")
    if 0 < figures.rows_total - figures.rows_rejected <= figures.rows_sure and not figures.files_unknown:
        return Refusal(PASSES_MOST_ROWS, "Rows are not tested one by one: in every pack that is kept all of them pass.")
    passed = share_passed(figures)
    if passed is not None and passed > MOST_ROWS_PASSED:
        return Refusal(PASSES_MOST_ROWS, f"Rows are not tested one by one: about {passed:.0%} of them would pass.")
    return Refusal(ROWS_TESTED, f"Rows are tested one by one, for they have a {figures.ahead} before them.")


def share_passed(figures: FilterFigures) -> float | None:
    """The share of rows that probably pass, None where nothing is known.

    The column's values are taken as evenly spread over its span; a range passes all between its ends.
    """
    if figures.keys == 0:
        return 0.0
    if not figures.value_span:
        return None
    accepted = figures.keys
    if figures.kind == RANGE:
        if figures.key_min is None or figures.key_max is None:
            return None
        accepted = figures.key_max - figures.key_min + 1
    return min(accepted / figures.value_span, 1.0)


def _push_form(figures: FilterFigures) -> str:
    """A set without gaps is the same as its range, which is cheaper to test."""
    if figures.form == NO_FORM:
        return PUSH_NONE
    if figures.form == EMPTY_FORM:
        return PUSH_SET
    if figures.form != SET_FORM or figures.kind != SET:
        return PUSH_RANGE
    if figures.key_min is None or figures.key_max is None:
        return PUSH_SET
    return PUSH_RANGE if figures.key_max - figures.key_min + 1 == figures.keys else PUSH_SET


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
