"""Which filters a plan gets: a candidate with its reason for all that was considered, a placeholder for those that are placed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from planner.cost.forecast import Forecast, rows_that_hold
from planner.cost.sizes import Estimates
from planner.inputs.row_work import RowWork
from planner.inputs.settings import KINDS, LARGEST_INT, TUPLE_KINDS, PlanSettings
from planner.inputs.table_hints import hint_warnings, settings_for
from planner.legality.proposals import Entry, Proposal, propose_filters, refuse_by_past, target_id, traits_of_proposal
from planner.legality.row_order import keeps_splits
from planner.placement.answer import (
    BROADCAST_JOIN,
    SHUFFLED_HASH_JOIN,
    SORT_MERGE_JOIN,
    Candidate,
    FilterPlan,
    PlacedShift,
    Placeholder,
)
from planner.placement.chains import judge_proposals
from planner.placement.gates import keep_consistent
from planner.placement.replans import unsettled_scans
from planner.placement.wait_credit import after_waiting
from planner.plan.join_types import join_type_name
from planner.plan.nodes import BROADCAST, NESTED_LOOP, SHUFFLED_HASH, SORT_MERGE, Exchange, Join, QueryStage, Scan
from planner.plan.tree import Plan
from planner.plan.types import whole_number_bounds
from planner.reasons import ADAPTIVE_OFF, COST_NEVER, PLANNED, Refusal

# By join and scan.
Forecasts: TypeAlias = Mapping[tuple[int, int], Forecast]

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


def plan_filters(plan: Plan, settings: PlanSettings) -> FilterPlan:
    """Placeholders and candidates for every join that has not started. The same plan gives the same answer.

    Joins inside query stages and reused exchanges are left out: they were judged before their stage started, or are the same as the
    ones judged elsewhere in the plan, and nothing can be placed there.
    """
    estimates = Estimates(plan)
    whole_query = _refuse_query(plan, settings)
    entries = [entry for join in _open_joins(plan) for entry in propose_filters(estimates, settings, join, whole_query)]
    judged = _judged(estimates, settings, entries)
    return _answer(settings, _with_tuples(judged.estimates, settings, judged.entries), judged)


def _refuse_query(plan: Plan, settings: PlanSettings) -> Refusal | None:
    if not settings.adaptive:
        return Refusal(ADAPTIVE_OFF, "spark.sql.adaptive.enabled is false: there is no moment at which a filter could be filled.")
    # With a hint somewhere each scan has its own answer.
    if settings.cost == "never" and not any(scan.hints for scan in _scans(plan)):
        return Refusal(COST_NEVER, "rtfilter.cost is never: no filter is built.")
    return None


def _scans(plan: Plan) -> Iterator[Scan]:
    return (node for node in plan.nodes if isinstance(node, Scan))


def _open_joins(plan: Plan) -> Iterator[Join]:
    """The joins with keys in preorder, without those below a started stage or a reused exchange."""
    stack = [0]
    while stack:
        node = plan.nodes[stack.pop()]
        if isinstance(node, QueryStage) or (isinstance(node, Exchange) and node.kind == "reused_exchange"):
            continue
        if isinstance(node, Join) and node.kind != NESTED_LOOP:
            yield node
        stack.extend(reversed(node.children))


@dataclass(frozen=True, slots=True)
class _Judged:
    """The entries, those that are not placed with their reason; what is expected of the filters, and of sizes with them; and
    `FilterPlan.unsettled`.
    """

    entries: list[Entry]
    forecasts: Forecasts
    estimates: Estimates
    unsettled: tuple[int, ...]


def _judged(estimates: Estimates, settings: PlanSettings, entries: Sequence[Entry]) -> _Judged:
    """What becomes of the entries.

    What came over the equality of another join and is not placed is left out: the key has its own candidate, and where many joins
    share one key there are many such ways. Unless an earlier plan of the query had it placed: then it is told why not now.
    """
    proposals = [(number, entry.proposal) for number, entry in enumerate(entries) if entry.proposal is not None]
    placement = judge_proposals(estimates, settings, [proposal for _, proposal in proposals])
    reasons = {number: placement.refused[at] for at, (number, _) in enumerate(proposals) if at in placement.refused}
    judged = [
        entry if number not in reasons else replace(entry, proposal=None, refusal=reasons[number])
        for number, entry in enumerate(entries)
        if number not in reasons or _is_told(estimates.plan, settings, entry)
    ]
    unsettled = unsettled_scans(estimates.plan, [proposal for _, proposal in proposals], placement)
    return _Judged(judged, placement.forecasts, placement.estimates, unsettled)


def _is_told(plan: Plan, settings: PlanSettings, entry: Entry) -> bool:
    """Whether a filter that is not placed is a candidate all the same."""
    join = plan.nodes[entry.join]
    assert isinstance(join, Join)
    return entry.proposal is None or entry.proposal.across is None or settings.placed_before(_key_id(join, entry))


def _with_tuples(estimates: Estimates, settings: PlanSettings, entries: Sequence[Entry]) -> list[Entry]:
    """The entries and behind those of each join its composite filters: one for each scan that several of its keys filter.

    Each key alone may keep a row that no build row has in full. Only rows that have something ahead are tested for it.
    """
    together: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    for entry in entries:
        proposal = entry.proposal
        if proposal is None or not _fits_a_tuple(proposal):
            continue
        if any(kind in _settings_of(estimates.plan, settings, proposal.scan).kinds for kind in TUPLE_KINDS):
            together[entry.join, proposal.scan].append(entry)
    combined: dict[int, list[Entry]] = defaultdict(list)
    for (join, _), parts in together.items():
        distinct = _of_different_columns(parts)
        if len(distinct) > 1:
            together_as_one = _combined(distinct)
            if together_as_one.proposal is not None:
                past = refuse_by_past(estimates.plan, settings, together_as_one.proposal)
                together_as_one = together_as_one if past is None else replace(together_as_one, proposal=None, refusal=past)
            combined[join].append(together_as_one)
    ordered: list[Entry] = []
    for number, entry in enumerate(entries):
        ordered.append(entry)
        if number + 1 == len(entries) or entries[number + 1].join != entry.join:
            ordered += combined[entry.join]
    placed = {number: entry.proposal for number, entry in enumerate(ordered) if entry.proposal is not None}
    refused = keep_consistent(estimates, placed)
    return [
        entry if number not in refused else replace(entry, proposal=None, refusal=refused[number])
        for number, entry in enumerate(ordered)
    ]


def _fits_a_tuple(proposal: Proposal) -> bool:
    """Whether a tuple's rows can be tested: there is something ahead, and no value of the column must be kept unseen."""
    return proposal.ahead is not None and not proposal.keep_nulls and proposal.shift.is_plain


def _settings_of(plan: Plan, settings: PlanSettings, number: int) -> PlanSettings:
    scan = plan.nodes[number]
    assert isinstance(scan, Scan)
    return settings_for(settings, scan.hints, scan.table)


def _of_different_columns(parts: Sequence[Entry]) -> list[Entry]:
    """One entry for each key and each column: the first."""
    kept: list[Entry] = []
    for entry in parts:
        columns = {other.proposal.columns for other in kept if other.proposal is not None}
        if (
            entry.keys not in {other.keys for other in kept}
            and entry.proposal is not None
            and entry.proposal.columns not in columns
        ):
            kept.append(entry)
    return kept


def _combined(parts: Sequence[Entry]) -> Entry:
    proposals = [entry.proposal for entry in parts if entry.proposal is not None]
    columns = tuple(column for proposal in proposals for column in proposal.columns)
    keys = tuple(key for proposal in proposals for key in proposal.keys)
    proposal = replace(proposals[0], keys=keys, columns=columns)
    return Entry(
        pair="&".join(entry.pair for entry in parts),
        target=target_id(columns),
        join=proposal.join,
        keys=keys,
        build=", ".join(entry.build for entry in parts),
        probe=", ".join(entry.probe for entry in parts),
        scan=proposal.scan,
        proposal=proposal,
        refusal=None,
    )


def _answer(settings: PlanSettings, entries: Sequence[Entry], judged: _Judged) -> FilterPlan:
    estimates, plan = judged.estimates, judged.estimates.plan
    placeholders: list[Placeholder] = []
    candidates = []
    together = Counter((entry.join, entry.scan) for entry in entries if entry.proposal is not None)
    for entry in entries:
        placeholder, expected_ms = None, None
        if entry.proposal is not None:
            expected = judged.forecasts[entry.join, entry.proposal.scan]
            # Filters of one join on one scan wait once, and share what is gained.
            share = together[entry.join, entry.scan]
            work = _shared_work(plan, settings, entry, expected.work, share)
            own = replace(expected, work=work)
            placeholder = _placeholder(estimates, settings, entry.proposal, entry.build, len(placeholders), own)
            placeholders.append(placeholder)
            expected_ms = _expected_gain_ms(expected, share)
        candidates.append(_candidate(plan, entry, placeholder, expected_ms))
    hints = (hint for scan in _scans(plan) for hint in scan.hints)
    warnings = hint_warnings(hints, (scan.table for scan in _scans(plan)))
    return FilterPlan(tuple(placeholders), tuple(candidates), judged.unsettled, warnings)


def _expected_gain_ms(expected: Forecast, filters: int) -> float | None:
    """A filter's part of what `filters` filters are expected to bring.

    None where no gain can be told of before the keys are there: it is placed since finding out costs next to nothing, or for what a
    later filter gains by it.
    """
    return round(expected.net_ms / filters, 3) if expected.net_ms is not None and expected.net_ms > 0.0 else None


def _shared_work(plan: Plan, settings: PlanSettings, entry: Entry, work: RowWork, filters: int) -> RowWork:
    """The work of a filter's rows with its part of one wait for `filters` filters, and of what an earlier one has spared.

    What is expected of a join's filters on one scan is expected of all together; what a key lets through is each one's own.
    """
    assert entry.proposal is not None, "it has a filter"
    past = None if settings.recall is None else settings.recall(traits_of_proposal(plan, settings, entry.proposal))
    work = replace(work, wait_ms=work.wait_ms / filters, join=entry.join, key_share=None if past is None else past.key_share)
    join = plan.nodes[entry.join]
    assert isinstance(join, Join)
    before = settings.waited(_key_id(join, entry)) if join.kind == BROADCAST else None
    return work if before is None else after_waiting(work, before, settings.machine.constants, filters)


def _placeholder(
    estimates: Estimates, settings: PlanSettings, proposal: Proposal, label: str, number: int, expected: Forecast
) -> Placeholder:
    plan = estimates.plan
    scan = plan.nodes[proposal.scan]
    assert isinstance(scan, Scan)
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
        label=label,
        kinds=tuple(kind for kind in possible if kind in own.kinds),
        max_keys=min(settings.max_keys, LARGEST_INT),
        bloom_fpp=settings.bloom_fpp,
        bloom_max_bytes=min(settings.bloom_max_bytes, LARGEST_INT),
        max_build_rows=LARGEST_INT if own.always else expected.most_build_rows,
        holds_rows=LARGEST_INT if own.always else rows_that_hold(estimates, proposal.source),
        ahead=expected.work,
        keep_nulls=proposal.keep_nulls,
        keep_splits=keeps_splits(plan, proposal.scan, settings.goes_on),
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
    join = plan.nodes[entry.join]
    assert isinstance(join, Join)
    outcome = entry.refusal or _planned(plan, entry)
    return Candidate(
        key_id=_key_id(join, entry),
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


def _key_id(join: Join, entry: Entry) -> str:
    """Left before right, without strategy and build side: a re-plan may change them."""
    return "|".join(part for part in (join.join_type.lower(), entry.pair, entry.target) if part)


def _planned(plan: Plan, entry: Entry) -> Refusal:
    assert entry.proposal is not None, "an entry has a proposal or a refusal"
    columns = entry.proposal.columns
    what = f"the scan of {columns[0].table} by {' and '.join(column.name for column in columns)}"
    if not entry.proposal.gate:
        return Refusal(PLANNED, f"Filters {what} once the build side is there.")
    return Refusal(PLANNED, f"Filters {what}, which waits for the {plan.nodes[entry.proposal.source].op} of the build side.")
