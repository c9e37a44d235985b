"""What there is to learn from one executed query: which of its filters won something, and how many rows they let through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.reasons import KEY_FIRST
from rtfilter.report import APPLIED, NOT_FILLED, SKIPPED, FilterReport, report_from_record

# A row test that drops less than this has not paid; tasks stop testing at the same share (RowFilterExec.scala).
LEAST_SHARE_DROPPED = 0.02
# So many times the share of rows that a filter was expected to drop are as good as that share.
MOST_OVER_EXPECTED = 1.1
# Reasons that say nothing of the filter itself.
PASSING_REASONS = frozenset(
    {
        NOT_FILLED,
        "FOOTERS_NOT_KNOWN",
        "COST_NEVER",
        "HINT_NEVER",
        "LOST_TWICE",
        "SOURCE_NOT_READY",
        "NOT_DETERMINISTIC",
        "NO_MEMORY",
    }
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one filter did, in the terms of `Observation`; what names it is that of its placeholder."""

    key: str
    literals: str
    inputs: str
    root: str
    indexes: str
    label: str
    lost: bool
    kept: float | None
    packs: float | None = None
    build_rows: int | None = None
    key_share: float | None = None


def lessons_of(record: Mapping[str, Any]) -> tuple[Lesson, ...]:
    """A lesson for each filter of an execution that got as far as its fill. Copies of a filter are one, won if any of them won.

    A loss that may be due to what another filter of the same scan had left over teaches nothing: of a key that is tested together
    with others of its join, any loss may be. Nor does a filter whose scan
    waited for a shuffle which turned out so small that Spark broadcast it, unless its rows were tested: what the wait saved is the
    other side's shuffle, and what its packs let through is more than what would have been shuffled.
    """
    placed = {
        str(placeholder["id"]): (placeholder, (decision.get("decision"), placeholder.get("scan")))
        for decision in record.get("decisions") or ()
        for placeholder in decision.get("placeholders") or ()
    }
    named = {name: placeholder["feedback"] for name, (placeholder, _) in placed.items() if placeholder.get("feedback")}
    entries = [entry for entry in report_from_record(record).filters if entry.placeholder in placed]
    first = _keys_first(record)
    outcomes = [(entry, first.get(entry.placeholder) if entry.reason == KEY_FIRST else has_lost(entry)) for entry in entries]
    tuples = {_join_and_scan(*each) for each in placed.values() if len(each[0].get("columns") or ()) > 1}
    reduced = {placed[entry.placeholder][1] for entry, lost in outcomes if lost is False}
    waited = _needs_no_wait_any_more(record)
    found: dict[tuple[str, str], Lesson] = {}
    for entry, lost in outcomes:
        if lost is None or entry.placeholder not in named:
            continue
        depends = depends_on_others(entry) or _join_and_scan(*placed[entry.placeholder]) in tuples
        if lost and depends and placed[entry.placeholder][1] in reduced:
            continue
        if entry.placeholder in waited and (lost or not entry.rows_tested):
            continue
        label = f"{entry.build} -> {entry.probe}"
        lesson = Lesson(
            **named[entry.placeholder],
            label=label,
            lost=lost,
            kept=share_kept(entry),
            packs=share_in_packs(entry),
            build_rows=entry.build_rows,
            key_share=share_by_key(entry),
        )
        name = lesson.key, lesson.literals
        before = found.get(name)
        found[name] = lesson if before is None else replace(lesson, lost=lesson.lost and before.lost)
    return tuple(found.values())


def _join_and_scan(placeholder: Mapping[str, Any], scan: tuple[Any, Any]) -> tuple[Any, ...]:
    return (*scan, placeholder.get("join"))


def _needs_no_wait_any_more(record: Mapping[str, Any]) -> frozenset[str]:
    """The placeholders without a gate of filters that an earlier plan of the query had with one."""
    gated: set[str] = set()
    found: set[str] = set()
    for decision in record.get("decisions") or ():
        for candidate in decision.get("candidates") or ():
            name, placeholder = candidate.get("key_id"), candidate.get("placeholder")
            if placeholder and name and candidate.get("gate"):
                gated.add(name)
            elif placeholder and name in gated:
                found.add(str(placeholder))
    return frozenset(found)


def _keys_first(record: Mapping[str, Any]) -> dict[str, bool]:
    """By placeholder of a scan whose keys were decoded first: whether that spared nothing. Left out where it can't be told."""
    found: dict[str, bool] = {}
    for scan in record.get("scans") or ():
        spared = (scan.get("packs_by_keys") or 0) > 0 or (scan.get("pages_kept") or 0) < (scan.get("pages_total") or 0)
        if scan.get("key_first_stops") or spared:
            found.update((str(name), bool(scan.get("key_first_stops"))) for name in scan.get("placeholders") or ())
    return found


def has_lost(entry: FilterReport) -> bool | None:
    """Whether a filter that was filled won nothing; None where that can't be told."""
    if entry.decision == SKIPPED:
        return None if entry.reason in PASSING_REASONS else True
    if entry.decision != APPLIED:
        return None
    if was_too_dear(entry):
        return True
    if entry.packs_kept is not None and entry.packs_total is not None and entry.packs_kept < entry.packs_total:
        return False
    if not entry.rows_seen or entry.rows_dropped is None:
        return None if entry.rows_tested or not entry.packs_total else True
    return entry.rows_dropped < entry.rows_seen * LEAST_SHARE_DROPPED


def was_too_dear(entry: FilterReport) -> bool:
    """Whether a filter, once its keys were there, could not bring in any more what filling it had cost.

    That is known after the fill, from every pack and the exact keys; where rows turned out to be dropped more often than was
    expected then, or of more packs than were known, the estimate says nothing.
    """
    if entry.estimated_net_ms is None or entry.estimated_net_ms >= 0.0 or not entry.rows_total:
        return False
    if entry.passed_actual is None or entry.passed_expected is None:
        return not entry.rows_tested
    as_expected = 1.0 - entry.passed_actual <= MOST_OVER_EXPECTED * (1.0 - entry.passed_expected)
    return as_expected and (entry.rows_seen or 0) <= entry.rows_total


def depends_on_others(entry: FilterReport) -> bool:
    """Whether a loss is one beside the scan's other filters only: had they, with other literals, left more, it might have won.

    One that was skipped as it rejects no pack and its row test saves nothing is useless beside any others.
    """
    if entry.decision == SKIPPED:
        return entry.reason == "GAIN_TOO_SMALL"
    return bool(entry.rows_seen) or was_too_dear(entry)


def share_kept(entry: FilterReport) -> float | None:
    """The share of a table's rows that passed a filter: its packs and, where rows were tested, the test."""
    share = share_in_packs(entry)
    if share is None:
        return entry.passed_actual
    return share if entry.passed_actual is None else share * entry.passed_actual


def share_by_key(entry: FilterReport) -> float | None:
    """The share of a table's rows that one key of a filter let through on average; None where rows or keys were not counted."""
    share = share_kept(entry)
    if entry.kind != "set" or not entry.keys or entry.passed_actual is None or share is None:
        return None
    return share / entry.keys


def share_in_packs(entry: FilterReport) -> float | None:
    """The share of a table's rows in the packs that a filter kept; None where no pack is known."""
    return entry.rows_kept / entry.rows_total if entry.rows_total and entry.rows_kept is not None else None
