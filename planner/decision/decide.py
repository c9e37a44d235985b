"""The decision after the fill: with the keys and every pack's verdict known, is a filter applied, and in which form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planner.cost.formulas import (
    LEAST_BEFORE_JOIN_MS,
    RowTest,
    packs_gain_ms,
    row_test,
    row_test_gain_ns,
    row_test_pays,
    rows_gain_ms,
    share_let_through,
    ship_ms,
    verdicts_ms,
)
from planner.counted import counted, rejects
from planner.inputs.machine import Machine
from planner.inputs.row_work import RowWork
from planner.reasons import (
    APPLIED,
    COST_NEVER,
    FOOTERS_NOT_KNOWN,
    GAIN_TOO_SMALL,
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
# The share of rows with a partner where neither the fill nor the planning knows anything.
UNKNOWN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class FilterFigures:
    """A filled filter and what it would do to its scan alone.

    `kind` is what the bridge holds for rows, `form` what packs were judged by. `keys` is the number of distinct keys, exact for a
    set. `key_min` and `key_max` are those of whole-number key domains, None without keys and in other domains. `ahead` is what the
    planning said of the scan's rows. Packs and rows are those of files whose footers are known; `files_rejected` have no pack left.
    `value_span` is the global max - min + 1 of the column over the packs that have bounds; None if none has or it counts nothing.
    `packs_bounded`: packs of which footers tell bounds, or that all is null. `footer_problem`: what is the matter with the first of
    the `files_unknown` whose footer can't be used, empty where none was read in time. `column_problem`: the same of the first
    file in which only this column can't be understood.
    """

    id: str
    kind: str
    form: str
    ahead: RowWork
    keys: int
    key_min: int | None
    key_max: int | None
    build_rows: int
    packs_total: int
    packs_rejected: int
    rows_total: int
    rows_rejected: int
    value_span: int | None = None
    packs_bounded: int = 0
    files_unknown: int = 0
    footer_problem: str = ""
    column_problem: str = ""
    files_rejected: int = 0
    # Rows of packs of which every row surely passes.
    rows_sure: int = 0

    @property
    def key_span(self) -> int | None:
        """Max - min + 1 of the keys, None without keys and in domains that are not whole numbers."""
        return None if self.key_min is None or self.key_max is None else self.key_max - self.key_min + 1


@dataclass(frozen=True, slots=True)
class DecideSettings:
    """`cost` and `bloom_fpp` as in the options of these names; `machine` is what times are estimated with."""

    cost: str = "auto"
    machine: Machine = field(default_factory=Machine)
    bloom_fpp: float = 0.01


@dataclass(frozen=True, slots=True)
class FilterDecision:
    """What is done with a filled filter. `push` is the form that the Parquet reader gets, `rows` whether rows are tested above it.

    A filter is applied when it rejects packs or tests rows. `reason` is about packs and the whole, `rows_reason` about the rows.
    `estimated_gain_ms` is what it saves from here on, less what sending and testing it take, and what a wait for it has saved;
    an applied filter has none below 0. `estimated_cost_ms` is what waiting and asking for verdicts took, whatever is decided.
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
    estimated_cost_ms: float
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


@dataclass(frozen=True, slots=True)
class _Left:
    """The shares of rows and of packs' rows that the filters decided before leave for the next one.

    `in_full`: the joins of which rows are tested for all keys together; a test for one of them drops nothing of what that leaves.
    """

    tested: float = 1.0
    scanned: float = 1.0
    in_full: frozenset[int] = frozenset()

    def holds_in_full(self, figures: FilterFigures) -> bool:
        """Whether all rows that are left have a partner by all keys of the filter's join."""
        return figures.ahead.join in self.in_full


def decide_filters(filters: Sequence[FilterFigures], settings: DecideSettings) -> tuple[FilterDecision, ...]:
    """One decision per filter of a scan, in their order.

    They are decided in the order in which rows would be tested, and what one of them rejects the next one gains nothing by: the
    rejections are taken as independent. The verdicts of the applied ones intersect, and no row of a pack that any of them rejects
    gets to a test, be it the first.
    """
    left, decided = _Left(), {}
    order = most_selective_first(filters)
    for place, number in enumerate(order):
        in_packs = math.prod(_share_in_kept_packs(filters[later]) for later in order[place + 1 :])
        decided[number] = _decide(filters[number], replace(left, tested=left.tested * in_packs), settings)
        left = _after(left, filters[number], decided[number])
    return tuple(decided[number] for number in range(len(filters)))


def most_selective_first(filters: Sequence[FilterFigures]) -> list[int]:
    """The order in which row tests are worth running: a row that the first one drops is not tested by the others."""
    return sorted(range(len(filters)), key=lambda number: share_passed(filters[number]))


def _share_in_kept_packs(figures: FilterFigures) -> float:
    return 1.0 - figures.rows_rejected / figures.rows_total if figures.rows_total else 1.0


def _after(left: _Left, figures: FilterFigures, decision: FilterDecision) -> _Left:
    if not decision.applied:
        return left
    kept = _share_in_kept_packs(figures)
    join, tested = figures.ahead.join, 1.0 if left.holds_in_full(figures) else share_passed(figures)
    in_full = {join} if decision.rows and figures.form == NO_FORM and join is not None else frozenset()
    return _Left(left.tested * (tested if decision.rows else kept), left.scanned * kept, left.in_full | in_full)


def _decide(figures: FilterFigures, left: _Left, settings: DecideSettings) -> FilterDecision:
    gains = _gains(figures, left, settings)
    rows = _judge_rows(figures, gains, left, settings)
    tested = rows.reason == ROWS_TESTED
    outcome = _judge(figures, gains, rows, settings)
    applied = outcome.reason in (APPLIED, ROWS_ONLY)
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
        push=_push_form(figures),
        dictionary=applied and worth_testing_dictionaries(figures),
        rows=applied and tested,
        rows_reason=rows.reason,
    )


@dataclass(frozen=True, slots=True)
class _Gains:
    """Of one filter, in ms: what its packs and its row test save, what sending it costs, what filling it has cost already, and what
    the wait for it has saved, whatever becomes of it.

    `rows_alone_ms` is what its row test would save if it got all rows of its packs. `row_ns` is what testing one row
    saves, also where no number of rows is known, and `row_pays` whether that is enough.
    """

    packs_ms: float
    rows_ms: float
    rows_alone_ms: float
    row_ns: float
    row_pays: bool
    ship_ms: float
    fill_ms: float
    wait_ms: float


def _gains(figures: FilterFigures, left: _Left, settings: DecideSettings) -> _Gains:
    machine, work, share = settings.machine, figures.ahead, share_passed(figures)
    test = _row_test(figures)
    rows_in_kept_packs = figures.rows_total - figures.rows_rejected
    # Of the rows in kept packs more have a partner than of all; by how much, a share that nobody knows can't tell.
    kept = _share_in_kept_packs(figures)
    guessed = bool(figures.keys) and not figures.value_span and work.kept is None
    share_in_kept = share if guessed else min(share / kept, 1.0) if kept else 1.0
    share_in_kept = 1.0 if left.holds_in_full(figures) else share_in_kept
    passed = share_let_through(figures.kind, share_in_kept, settings.bloom_fpp)
    return _Gains(
        packs_ms=left.scanned * packs_gain_ms(machine, work, figures.rows_rejected, figures.packs_rejected, figures.files_rejected),
        rows_ms=rows_gain_ms(machine, test.work, test.kind, passed, rows_in_kept_packs * left.tested),
        rows_alone_ms=rows_gain_ms(machine, test.work, test.kind, passed, rows_in_kept_packs),
        row_ns=row_test_gain_ns(machine, test.work, test.kind, passed),
        row_pays=row_test_pays(machine, test.work, test.kind, passed),
        ship_ms=ship_ms(machine, figures.kind, figures.keys, figures.key_span),
        fill_ms=work.wait_ms + verdicts_ms(machine, figures.packs_total),
        wait_ms=machine.shared_ms(figures.rows_total * work.spared_ns),
    )


def _row_test(figures: FilterFigures) -> RowTest:
    return row_test(figures.ahead, figures.kind, figures.keys, figures.key_span)


def _judge(figures: FilterFigures, gains: _Gains, rows: Refusal, settings: DecideSettings) -> Refusal:
    if settings.cost == "never":
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is applied.")
    tested = rows.reason == ROWS_TESTED
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
    return Refusal(APPLIED, f"{packs} {rows.detail}" if tested else packs)


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


def _judge_rows(figures: FilterFigures, gains: _Gains, left: _Left, settings: DecideSettings) -> Refusal:
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
