"""Composite filters: the keys of one join that filter the same scan, tested together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from planner.cost.history import refuse_lost_filter
from planner.inputs.settings import TUPLE_KINDS, PlanSettings
from planner.inputs.table_hints import settings_for
from planner.legality.exchange_copies import not_on_every_copy
from planner.placement.gates import NOT_EVERYWHERE
from planner.plan.proposals import Entry, Proposal, target_of
from planner.plan.tree import Plan


def with_tuples(plan: Plan, settings: PlanSettings, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries and behind those of each join its composite filters: one for each scan that several of its keys filter.

    Each key alone may keep a row that no build row has in full. Only rows that have something ahead are tested for it.
    """
    together: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.proposal is not None and _fits_a_tuple(plan, settings, entry.proposal):
            together[entry.join, entry.proposal.scan].append(entry)
    combined: dict[int, list[Entry]] = defaultdict(list)
    for (join, _), parts in together.items():
        distinct = _of_different_columns(parts)
        if len(distinct) > 1:
            combined[join].append(_combined(plan, settings, distinct))
    return _on_every_copy(plan, _behind_their_joins(entries, combined))


def _behind_their_joins(entries: Sequence[Entry], combined: dict[int, list[Entry]]) -> list[Entry]:
    ordered: list[Entry] = []
    for number, entry in enumerate(entries):
        ordered.append(entry)
        if number + 1 == len(entries) or entries[number + 1].join != entry.join:
            ordered += combined[entry.join]
    return ordered


def _on_every_copy(plan: Plan, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The rule for shared exchanges once more, for filters that were added to placed ones."""
    placed = {number: entry.proposal for number, entry in enumerate(entries) if entry.proposal is not None}
    lonely = not_on_every_copy(plan, placed)
    return tuple(entry.refused(NOT_EVERYWHERE) if number in lonely else entry for number, entry in enumerate(entries))


def _fits_a_tuple(plan: Plan, settings: PlanSettings, proposal: Proposal) -> bool:
    """Whether a tuple's rows can be tested: there is something ahead, and no value of the column must be kept unseen."""
    if proposal.ahead is None or proposal.keep_nulls or not proposal.shift.is_plain:
        return False
    scan = plan.scan(proposal.scan)
    return any(kind in settings_for(settings, scan.hints, scan.table).kinds for kind in TUPLE_KINDS)


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


def _combined(plan: Plan, settings: PlanSettings, parts: Sequence[Entry]) -> Entry:
    proposals = [entry.proposal for entry in parts if entry.proposal is not None]
    columns = tuple(column for proposal in proposals for column in proposal.columns)
    keys = tuple(key for proposal in proposals for key in proposal.keys)
    proposal = replace(proposals[0], keys=keys, columns=columns)
    lost = refuse_lost_filter(plan, settings, proposal)
    return Entry(
        pair="&".join(entry.pair for entry in parts),
        target=target_of(columns),
        join=proposal.join,
        keys=keys,
        build=", ".join(entry.build for entry in parts),
        probe=", ".join(entry.probe for entry in parts),
        scan=proposal.scan,
        proposal=proposal if lost is None else None,
        refusal=lost,
    )
