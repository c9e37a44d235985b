"""The answer to a plan, made of what was proposed and what of that is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from planner.cost.forecast import Forecast
from planner.cost.history import observation_of, traits_of_proposal
from planner.inputs.row_work import RowWork
from planner.inputs.settings import KINDS, LARGEST_INT, TUPLE_KINDS, PlanSettings
from planner.inputs.table_hints import hint_warnings, settings_for
from planner.placement.answer import (
    BROADCAST_JOIN,
    SHUFFLED_HASH_JOIN,
    SORT_MERGE_JOIN,
    Candidate,
    FilterPlan,
    PlacedShift,
    Placeholder,
)
from planner.placement.gates import Placement
from planner.placement.wait_credit import after_waiting
from planner.plan.join_types import join_type_name
from planner.plan.nodes import BROADCAST, SHUFFLED_HASH, SORT_MERGE
from planner.plan.proposals import Entry, Proposal
from planner.plan.tree import Plan
from planner.plan.types import whole_number_bounds
from planner.reasons import PLANNED, Refusal

_STRATEGIES = {BROADCAST: BROADCAST_JOIN, SHUFFLED_HASH: SHUFFLED_HASH_JOIN, SORT_MERGE: SORT_MERGE_JOIN}
_JOIN_TYPES = {
    "Inner": "inner",
    "Cross": "cross",
    "LeftOuter": "left_outer",
    "LeftSingle": "left_single",
    "RightOuter": "right_outer",
    "FullOuter": "full_outer",
    "LeftSemi": "left_semi",
    "LeftAnti": "left_anti",
    "ExistenceJoin": "existence",
}


def answer_of(
    plan: Plan, settings: PlanSettings, entries: Sequence[Entry], placement: Placement, unsettled: tuple[int, ...]
) -> FilterPlan:
    """A candidate for each entry, and a placeholder for each that has a filter."""
    placeholders: list[Placeholder] = []
    candidates = []
    together = Counter((entry.join, entry.scan) for entry in entries if entry.proposal is not None)
    for entry in entries:
        placeholder, expected_ms = None, None
        if entry.proposal is not None:
            expected = placement.forecasts[entry.join, entry.proposal.scan]
            # Filters of one join on one scan wait once, and share what is gained.
            share = together[entry.join, entry.scan]
            work = _shared_work(plan, settings, entry, expected.work, share)
            holds_rows = placement.holds_rows[entry.proposal.source]
            placeholder = _placeholder(plan, settings, entry, len(placeholders), replace(expected, work=work), holds_rows)
            placeholders.append(placeholder)
            expected_ms = _expected_gain_ms(expected, share)
        candidates.append(_candidate(plan, entry, placeholder, expected_ms))
    hints = (hint for scan in plan.scans() for hint in scan.hints)
    warnings = hint_warnings(hints, (scan.table for scan in plan.scans()))
    return FilterPlan(tuple(placeholders), tuple(candidates), unsettled, warnings)


def _expected_gain_ms(expected: Forecast, filters: int) -> float | None:
    """A filter's part of what `filters` filters are expected to bring.

    None where no gain can be told of before the keys are there: it is placed since finding out costs next to nothing, or for what a
    later filter gains by it.
    """
    if expected.gain_ms is None or expected.cost_ms is None or expected.gain_ms <= expected.cost_ms:
        return None
    return round((expected.gain_ms - expected.cost_ms) / filters, 3)


def _shared_work(plan: Plan, settings: PlanSettings, entry: Entry, work: RowWork, filters: int) -> RowWork:
    """The work of a filter's rows with its part of one wait for `filters` filters, and of what an earlier one has spared.

    What is expected of a join's filters on one scan is expected of all together; what a key lets through is each one's own.
    """
    assert entry.proposal is not None, "it has a filter"
    past = observation_of(plan, settings, entry.proposal)
    work = replace(work, wait_ms=work.wait_ms / filters, join=entry.join, key_share=None if past is None else past.key_share)
    join = plan.join(entry.join)
    before = settings.waited(entry.key_id(join.join_type)) if join.kind == BROADCAST else None
    return work if before is None else after_waiting(work, before, settings.machine.constants, filters)


def _placeholder(plan: Plan, settings: PlanSettings, entry: Entry, number: int, expected: Forecast, holds_rows: int) -> Placeholder:
    proposal = entry.proposal
    assert proposal is not None, "it has a filter"
    scan = plan.scan(proposal.scan)
    own = settings_for(settings, scan.hints, scan.table)
    possible = KINDS if len(proposal.keys) == 1 else TUPLE_KINDS
    return Placeholder(
        id=f"{settings.decision}.{number}",
        join=proposal.join,
        keys=proposal.keys,
        build_side=proposal.build_side,
        source=proposal.source,
        gate=proposal.gate,
        scan=proposal.scan,
        columns=tuple(column.column for column in proposal.columns),
        label=entry.build,
        kinds=tuple(kind for kind in possible if kind in own.kinds),
        max_keys=min(settings.max_keys, LARGEST_INT),
        bloom_fpp=settings.bloom_fpp,
        bloom_max_bytes=min(settings.bloom_max_bytes, LARGEST_INT),
        max_build_rows=LARGEST_INT if own.always else expected.most_build_rows,
        holds_rows=LARGEST_INT if own.always else holds_rows,
        ahead=expected.work,
        keep_nulls=proposal.keep_nulls,
        keep_splits=proposal.keep_splits,
        traits=traits_of_proposal(plan, settings, proposal),
        shift=_placed_shift(proposal),
    )


def _placed_shift(proposal: Proposal) -> PlacedShift | None:
    """The shift of a filter of one key; an end of it that is the end of the column's type keeps nothing."""
    shift = proposal.shift
    if shift.is_plain:
        return None
    least, most = whole_number_bounds(proposal.columns[0].type)
    return PlacedShift(shift.sign, shift.by, None if shift.low == least else shift.low, None if shift.high == most else shift.high)


def _candidate(plan: Plan, entry: Entry, placeholder: Placeholder | None, expected_ms: float | None) -> Candidate:
    join = plan.join(entry.join)
    outcome = entry.refusal or _planned(plan, entry)
    return Candidate(
        key_id=entry.key_id(join.join_type),
        join=entry.join,
        pairs=entry.keys,
        scan=entry.scan,
        placeholder=None if placeholder is None else placeholder.id,
        gate=placeholder is not None and placeholder.gate,
        build=entry.build,
        probe=entry.probe,
        join_type=_JOIN_TYPES.get(join_type_name(join.join_type), join.join_type.lower()),
        strategy=_STRATEGIES[join.kind],
        decision="skipped" if placeholder is None else "planned",
        reason=outcome.reason,
        detail=outcome.detail,
        estimated_gain_ms=expected_ms,
    )


def _planned(plan: Plan, entry: Entry) -> Refusal:
    assert entry.proposal is not None, "an entry has a proposal or a refusal"
    columns = entry.proposal.columns
    what = f"the scan of {columns[0].table} by {' and '.join(column.name for column in columns)}"
    if not entry.proposal.gate:
        return Refusal(PLANNED, f"Filters {what} once the build side is there.")
    return Refusal(PLANNED, f"Filters {what}, which waits for the {plan.nodes[entry.proposal.source].op} of the build side.")
